"""What somebody may have meant who wrote a name that there is not."""

from collections.abc import Sequence
from difflib import get_close_matches

_LONGEST, _MOST = 60, 500
"""To compare two names takes time that grows with the product of their lengths, and both may come from anywhere."""


def did_you_mean(name: str, known: Sequence[str]) -> str:
    """Return a hint for an error message, with the nearest of the first names that are not too long, or ""."""
    names = {one.lower(): one for one in reversed(known[:_MOST]) if len(one) <= _LONGEST}
    near = get_close_matches(name.lower(), names, n=1) if len(name) <= _LONGEST else []
    return f" (did you mean {names[near[0]]!r}?)" if near else ""


def cut(text: str) -> str:
    """Return the beginning of a text, for an error message."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
