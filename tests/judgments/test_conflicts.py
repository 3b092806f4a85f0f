"""Opposition between judges and contradictions within one, by example and by counting."""

from typing import Any

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st
from tests.support.examples import examples

from fairwise.judgments import Answer, Judgments, find_conflicts

SWAPPED = {str(answer): str(answer.swapped()) for answer in Answer}


def row(judge: Any, a: Any, b: Any, answer: str, number: int = 1, design: str = "uniform") -> dict[str, Any]:
    return {"judge": judge, "a": a, "b": b, "answer": answer, "round": number, "design": design}


def test_opposed_judges_are_named_whichever_side_they_saw() -> None:
    rows = [
        row("ann", 1, 2, "a_at_least_b"),
        row("bea", 2, 1, "a_at_least_b"),
        row("cal", 1, 2, "b_at_least_a"),
        row("dan", 1, 2, "same"),
        row("ann", 3, 4, "a_at_least_b"),
        row("bea", 4, 3, "b_at_least_a"),
    ]
    found = find_conflicts(Judgments(rows))
    assert found.opposed.to_dict("records") == [
        {"a": 1, "b": 2, "n_for_a": 1, "n_for_b": 2, "for_a": ("ann",), "for_b": ("bea", "cal")}
    ]
    assert found.n_shared_pairs == 2
    assert found.cycles_of_panel == ()
    assert "Pairs on which judges are opposed   1 of 2 that several answered" in str(found)


def test_asking_for_more_or_for_nothing_is_not_opposition() -> None:
    rows = [row("ann", 1, 2, "same"), row("bea", 1, 2, "a_at_least_b"), row("cal", 1, 2, "no_constraint")]
    assert find_conflicts(Judgments(rows)).opposed.empty


def test_what_does_not_count_is_not_opposed_to_anybody() -> None:
    rows = [
        row("ann", 1, 2, "a_at_least_b", 1),
        row("ann", 1, 2, "same", 2),
        row("bea", 1, 2, "b_at_least_a"),
        row("cal", 1, 2, "a_at_least_b", 1, "repeat"),
    ]
    assert find_conflicts(Judgments(rows)).opposed.empty
    assert len(find_conflicts(Judgments(rows, rounds="all")).opposed) == 1


def test_a_judge_alone_contradicts_but_does_not_oppose_themselves() -> None:
    rows = [row("ann", 1, 2, "a_at_least_b", 1), row("ann", 2, 1, "a_at_least_b", 2)]
    found = find_conflicts(Judgments(rows, rounds="all"))
    assert found.opposed.empty
    assert found.contradictions["kind"].tolist() == ["opposed"]


def test_contradictions_over_rounds_and_designs() -> None:
    rows = [
        row("ann", 2, 1, "a_at_least_b", 2, "active"),
        row("ann", 1, 2, "a_at_least_b", 1, "uniform"),
        row("ann", 3, 4, "same"),
        row("ann", 3, 4, "no_constraint", 1, "repeat"),
        row("bea", 1, 2, "a_at_least_b"),
        row("bea", 2, 1, "b_at_least_a", 1, "repeat"),
    ]
    found = find_conflicts(Judgments(rows)).contradictions
    assert found.to_dict("records") == [
        {
            "judge": "ann", "a": 1, "b": 2, "kind": "opposed", "answers": ("a_at_least_b", "b_at_least_a"),
            "rounds": (1, 2), "designs": ("uniform", "active"),
        },
        {
            "judge": "ann", "a": 3, "b": 4, "kind": "changed", "answers": ("no_constraint", "same"),
            "rounds": (1, 1), "designs": ("repeat", "uniform"),
        },
    ]  # fmt: skip


def test_nothing_in_conflict() -> None:
    found = find_conflicts(Judgments([]))
    assert found.opposed.empty
    assert found.contradictions.empty
    assert found.cycles_of_judges == found.cycles_of_panel == ()
    assert list(found.opposed.columns) == ["a", "b", "n_for_a", "n_for_b", "for_a", "for_b"]


rows_drawn = st.lists(
    st.tuples(
        st.sampled_from(["ann", "bea", "cal"]), st.integers(0, 4), st.integers(0, 4), st.sampled_from(Answer),
        st.integers(1, 2), st.sampled_from(["uniform", "repeat"]),
    ).filter(lambda r: r[1] != r[2]),
    unique_by=lambda r: (r[0], frozenset(r[1:3]), r[4], r[5]),
)  # fmt: skip


def listed(judgments: Judgments) -> tuple[Any, ...]:
    found = find_conflicts(judgments)
    return (
        found.opposed.to_dict("records"),
        found.contradictions.to_dict("records"),
        found.cycles_of_judges,
        found.cycles_of_panel,
        found.n_shared_pairs,
    )


@examples(40)
@given(rows_drawn, st.data())
def test_the_order_of_rows_and_the_sides_do_not_matter(said: list[tuple[Any, ...]], data: st.DataObject) -> None:
    rows = [row(*one) for one in said]
    flipped = [
        r | {"a": r["b"], "b": r["a"], "answer": SWAPPED[r["answer"]]} if data.draw(st.booleans()) else r for r in rows
    ]
    assert listed(Judgments(data.draw(st.permutations(flipped)))) == listed(Judgments(rows))


@examples(40)
@given(rows_drawn)
def test_every_opposed_pair_is_there_and_no_other(said: list[tuple[Any, ...]]) -> None:
    judgments = Judgments([row(*one) for one in said], rounds="all")
    counted = judgments.counted()
    both = counted.merge(counted, how="cross")
    same_way = both[(both["a_x"] == both["a_y"]) & (both["b_x"] == both["b_y"])]
    crossed = both[(both["a_x"] == both["b_y"]) & (both["b_x"] == both["a_y"])]
    against = pd.concat(
        [
            same_way[(same_way["answer_x"] == "a_at_least_b") & (same_way["answer_y"] == "b_at_least_a")],
            crossed[(crossed["answer_x"] == "a_at_least_b") & (crossed["answer_y"] == "a_at_least_b")],
            crossed[(crossed["answer_x"] == "b_at_least_a") & (crossed["answer_y"] == "b_at_least_a")],
        ]
    )
    against = against[against["judge_x"] != against["judge_y"]]
    expected = {frozenset(pair) for pair in zip(against["a_x"], against["b_x"], strict=True)}
    opposed = find_conflicts(judgments).opposed
    assert {frozenset(pair) for pair in zip(opposed["a"], opposed["b"], strict=True)} == expected
    assert len(opposed) == len(expected)
