"""Computing of a fit: each function takes and returns all that it needs, perhaps on a worker of dask."""

from __future__ import annotations

import json
import tempfile
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from fairwise import __version__
from fairwise.auditing import AnswerBands, Effects, answer_bands, effects, frontier, held_out_errors, learned_effects
from fairwise.auditing.decisions import chances, outcome_numbers, person_costs
from fairwise.auditing.effects import ARM, CONTROL, IN_ROOMS
from fairwise.auditing.error_measure import is_of_amounts
from fairwise.auditing.frontier import certified_row, followed_row
from fairwise.auditing.influence import Influence
from fairwise.constraints.pairs import answered_rows
from fairwise.constraints.violations import status_counts
from fairwise.errors import InfeasibleError, InputError
from fairwise.jobs.fit_data import MEANT, FitData
from fairwise.judgments import Judgments
from fairwise.judgments.answer_model import AnswerModel
from fairwise.languages import SOURCE
from fairwise.learning.any_model import load_model
from fairwise.learning.estimator import PairwiseFairClassifier
from fairwise.learning.regressor import PairwiseFairRegressor
from fairwise.learning.settings import bounded_error, parity
from fairwise.learning.solvers.progress import raise_interrupts
from fairwise.messages import Message
from fairwise.reporting import Findings, findings, write_report
from fairwise.reporting.page import MOST_RULES, rule_texts
from fairwise.reporting.words import words_in
from fairwise.results.base import Result, records
from fairwise.results.certificate import HeldOutErrors
from fairwise.results.fits import DecisionResult, FitSummary, Frontier, FrontierPoint, JudgeInfluence
from fairwise.store.fit_files import EFFECTS, FRONTIER, INFLUENCE, MODEL, PRICES, REPORTS, RULES, SCORES, SUMMARY
from fairwise.study.fit_choices import MOST_LEFT_OUT
from fairwise.tables.output import json_text

if TYPE_CHECKING:
    from fairwise.auditing.error_measure import Model
    from fairwise.jobs.fit_data import FitData
    from fairwise.store.export import SecondRound

    Files = dict[str, bytes]


STEPS = 10
SPLITS = 3
"""Number of splits into people to learn from and people to measure on."""

MOST_TOGETHER = 3
"""Number of participants whose joint absence changes most."""

_MOST_LISTED = 50
_DAYS = 20
_CLOSE = 1e-6
# The same numbers on any machine, and no core more than the one that was given.
_one_thread = partial(threadpool_limits, 1)


def weigh_answers(data: FitData) -> Files:
    """Return the answers weighted by how likely they are meant, or with predicted ones added, as the settings say."""
    asked, judgments = data.settings, data.judgments
    with _one_thread(), tempfile.TemporaryDirectory() as folder:
        model = AnswerModel(random_state=0).fit(judgments)
        if asked.weighted:
            judgments = judgments.weighted_by(model)
        if asked.predicted:
            judgments = judgments.extended(model, asked.predicted, asked.coverage, people=data.people)
        judgments.write(Path(folder, MEANT))
        return _contents(folder)


@raise_interrupts()  # half a search is no model that an operator asked for
def fit(data: FitData) -> Files:
    """Fit the model; return it with the price of each answer."""
    with _one_thread(), tempfile.TemporaryDirectory() as folder:
        model = _model(data).fit(data.people, data.outcome, judgments=data.judgments, sensitive_features=data.groups)
        if data.settings.deterministic and isinstance(model, PairwiseFairClassifier):
            model = model.derandomize()
        model.save(Path(folder, MODEL), prices=Path(folder, PRICES))
        return _contents(folder)


def held_out(data: FitData) -> HeldOutErrors | None:
    """Measure such a model on new people; return None if there are too few to leave some out."""
    more: dict[str, Any] = {} if data.groups is None else {"fit_params": {"sensitive_features": data.groups}}
    more |= {"n_repeats": SPLITS, "deterministic": data.settings.deterministic}
    try:
        with _one_thread():
            return held_out_errors(_model(data), data.people, data.outcome, data.judgments, **more)
    except InputError:
        return None


def trace(
    data: FitData, fitted: Files, kept: Path | None = None, progress: Callable[[int, int], None] | None = None
) -> Files:
    """The frontier from all followed to nothing gained, through the fit itself, which is one of its points.

    Where small allowances and rules about the errors of groups cannot both be kept, it begins where they can be.
    What is found on the way is in the folder `kept`, if there is one, and a curve cut short goes on from there.
    Over all classifiers together other mixtures are as good, with other judgments not followed; the numbers of the fit
    itself are its own.
    """
    model, asked = _load_model(fitted), data.settings
    curve = partial(
        frontier,
        *(data.people, data.outcome, data.judgments),
        gammas=[asked.gamma],
        sensitive_features=data.groups,
        model=_model(data),
    )
    # Another version may find other numbers, and begins anew.
    loosest_file, curve_file = (kept and kept / f"{name}-{__version__}.points" for name in ("loosest", "curve"))
    with _one_thread():
        loosest = own_excess = model.certificate_.mean_excess
        if asked.eta is not None:
            loosest = float(curve(etas=[None], checkpoint=loosest_file)["mean_excess"].iloc[0])
        etas, own = frontier_etas(asked.eta, loosest, own_excess)
        if data.amount is not None and data.groups is not None:
            first = bisect_left(etas[:own], 1, key=lambda eta: _can_be_kept(curve, eta))
            etas, own = etas[first:], own - first
        table = curve(etas=etas, start=model, n_not_followed=_MOST_LISTED, progress=progress, checkpoint=curve_file)
    itself = certified_row(model.certificate_) | followed_row(model.prices_, _MOST_LISTED)
    points = [FrontierPoint.from_json(row) for row in records(table[list(itself)])]
    points[own] = FrontierPoint.from_json(itself | {"eta": etas[own], "own": True})
    traced = Frontier(tuple(points))
    bands = _bands(data, model, [(asked.gamma, eta) for eta in etas])
    if bands is not None:
        moved = records(bands.on(traced.table())[["answers_low", "answers_high"]])
        banded = tuple(replace(point, **ends) for point, ends in zip(points, moved, strict=True))
        prices = records(bands.prices.nlargest(_MOST_LISTED, "price").reset_index())
        traced = Frontier(banded, tuple(prices))
    return {FRONTIER: _json(traced)}


def _can_be_kept(curve: Callable[..., pd.DataFrame], eta: float) -> bool:
    """Whether a mixture keeps the rules about groups, too: parity is always possible, small errors are not."""
    try:
        curve(etas=[eta])
    except InfeasibleError:
        return False
    return True


def _bands(data: FitData, model: Model, points: list[tuple[float, float]]) -> AnswerBands | None:
    """Return the bands for answers of another day; None of amounts, and with too many or too few participants."""
    if is_of_amounts(model):
        return None
    if data.settings.deterministic or data.judgments.n_judges > MOST_LEFT_OUT:
        return None
    given: dict[str, Any] = {} if data.groups is None else {"sensitive_features": data.groups}
    with _one_thread():
        try:
            answers = AnswerModel(random_state=0).fit(data.judgments)
        except InputError:
            return None
        tables = data.people, data.outcome, data.judgments
        return answer_bands(model, *tables, answers, points=points, n_draws=_DAYS, **given)


def frontier_etas(asked: float | None, loosest: float, own: float) -> tuple[list[float], int]:
    """Return allowances from 0 to the mean excess without a budget, and the place of the fit itself among them.

    ``loosest`` is the mean excess of a model without a budget, ``own`` that of the fit. Where what was asked for limits
    nothing, the fit itself is one that listens to nobody, and the last point.
    """
    end = own if asked is None or asked >= loosest else loosest
    if end < _CLOSE:
        return [0.0], 0
    etas = [float(f"{eta:.4g}") for eta in np.linspace(0.0, end, STEPS + 1)]
    if asked is None or asked >= etas[-1]:
        return etas, len(etas) - 1
    etas = sorted([*(eta for eta in etas if abs(asked - eta) > _CLOSE), asked])
    return etas, etas.index(asked)


def influence(data: FitData, fitted: Files, progress: Callable[[int, int], None] | None = None) -> Files:
    """Measure the model without each participant, each kind of them, and the few who change the error most."""
    given: dict[str, Any] = {} if data.groups is None else {"sensitive_features": data.groups}
    with _one_thread():
        model = _load_model(fitted)
        assert isinstance(model, PairwiseFairClassifier), "of amounts nobody is left out"
        asked = Influence.of(model, data.people, data.outcome, data.judgments, **given)
        return {INFLUENCE: _json(asked.result(MOST_TOGETHER, progress=progress))}


def compare_rounds(data: FitData) -> Effects:
    """Compare both rounds, of answers as they were given, and the models learned from them."""
    with _one_thread():
        return discussion_effects(data, _model(data))


def artefacts(data: FitData, files: Files, held_out: HeldOutErrors | None, talked: Effects | None = None) -> Files:
    """Summary, report and scores of a finished fit, from the files of its model and perhaps its frontier."""
    model, curve, prices = _load_model(files), None, None
    if FRONTIER in files:
        traced = Frontier.from_json(json.loads(files[FRONTIER]))
        curve, prices = traced.table(), traced.prices
    with _one_thread():
        found = findings(
            model,
            data.people,
            data.judgments,
            outcome=data.outcome,
            frontier=curve,
            groups=None if data.groups is None else list(data.groups.columns),
            question=data.question,
            title=f"{data.title}: {data.settings.name}",
            date=f"{data.begun:%Y-%m-%d}",
            labels=data.label_words,
            unit="" if data.amount is None else data.amount.unit,
            columns=data.labels,
            held_out=held_out,
            influence=JudgeInfluence.from_json(json.loads(files[INFLUENCE])) if INFLUENCE in files else None,
            effects=talked,
            price_bands=pd.DataFrame(list(prices)).set_index(["a", "b"]) if prices else None,
        )
        given = chances(model, data.people)
        right = outcome_numbers(data.outcome, data.people, model).to_numpy()
        scores = {"good": found.labels.treatment(given), "wrong": person_costs(model, given, right)}
    with tempfile.TemporaryDirectory() as folder:
        for language, name in REPORTS.items():
            details = data.settings.case_details
            write_report(found, Path(folder, name), language=language, case_details=details)
        pd.DataFrame({"id": data.people.index, **scores}).to_parquet(Path(folder, SCORES), index=False)
        return {
            SUMMARY: _json(_summary(data, model, found)),
            RULES: json_text(_rules(found), indent=1).encode(),
            **({} if talked is None else {EFFECTS: _json(talked)}),
            **_contents(folder),
        }


def _summary(data: FitData, model: Model, found: Findings) -> FitSummary:
    assert found.plain_error is not None
    assert found.guess_error is not None
    certain = data.settings.deterministic and not is_of_amounts(model)
    return FitSummary(
        settings=data.settings.model_dump(mode="json"),
        judges=data.judgments.n_judges,
        headline=found.headline,
        answers=len(data.judgments.asked().counted()),
        people=len(data.people),
        certificate=model.certificate_,
        error_without_judgments=found.plain_error,
        error_of_guessing=found.guess_error,
        held_out=found.held_out,
        **status_counts(answered_rows(model.prices_)["status"]),
        predicted=found.predicted,
        derandomization=model.derandomization_ if certain else None,
        group_rules=tuple(records(model.group_rules_[["rule", "value", "limit"]])),
        labels=() if is_of_amounts(model) else tuple(str(label) for label in model.classes_.tolist()),
        decisions=_decisions(found),
        times={"begun": data.begun.isoformat(), "ended": datetime.now(UTC).isoformat()},
    )


def _decisions(found: Findings) -> tuple[DecisionResult, ...]:
    """Return each of several decisions with who gets it, the best first; none where one of two is good."""
    if found.decisions is None:
        return ()
    table = found.decisions[found.decisions["attribute"] == ""]
    lines = table.assign(value=found.labels.label_values).sort_values("value", ascending=False, kind="stable")
    rows = zip(lines["decision"], records(lines[["value", "given", "really", "right", "reached"]]), strict=True)
    return tuple(DecisionResult(words=found.labels.words[place], **row) for place, row in rows)


def _rules(found: Findings) -> dict[str, Any]:
    """Return the model as rules in English and, under ``languages``, in every other language of reports."""
    texts = {code: rule_texts(found, words_in(code), MOST_RULES).to_json() for code in REPORTS}
    return texts.pop(SOURCE) | {"languages": texts}


def _model(data: FitData) -> Model:
    asked = data.settings
    if data.amount is not None:
        # An error is then by how much amounts are missed, in their own unit.
        return PairwiseFairRegressor(
            asked.estimator,
            loss="absolute",
            outcome_range=(data.amount.least, data.amount.most),
            larger_is_better=data.amount.better == "more",
            max_depth=asked.max_depth,
            gamma=asked.gamma,
            eta=asked.eta,
            features=None if asked.features is None else list(asked.features),
            group_constraints=[
                bounded_error(rule.bound, data.amount.least, data.amount.most) for rule in asked.group_rules
            ]
            or None,
            judge_budgets=asked.judge_budget,
            random_state=0,
        )
    return PairwiseFairClassifier(
        LogisticRegression(max_iter=1000) if asked.estimator == "logistic" else asked.estimator,
        max_depth=asked.max_depth,
        gamma=asked.gamma,
        eta=asked.eta,
        favorable_label=data.favorable_label,
        label_values=data.label_values,
        features=None if asked.features is None else list(asked.features),
        group_constraints=[parity(rule.rate, rule.bound) for rule in asked.group_rules] or None,
        judge_budgets=asked.judge_budget,
        random_state=0,
    )


def _load_model(files: Mapping[str, bytes]) -> Model:
    """The model, with its prices."""
    with tempfile.TemporaryDirectory() as folder:
        for name in (MODEL, PRICES):
            Path(folder, name).write_bytes(files[name])
        return load_model(Path(folder, MODEL), Path(folder, PRICES))


def _contents(folder: str) -> Files:
    return {file.name: file.read_bytes() for file in Path(folder).iterdir()}


def _json(result: Result | Effects) -> bytes:
    return json_text(result.to_json(), indent=1).encode()


NO_CONTROL = Message("No arm can be compared with, so talking cannot be told apart from being asked twice.")
NOT_LEARNED = Message("What would be learned before and after cannot be compared for this kind of model.")
_PANELS, _ASSIGNMENTS = 40, 99


def discussion_effects(data: FitData, model: Model) -> Effects:
    """Compare both rounds, and the models learned from them at the model's own gamma and eta."""
    assert data.second_round is not None
    found = effects_of(data.judgments, data.second_round)
    if found.judges.empty:
        return found
    groups = data.groups.iloc[:, 0] if data.groups is not None and data.groups.shape[1] == 1 else None
    arms = data.second_round.arms.reindex(data.judgments.judges)
    if found.control is None:
        arms = pd.DataFrame(index=arms.index)
    answers = Judgments(data.judgments.frame, people=data.people, judge_attributes=arms)
    return with_learned(found, model, data.people, data.outcome, answers, groups)


def with_learned(
    found: Effects,
    model: Model,
    people: pd.DataFrame,
    outcome: pd.Series[Any],
    answers: Judgments,
    groups: pd.Series[Any] | None,
) -> Effects:
    """Add what would be learned before and after, or a note that this cannot be told of such a model."""
    if isinstance(model, PairwiseFairRegressor):
        return replace(found, notes=(*found.notes, NOT_LEARNED))
    try:
        learned = learned_effects(
            model,
            people,
            outcome,
            answers,
            control=found.control,
            groups=groups,
            n_resamples=_PANELS,
            n_draws=_ASSIGNMENTS,
        )
    except InputError:
        return replace(found, notes=(*found.notes, NOT_LEARNED))
    return replace(found, learned=learned)


def effects_of(judgments: Judgments, second: SecondRound) -> Effects:
    """Return what people changed, by arm; without answers of a control arm, only of everyone."""
    known = second.arms.reindex(judgments.judges)
    names = set() if ARM not in known else set(known[ARM].dropna())
    control = next((name for name in (second.control, CONTROL) if name in names), None)
    compared = control is not None and len(names) > 1
    answers = Judgments(judgments.frame, judge_attributes=known if compared else pd.DataFrame(index=known.index))
    found = effects(answers, control=control if compared else None, reasons=second.reasons)
    if second.in_rooms:
        found = replace(found, notes=(IN_ROOMS, *found.notes))
    # Of several arms it would be wrong to say that there are no two.
    return found if compared or len(names) < 2 else replace(found, notes=(*found.notes[:-1], NO_CONTROL))
