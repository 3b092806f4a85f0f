"""Budgets of judges in a part of a panel: those of absent judges are left out, unknown names stay errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from fairwise import Judgments, PairwiseFairClassifier
from fairwise.auditing import answer_bands, held_out, influential_judges, without_judges
from fairwise.constraints.pairs import PairRows
from fairwise.datasets import make_people
from fairwise.errors import InputError
from fairwise.judgments.answer_model import AnswerModel
from fairwise.learning.preparation import budgets_of
from fairwise.learning.settings import FitSettings
from fairwise.simulation import draw_pairs, simulate_panel

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairwise.constraints.pairs import Budget

CASES = 200
RELATIONS = ("affected", "expert", "family")
PEOPLE, OUTCOME = make_people(40, 2, 3)


def _panel(rng: np.random.Generator) -> Judgments:
    """Judges whose names are numbers or text, with an attribute that some do not have."""
    n_judges = int(rng.integers(2, 7))
    names = [str(one) if rng.random() < 0.5 else f"judge {one}" for one in range(n_judges)]
    rows = [
        {"judge": name, "a": a, "b": b, "answer": answer}
        for name in names
        for (a, b), answer in zip(
            (rng.choice(len(PEOPLE), 2, replace=False) for _ in range(int(rng.integers(1, 4)))),
            rng.choice(["same", "a_at_least_b", "no_constraint"], 3),
            strict=False,
        )
    ]
    frame = pd.DataFrame(rows)
    pair = pd.Series([frozenset(one) for one in zip(frame["a"], frame["b"], strict=True)])
    frame = frame[~frame.assign(pair=pair).duplicated(["judge", "pair"])].reset_index(drop=True)
    about = {name: {"relation": rng.choice(np.array([*RELATIONS, None]))} for name in names}
    return Judgments(frame, people=PEOPLE.reset_index(drop=True), judge_attributes=about)


def _limits(rng: np.random.Generator, judgments: Judgments) -> dict[Any, Any]:
    """Budgets of some judges by name and of some values of their attribute."""
    known = judgments.judge_attributes["relation"].dropna().unique()
    limits: dict[Any, Any] = {judge: float(rng.choice([0.0, 0.05])) for judge in judgments.judges if rng.random() < 0.5}
    groups = {value: float(rng.choice([0.0, 0.05])) for value in known if rng.random() < 0.7}
    return {**limits, **({"relation": groups} if groups else {})}


def _of_present(limits: Mapping[Any, Any], judgments: Judgments) -> dict[Any, Any]:
    """What a user would write who knows only these judges."""
    judges, values = {str(one) for one in judgments.judges}, set(judgments.judge_attributes["relation"].dropna())
    groups = {value: limit for value, limit in limits.get("relation", {}).items() if value in values}
    kept = {who: limit for who, limit in limits.items() if str(who) in judges}
    return {**kept, **({"relation": groups} if groups else {})}


def _budgets(judgments: Judgments, limits: Mapping[Any, Any]) -> list[Budget]:
    model = PairwiseFairClassifier("tree", judge_budgets=limits or None, eta=0.1, favorable_label=1)
    settings = FitSettings.of(model.get_params(deep=False))
    return budgets_of(settings, PairRows.from_judgments(judgments), judgments)


@pytest.mark.slow
def test_a_part_has_the_budgets_of_its_own_judges() -> None:
    rng, absent = np.random.default_rng(0), 0
    for _ in range(CASES):
        whole = _panel(rng)
        limits = _limits(rng, whole)
        if rng.random() < 0.5:
            part = whole.select([judge for judge in whole.judges if rng.random() < 0.5] or whole.judges[:1])
        else:
            chosen = rng.random(len(whole.counted())) < 0.5
            chosen[0] = True
            part = whole.select_answers(chosen)
        if rng.random() < 0.5:
            part = part.about(PEOPLE.reset_index(drop=True)).asked()
        alone = Judgments(part.frame, people=part.people, judge_attributes=part.judge_attributes)
        own = _of_present(limits, alone)
        absent += own != limits
        found, expected = _budgets(part, limits), _budgets(alone, own)
        assert [(one.name, one.limit) for one in found] == [(one.name, one.limit) for one in expected]
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one.rows, other.rows)
            np.testing.assert_array_equal(one.shares, other.shares)
    assert absent > CASES / 4


def test_names_that_are_nobody_in_the_whole_stay_errors() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        whole = _panel(rng)
        for judgments in (whole, whole.select(whole.judges[1:])):
            for wrong in ({"nobody": 0.1}, {"relation": {"nobody": 0.1}}, {"kin": {"affected": 0.1}}):
                with pytest.raises(InputError, match=r"judge_budgets names '(nobody|relation|kin)'"):
                    _budgets(judgments, wrong)


@pytest.fixture(scope="module")
def judgments() -> Judgments:
    pairs = draw_pairs(PEOPLE, 1, 8, seed=1)[0]
    frame = simulate_panel(PEOPLE, n_judges=5, answers="four", pairs=pairs, seed=2).frame
    names = sorted(frame["judge"].unique())
    about = {name: {"relation": "affected" if number == 0 else "expert"} for number, name in enumerate(names)}
    return Judgments(frame, people=PEOPLE, judge_attributes=about)


@pytest.mark.slow
@pytest.mark.parametrize("limits", [{"relation": {"affected": 0.01}}, "first", {"expert": {"yes": 0.01}}])
def test_what_leaves_judges_out_keeps_the_budgets_of_the_others(limits: Any, judgments: Judgments) -> None:
    first = judgments.judges[0]
    about = judgments.judge_attributes.assign(expert=["no", "yes", "yes", "yes", "yes"])
    judgments = Judgments(judgments.frame, people=PEOPLE, judge_attributes=about)
    limits = {first: 0.01} if limits == "first" else limits
    settings: dict[str, Any] = {"max_depth": 1, "gamma": 0.05, "eta": None, "favorable_label": 1}
    model = PairwiseFairClassifier("tree", judge_budgets=limits, **settings).fit(PEOPLE, OUTCOME, judgments=judgments)
    for by in (None, "relation"):
        table = without_judges(model, PEOPLE, OUTCOME, judgments, by=by)
        gone = first if by is None else "affected"
        others = judgments.select(judgments.judges[1:])
        still = limits if "expert" in limits else None
        rest = PairwiseFairClassifier("tree", tol=1e-8, **settings, judge_budgets=still)
        alone = Judgments(others.frame, people=PEOPLE, judge_attributes=others.judge_attributes)
        expected = rest.fit(PEOPLE, OUTCOME, judgments=alone).certificate_.error
        assert table.loc[gone, "error"] == pytest.approx(expected, abs=1e-6)
    assert len(influential_judges(model, PEOPLE, OUTCOME, judgments, 2)) == 2
    for unit in ("judge", "pair"):
        held = held_out(model, PEOPLE, OUTCOME, judgments, by=unit, folds=5)
        assert held.by_split["split"].nunique() == 5


def test_a_judge_and_an_attribute_of_one_name_have_budgets_of_their_own(judgments: Judgments) -> None:
    """Leaving out the judge leaves the budget of the attribute's values alone."""
    first, last = judgments.judges[0], judgments.judges[-1]
    about = pd.DataFrame({first: ["no", "no", "no", "no", "yes"]}, index=judgments.judges)
    named = Judgments(judgments.frame, people=PEOPLE, judge_attributes=about)
    settings: dict[str, Any] = {"max_depth": 1, "gamma": 0.0, "eta": None, "favorable_label": 1, "tol": 1e-8}
    each: tuple[dict[Any, Any], ...] = ({first: {"yes": 0.0}}, {last: 0.0})
    by_attribute, by_name = (
        PairwiseFairClassifier("tree", judge_budgets=limits, **settings).fit(PEOPLE, OUTCOME, judgments=named)
        for limits in each
    )
    tables = [without_judges(model, PEOPLE, OUTCOME, named) for model in (by_attribute, by_name)]
    np.testing.assert_allclose(tables[0]["error"], tables[1]["error"], atol=1e-6)


@pytest.mark.slow
def test_answer_bands_of_budgets(judgments: Judgments) -> None:
    limits: dict[Any, Any] = {"relation": {"affected": 0.01}, judgments.judges[1]: 0.1}
    model = PairwiseFairClassifier("tree", max_depth=1, gamma=0.05, eta=0.1, favorable_label=1, judge_budgets=limits)
    model.fit(PEOPLE, OUTCOME, judgments=judgments)
    part = judgments.select(judgments.judges[2:])
    for answers in (judgments, part):
        bands = answer_bands(model, PEOPLE, OUTCOME, answers, AnswerModel(random_state=0).fit(answers), n_draws=10)
        assert len(bands.errors)
