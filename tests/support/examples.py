"""How many examples hypothesis tries."""

from __future__ import annotations

from hypothesis import settings

_LEAST = 10


def examples(number: int) -> settings:
    """So many where the slow tests run too, and of them the share that the quick profile has of the usual hundred."""
    return settings(max_examples=max(_LEAST, number * settings().max_examples // 100))
