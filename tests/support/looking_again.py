"""Someone who contradicts themselves, and comes to a second look."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.visits import Visit, hidden

if TYPE_CHECKING:
    from httpx2 import Response

    from fairwise.study.folder import StudyFolder

PAIRS = 6


def repeated(study: StudyFolder) -> tuple[int, int]:
    """The positions of the pair that the first participant is shown twice."""
    shown = study.schedule(1, 0)
    both = {frozenset((pair.a, pair.b)) for pair in shown if pair.design == "repeat"}
    first, second = (at for at, pair in enumerate(shown, start=1) if frozenset((pair.a, pair.b)) in both)
    return first, second


def answered(visit: Visit, said: dict[int, str] | None = None) -> str:
    """Take part and answer everything, with nothing asked for but what is said."""
    mine = visit.begin()
    for number in range(1, PAIRS + 1):
        visit.answer(mine, number, (said or {}).get(number, "no_constraint"))
    return mine


def go_on(visit: Visit, mine: str) -> Response:
    return visit.post(f"{mine}/second-look", csrf=hidden(visit.get(f"{mine}/task"))["csrf"])


def finish(visit: Visit, mine: str) -> Response:
    return visit.post(f"{mine}/closing", **hidden(visit.get(f"{mine}/closing")), rules="mine")


def contradicting(visit: Visit, study: StudyFolder) -> tuple[str, int, int]:
    """Someone who is there, having ordered two people both ways."""
    first, second = repeated(study)
    mine = answered(visit, {first: "a_at_least_b", second: "a_at_least_b"})
    assert go_on(visit, mine).url.path == f"{mine}/second-look"
    return mine, first, second
