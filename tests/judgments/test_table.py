import copy
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils.validation import _check_method_params

from fairwise.errors import JudgmentsError
from fairwise.judgments import Answer, Judgments

PEOPLE = pd.DataFrame({"age": [30, 40, 50, 60, 70]}, index=pd.Index([10, 20, 30, 40, 50], name="id"))


def row(judge: Any, a: Any, b: Any, answer: str = "same", **more: Any) -> dict[str, Any]:
    return {"judge": judge, "a": a, "b": b, "answer": answer} | more


ROWS = [
    row("bea", 30, 10, "same", round=1, design="uniform"),
    row("ann", 10, 20, "a_at_least_b", round=1, design="uniform"),
    row("ann", 20, 10, "no_constraint", round=2, design="active"),
    row("ann", 10, 20, "same", round=3, design="repeat"),
    row("ann", 40, 10, "same", round=1, design="uniform"),
    row("cal", 10, 40, "same", round=1, design="check"),
]


@pytest.fixture
def panel() -> Judgments:
    return Judgments(ROWS, people=PEOPLE)


def test_what_was_left_out_has_its_default() -> None:
    frame = Judgments([row("ann", 1, 2)]).frame
    assert frame.to_dict("records") == [row("ann", 1, 2, weight=1.0, round=1, design="uniform")]


def test_repeats_and_checks_do_not_count_and_the_last_round_does(panel: Judgments) -> None:
    counted = panel.counted()
    assert list(counted.columns) == ["judge", "a", "b", "answer", "weight", "row"]
    assert counted["row"].tolist() == [0, 2, 4]
    assert counted["answer"].tolist() == ["same", "no_constraint", "same"]


def test_what_counts_is_a_choice() -> None:
    assert Judgments(ROWS, rounds="all").counted()["row"].tolist() == [0, 1, 2, 4]
    assert Judgments(ROWS, measured_only=()).counted()["row"].tolist() == [0, 3, 4, 5]
    assert Judgments(ROWS, measured_only=[], rounds="all").counted()["row"].tolist() == [0, 1, 2, 3, 4, 5]


def test_an_ordered_answer_matters_only_if_it_counts(panel: Judgments) -> None:
    assert not panel.has_ordered
    assert Judgments(ROWS, rounds="all").has_ordered


def test_the_judges_and_their_counts(panel: Judgments) -> None:
    assert panel.judges == ["ann", "bea", "cal"]
    assert panel.n_judges == 3
    assert panel.counts().loc["ann"].to_dict() == {
        "same": 1, "a_at_least_b": 0, "b_at_least_a": 0, "no_constraint": 1,
    }  # fmt: skip
    assert panel.counts().loc["cal"].sum() == 0


def test_people_come_in_the_order_they_appear(panel: Judgments) -> None:
    assert panel.person_ids().tolist() == [30, 10, 20, 40]


def test_only_the_judged_rows_of_people_travel(panel: Judgments) -> None:
    assert isinstance(panel.people, pd.DataFrame)
    pd.testing.assert_frame_equal(panel.people, PEOPLE.loc[[10, 20, 30, 40]])
    assert panel.people_rows([40, 10])["age"].tolist() == [60, 30]


def test_rows_of_people_who_were_not_judged_are_not_known(panel: Judgments) -> None:
    with pytest.raises(JudgmentsError, match="not about these people: 50"):
        panel.people_rows([10, 50])
    with pytest.raises(JudgmentsError, match="without people="):
        Judgments(ROWS).people_rows([10])


def test_selecting_judges(panel: Judgments) -> None:
    ann = panel.select(judges=["ann"])
    assert ann.judges == ["ann"]
    assert ann.counted()["row"].tolist() == [1, 3]
    assert ann.person_ids().tolist() == [20, 10, 40]
    assert isinstance(ann.people, pd.DataFrame)
    assert ann.people.index.tolist() == [10, 20, 40]
    with pytest.raises(JudgmentsError, match="no such judges: 'zoe'; there are 'ann', 'bea', 'cal'"):
        panel.select(["zoe"])


def test_judges_may_be_numbers_in_any_disguise() -> None:
    for numbers in ([7, 8], ["7", "8"], [7.0, 8.0]):
        judgments = Judgments([row(number, 1, 2) for number in numbers])
        assert judgments.judges == [7, 8]
        assert judgments.select(["7"]).judges == judgments.select([7]).judges == [7]


def test_what_is_given_up_was_still_shown_and_all_else_stays() -> None:
    rows = [
        {"judge": "ann", "a": 4, "b": 2, "answer": "same", "round": 1, "weight": 2.0},
        {"judge": "ann", "a": 2, "b": 4, "answer": "a_at_least_b", "round": 2},
        {"judge": "bea", "a": 2, "b": 5, "answer": "same", "design": "repeat"},
    ]
    rows = [{"round": 1, "weight": 1.0, "design": "uniform"} | row for row in rows]
    about = {"bea": {"relation": "expert"}}
    people = np.arange(12.0).reshape(6, 2)
    before = Judgments(
        rows, people=people, by="position", rounds="all", measured_only=["check"], judge_attributes=about
    )
    after = before.giving_up([(2, 4)])
    assert after.counted()["answer"].tolist() == ["no_constraint", "no_constraint", "same"]
    assert before.counted()["answer"].tolist() == ["same", "a_at_least_b", "same"]
    pd.testing.assert_frame_equal(after.counted().drop(columns="answer"), before.counted().drop(columns="answer"))
    pd.testing.assert_frame_equal(after.judge_attributes, before.judge_attributes)
    assert np.array_equal(after.people_rows([5, 2]), people[[5, 2]])


def test_people_can_be_named_later() -> None:
    later = Judgments(ROWS, rounds="all").about(PEOPLE)
    pd.testing.assert_frame_equal(later.counted(), Judgments(ROWS, people=PEOPLE, rounds="all").counted())
    assert later.people is not None
    with pytest.raises(JudgmentsError, match=r"row 0 .*column a: '30' is not the id of anyone in people"):
        Judgments(ROWS).about(PEOPLE.drop(30))


def test_positions_in_an_array() -> None:
    features = np.arange(10.0).reshape(5, 2)
    judgments = Judgments([row("ann", 4, 0), row("ann", 2, 4)], people=features, by="position")
    assert judgments.by == "position"
    assert judgments.person_ids().tolist() == [4, 0, 2]
    np.testing.assert_array_equal(judgments.people_rows(judgments.person_ids()), features[[4, 0, 2]])
    assert isinstance(judgments.people, np.ndarray)
    np.testing.assert_array_equal(judgments.people, features[[0, 2, 4]])


def test_positions_in_a_frame_are_not_its_ids() -> None:
    judgments = Judgments([row("ann", 0, 4)], people=PEOPLE, by="position")
    assert judgments.people_rows([4])["age"].tolist() == [70]


def test_it_cannot_be_taken_for_an_array() -> None:
    for name in ("__len__", "shape", "__getitem__", "__iter__", "__array__"):
        assert not hasattr(Judgments, name)
    judgments = Judgments(ROWS)
    passed = _check_method_params(np.zeros((6, 1)), {"judgments": judgments}, indices=np.array([0]))
    assert passed["judgments"] is judgments


def test_pickled_and_copied_it_is_the_same(panel: Judgments) -> None:
    for twin in (pickle.loads(pickle.dumps(panel)), copy.deepcopy(panel), copy.copy(panel)):
        pd.testing.assert_frame_equal(twin.frame, panel.frame)
        pd.testing.assert_frame_equal(twin.counted(), panel.counted())
        assert twin.people_rows([40, 10])["age"].tolist() == [60, 30]


def test_nothing_handed_out_or_in_changes_it() -> None:
    given_rows, given_people = pd.DataFrame(ROWS), PEOPLE.copy()
    judgments = Judgments(given_rows, people=given_people)
    before = judgments.counted()
    given_rows["answer"] = "no_constraint"
    given_people["age"] = 0
    for handed_out in (judgments.frame, judgments.counted(), judgments.people):
        assert isinstance(handed_out, pd.DataFrame)
        handed_out.iloc[0] = handed_out.iloc[1]
    pd.testing.assert_frame_equal(judgments.counted(), before)
    assert judgments.people_rows([10])["age"].tolist() == [30]
    with pytest.raises(AttributeError):
        judgments.extra = 1  # type: ignore[attr-defined]


def test_further_columns_are_kept_as_they_are() -> None:
    frame = Judgments([row("ann", 1, 2, comment="both young", tags=(1, 2))]).frame
    assert frame["comment"].tolist() == ["both young"]
    assert frame["tags"].tolist() == [(1, 2)]


def test_nobody_has_answered_yet() -> None:
    no_columns: list[dict[str, Any]] = []
    for nothing in (no_columns, pd.DataFrame(columns=["judge", "a", "b", "answer"])):
        judgments = Judgments(nothing, people=PEOPLE)
        assert judgments.counted().empty
        assert judgments.person_ids().empty
        assert judgments.counts().empty
        assert repr(judgments) == "Judgments: 0 judges, 0 answers about 0 people"


def test_its_text_calls_simulated_judges_so() -> None:
    said = [{"judge": f"simulated-{n}", "a": 1, "b": 2, "answer": "same"} for n in range(2)]
    assert repr(Judgments(said)).startswith("Judgments: 2 simulated judges, 2 answers")
    assert repr(Judgments([*said, said[0] | {"judge": "ann"}])).startswith("Judgments: 3 judges, ")


def test_its_text_says_what_is_in_it(panel: Judgments) -> None:
    assert repr(panel) == (
        "Judgments: 3 judges, 3 answers (2 same, 1 no_constraint) about 4 people, and 3 more rows that do not count"
    )


ids = st.integers(0, 6)
rows = st.lists(
    st.tuples(
        st.sampled_from(["ann", "bea"]), ids, ids, st.sampled_from(Answer), st.integers(1, 3), st.booleans()
    ).filter(lambda r: r[1] != r[2]),
    unique_by=lambda r: (r[0], frozenset(r[1:3]), r[4], r[5]),
)


@given(rows, st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_change_what_counts(table: list[tuple[Any, ...]], random: Any) -> None:
    def counted(answers: list[tuple[Any, ...]]) -> set[tuple[Any, ...]]:
        records = [
            row(judge, a, b, answer, round=number, design="check" if check else "uniform")
            for judge, a, b, answer, number, check in answers
        ]
        return set(Judgments(records).counted().drop(columns="row").itertuples(index=False, name=None))

    shuffled = random.sample(table, len(table))
    assert counted(table) == counted(shuffled)


@given(rows)
def test_what_counts_is_the_last_round_of_each_judge_and_pair(table: list[tuple[Any, ...]]) -> None:
    records = [
        row(judge, a, b, answer, round=number, design="check" if check else "uniform")
        for judge, a, b, answer, number, check in table
    ]
    last: dict[tuple[Any, ...], int] = {}
    for position, (judge, a, b, _, number, check) in enumerate(table):
        key = (judge, frozenset((a, b)))
        if not check and (key not in last or table[last[key]][4] < number):
            last[key] = position
    assert Judgments(records).counted()["row"].tolist() == sorted(last.values())
