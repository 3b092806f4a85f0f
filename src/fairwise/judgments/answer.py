"""The four things a judge can say about two people, A on the left and B on the right."""

from enum import StrEnum


class Answer(StrEnum):
    """One answer; each member is also the plain string that tables hold.

    >>> Answer("a_at_least_b").swapped()
    <Answer.B_AT_LEAST_A: 'b_at_least_a'>
    """

    SAME = "same"
    A_AT_LEAST_B = "a_at_least_b"
    B_AT_LEAST_A = "b_at_least_a"
    NO_CONSTRAINT = "no_constraint"

    def swapped(self) -> "Answer":
        """Return the same opinion with the two people on each other's side."""
        return _SWAPPED.get(self, self)

    @property
    def ordered(self) -> bool:
        """Whether it asks for one of the two to be treated at least as well, but not the other way round."""
        return self in _SWAPPED


_SWAPPED = {Answer.A_AT_LEAST_B: Answer.B_AT_LEAST_A, Answer.B_AT_LEAST_A: Answer.A_AT_LEAST_B}
