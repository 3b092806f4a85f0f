import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairwise.judgments import Answer


@given(st.sampled_from(Answer))
def test_swapping_sides_twice_changes_nothing(answer: Answer) -> None:
    assert answer.swapped().swapped() is answer


@pytest.mark.parametrize(
    ("answer", "swapped"),
    [
        ("same", "same"),
        ("no_constraint", "no_constraint"),
        ("a_at_least_b", "b_at_least_a"),
        ("b_at_least_a", "a_at_least_b"),
    ],
)
def test_only_the_ordered_answers_change_with_the_sides(answer: str, swapped: str) -> None:
    assert Answer(answer).swapped() == swapped
    assert Answer(answer).ordered == (answer != swapped)


def test_an_answer_is_its_own_text() -> None:
    assert [f"{answer}" for answer in Answer] == list(Answer)
    assert set(Answer) == {"same", "a_at_least_b", "b_at_least_a", "no_constraint"}
