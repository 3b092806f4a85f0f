"""People in frames of polars and pyarrow give the model that they give in pandas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from fairlearn.reductions import DemographicParity
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

from fairwise import Judgments, LargeTable, PairwiseFairClassifier, audit
from fairwise.auditing import frontier, held_out
from fairwise.auditing.scores import violation_scorer
from fairwise.errors import InputError, JudgmentsError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.learning.conftest import Town


def to_polars(frame: Any) -> Any:
    return pl.from_pandas(frame)


def to_arrow(frame: Any) -> Any:
    if isinstance(frame, pd.Series):
        return pa.chunked_array([pa.array(frame)])
    return pa.Table.from_pandas(frame, preserve_index=False)


each_make = pytest.mark.parametrize("make", [to_polars, to_arrow])
MODELS: dict[str, dict[str, Any]] = {
    "tree": {"estimator": "tree"},
    "linear": {"estimator": "linear"},
    "logistic": {"estimator": LogisticRegression()},
}


def without_index(town: Town, make: Callable[[Any], Any]) -> tuple[Any, Any, Judgments]:
    """People and outcome of another library, and judgments that carry such people."""
    people, outcome = make(town.people.reset_index(drop=True)), make(town.outcome.reset_index(drop=True))
    answers = make(town.judgments.frame)
    return people, outcome, Judgments(answers, people=make(town.people.reset_index()), id="id")


@each_make
@pytest.mark.parametrize("name", MODELS)
def test_the_same_model(town: Town, make: Callable[[Any], Any], name: str) -> None:
    people, outcome, judgments = without_index(town, make)
    model = PairwiseFairClassifier(**MODELS[name], gamma=0.1).fit(people, outcome, judgments=judgments)
    plain = PairwiseFairClassifier(**MODELS[name], gamma=0.1).fit(town.people, town.outcome, judgments=town.judgments)
    assert model.feature_names_in_.tolist() == plain.feature_names_in_.tolist()
    for one, other in ((people, town.people), (town.people, people)):
        found = model.predict_proba(one)
        assert type(found) is np.ndarray
        assert np.array_equal(found, plain.predict_proba(other))
        assert np.array_equal(model.predict(one), plain.predict(other))
    pd.testing.assert_frame_equal(model.prices_, plain.prices_)


@each_make
def test_weights_and_groups_without_an_index_are_in_the_order_of_people(town: Town, make: Callable[[Any], Any]) -> None:
    people, outcome, judgments = without_index(town, make)
    weight = pd.Series(np.random.default_rng(0).uniform(0.5, 2, len(town.people)), index=town.people.index)
    rules: dict[str, Any] = {"group_constraints": [DemographicParity(difference_bound=0.1)]}
    plain = PairwiseFairClassifier("tree", **rules).fit(
        *(town.people, town.outcome),
        judgments=town.judgments,
        sample_weight=weight,
        sensitive_features=town.people["city"],
    )
    # People of pandas and all else of another library, and the other way round.
    for table in (people, town.people):
        model = PairwiseFairClassifier("tree", **rules).fit(
            *(table, outcome),
            judgments=judgments,
            sample_weight=make(weight.reset_index(drop=True)),
            sensitive_features=make(town.people[["city"]]),
        )
        assert np.array_equal(model.predict_proba(table), plain.predict_proba(town.people))


@each_make
def test_row_positions(town: Town, make: Callable[[Any], Any]) -> None:
    position = {who: number for number, who in enumerate(town.people.index)}
    answers = town.judgments.frame.replace({"a": position, "b": position}).astype({"a": int, "b": int})
    people, outcome, _ = without_index(town, make)
    plain = PairwiseFairClassifier("tree").fit(town.people, town.outcome, judgments=town.judgments)
    for judgments in (Judgments(answers, by="position"), Judgments(answers, people=people, by="position")):
        model = PairwiseFairClassifier("tree").fit(people, outcome, judgments=judgments)
        assert np.array_equal(model.predict_proba(people), plain.predict_proba(town.people))


def test_rows_without_a_name_are_never_taken_for_people(town: Town) -> None:
    """Ids that are numbers, in another order than the rows."""
    numbers = town.people.set_axis(np.random.default_rng(1).permutation(len(town.people)), axis="index")
    who = dict(zip(town.people.index, numbers.index.tolist(), strict=True))
    answers = town.judgments.frame.replace({"a": who, "b": who}).astype({"a": int, "b": int})
    people, outcome = pl.from_pandas(numbers), pl.from_pandas(town.outcome)
    with pytest.raises(JudgmentsError, match=r"by id, but X is a frame without an index.*id=\"column\""):
        PairwiseFairClassifier("tree").fit(people, outcome, judgments=Judgments(answers))
    carried = Judgments(answers, people=numbers)
    model = PairwiseFairClassifier("tree").fit(people, outcome, judgments=carried)
    plain = PairwiseFairClassifier("tree").fit(town.people, town.outcome, judgments=town.judgments)
    assert np.array_equal(model.predict_proba(people), plain.predict_proba(town.people))
    with pytest.raises(InputError, match="a DataFrame indexed by person id is needed"):
        held_out(PairwiseFairClassifier("tree"), people, outcome, carried)
    with pytest.raises(InputError, match=r"scores: a Series .*indexed by person id is needed, not Series; or a frame"):
        audit(pl.Series(model.predict_proba(people)[:, 1]), carried)


def test_what_a_frame_without_an_index_needs(town: Town) -> None:
    people, answers = pl.from_pandas(town.people.reset_index()), town.judgments.frame
    with pytest.raises(JudgmentsError, match=r"people: a polars DataFrame has no index .* id='…', or .*by='position'"):
        Judgments(answers, people=people)
    with pytest.raises(JudgmentsError, match=r"people: there is no column 'who'; found: 'id'"):
        Judgments(answers, people=people, id="who")
    with pytest.raises(JudgmentsError, match=r"id='id' goes with people="):
        Judgments(answers, id="id")
    with pytest.raises(JudgmentsError, match=r"id='id' goes with by='id'"):
        Judgments(answers, people=people, id="id", by="position")
    judgments = Judgments(answers).about(people, id="id")
    with pytest.raises(JudgmentsError, match=r"Column 'id' of X holds the ids of the judged people: leave it out"):
        PairwiseFairClassifier("tree").fit(people, pl.from_pandas(town.outcome), judgments=judgments)
    with pytest.raises(JudgmentsError, match="is a bare DataFrame"):
        PairwiseFairClassifier("tree").fit(town.people, town.outcome, judgments=pl.from_pandas(answers))  # type: ignore[arg-type]
    attributes = pl.DataFrame({"judge": ["ann", "bea"], "relation": ["affected", None]})
    found = Judgments(answers, judge_attributes=attributes).judge_attributes
    assert found["relation"].isna().tolist() == [False, True, True]


def test_outcomes_of_another_library(town: Town) -> None:
    people = pl.from_pandas(town.people)
    words = pl.Series(np.where(town.outcome == 1, "paid", "owed").tolist())
    plain = PairwiseFairClassifier("tree").fit(town.people, town.outcome)
    for outcome in (words, words.cast(pl.Enum(["paid", "owed"])), words == "paid"):
        model = PairwiseFairClassifier("tree").fit(people, outcome)
        assert np.array_equal(model.predict_proba(people), plain.predict_proba(town.people))
    with pytest.raises(InputError, match="The outcome is missing"):
        PairwiseFairClassifier("tree").fit(people, pl.Series([None, *words[1:]]))
    with pytest.raises(InputError, match="60 people but 59 outcomes"):
        PairwiseFairClassifier("tree").fit(people, words[1:])


def test_audits_frontiers_and_scores(town: Town) -> None:
    people, outcome, judgments = without_index(town, to_polars)
    model = PairwiseFairClassifier("tree", gamma=0.1).fit(people, outcome, judgments=judgments)
    scores = pd.Series(model.predict_proba(people)[:, 1], index=town.people.index)
    groups, table = town.people["city"], pl.DataFrame({"who": town.people.index.tolist(), "score": scores.to_numpy()})
    one = audit(scores, town.judgments, groups=groups, outcome=town.outcome)
    other = audit(table, judgments, id="who", groups=to_polars(groups.reset_index(drop=True)), outcome=outcome)
    for name in ("overall", "by_pair", "by_group"):
        pd.testing.assert_frame_equal(getattr(one, name), getattr(other, name))
    with pytest.raises(InputError, match="scores: there is no column 'score'"):
        audit(table.rename({"score": "chance"}), judgments, id="who")
    one_curve, other_curve = (
        frontier(*given, gammas=[0.1, 0.5], estimator="tree").drop(columns="made_from")
        for given in ((people, outcome, judgments), (town.people, town.outcome, town.judgments))
    )
    pd.testing.assert_frame_equal(one_curve, other_curve)
    scorer = violation_scorer(judgments)
    plain = PairwiseFairClassifier("tree", gamma=0.1).fit(town.people, town.outcome, judgments=town.judgments)
    assert scorer(model, people) == scorer(plain, town.people)
    assert len(cross_val_score(PairwiseFairClassifier("tree"), people, outcome, cv=2)) == 2


def test_chunks_without_ids_are_refused(town: Town) -> None:
    chunks = [pl.from_pandas(town.people.assign(paid=town.outcome))]
    said = Judgments([{"judge": "j", "a": 0, "b": 1, "answer": "same"}])
    with pytest.raises(InputError, match="frames without an index: LargeTable"):
        PairwiseFairClassifier("linear-regression").fit(chunks, "paid", judgments=said)


def test_chunks_of_another_library(town: Town) -> None:
    table = town.people.assign(paid=town.outcome).reset_index()
    settings: dict[str, Any] = {"estimator": "linear-regression", "solver": "no-regret", "n_rounds": 50}
    chunks = [pl.from_pandas(table.iloc[:25]), to_arrow(table.iloc[25:]).to_batches()[0]]
    answers = Judgments(town.judgments.frame)
    for source in (chunks, iter(chunks)):
        model = PairwiseFairClassifier(**settings)
        model.fit(LargeTable(source, outcome="paid", id="id"), None, judgments=answers)
        plain = PairwiseFairClassifier(**settings).fit(town.people, town.outcome, judgments=town.judgments)
        assert np.array_equal(model.predict_proba(town.people), plain.predict_proba(town.people))
