"""The computing of a fit: each function takes and returns all that it needs, perhaps on a worker of dask."""

from __future__ import annotations

import json
import tempfile
from bisect import bisect_left
from collections.abc import Callable, Hashable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from fairwise import __version__
from fairwise.auditing import AnswerBands, Effects, answer_bands, frontier, held_out_errors
from fairwise.auditing.decisions import chances, outcome_numbers, person_costs
from fairwise.auditing.error_measure import is_of_amounts
from fairwise.auditing.frontier import certified_row, followed_row
from fairwise.auditing.influence import Influence, InfluenceTables
from fairwise.constraints.certificate import HeldOutErrors
from fairwise.constraints.pairs import answered_rows
from fairwise.constraints.violations import status_counts
from fairwise.errors import InfeasibleError, InputError
from fairwise.jobs.fit_data import MEANT, FitData
from fairwise.jobs.talking import effects_in_words, talking_did
from fairwise.judgments.answer_model import AnswerModel
from fairwise.languages import SOURCE
from fairwise.learning.any_model import load_model
from fairwise.learning.estimator import PairwiseFairClassifier
from fairwise.learning.model.deterministic import Derandomization
from fairwise.learning.regressor import PairwiseFairRegressor
from fairwise.learning.settings import bounded_error, parity
from fairwise.learning.solvers.progress import raise_interrupts
from fairwise.reporting import Findings, findings, write_report
from fairwise.reporting.page import MOST_RULES, model_words
from fairwise.reporting.words import words_in
from fairwise.store.fit_files import EFFECTS, FRONTIER, INFLUENCE, MODEL, PRICES, REPORTS, RULES, SCORES, SUMMARY
from fairwise.study.fit_choices import MOST_LEFT_OUT
from fairwise.tables.output import json_text

if TYPE_CHECKING:
    from fairwise.auditing.error_measure import Model

    Files = dict[str, bytes]

STEPS = 10
SPLITS = 3
"""So many times the model is made anew from a part of the people, to be measured on the others."""

MOST_TOGETHER = 3
"""So many participants are looked for whose absence together changes most."""

_MOST_LISTED = 50
_DAYS = 20
_CLOSE = 1e-6
_CURVE = (
    "gamma",
    "eta",
    "error",
    "max_violation",
    "mean_violation",
    "mean_excess",
    "lower_bound",
    "answers_low",
    "answers_high",
)

# The same numbers on any machine, and no core more than the one that was given.
_one_thread = partial(threadpool_limits, 1)


def meant(data: FitData) -> Files:
    """The answers as asked for: each weighted by how likely it is meant, or with predicted ones beside them."""
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
    """The model and, beside it, what each answer costs."""
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
    rows = table[list(itself)].itertuples(index=False, name=None)
    points = [dict(zip(itself, row, strict=True)) | {"own": False} for row in rows]
    points[own] = itself | {"eta": etas[own], "own": True}
    bands = _bands(data, model, [(asked.gamma, eta) for eta in etas])
    if bands is None:
        return {FRONTIER: _json({"points": points})}
    moved = bands.on(pd.DataFrame(points))[["answers_low", "answers_high"]].to_dict("records")
    dearest = bands.prices.nlargest(_MOST_LISTED, "price").reset_index().to_dict("records")
    banded = [point | {str(name): end for name, end in ends.items()} for point, ends in zip(points, moved, strict=True)]
    return {FRONTIER: _json({"points": banded, "prices": dearest})}


def _can_be_kept(curve: Callable[..., pd.DataFrame], eta: float) -> bool:
    """Whether a mixture keeps the rules about groups, too: parity is always possible, small errors are not."""
    try:
        curve(etas=[eta])
    except InfeasibleError:
        return False
    return True


def _bands(data: FitData, model: Model, points: list[tuple[float, float]]) -> AnswerBands | None:
    """How far this moves with answers of another day; None of amounts, and where there are too many or too few."""
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
    """Where to look, from 0 to what the panel suffers if nobody listens, and which point is the fit itself.

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
    """What the model would be without each participant, each kind of them, and the few who change the error most."""
    given: dict[str, Any] = {} if data.groups is None else {"sensitive_features": data.groups}
    with _one_thread():
        model = _load_model(fitted)
        assert isinstance(model, PairwiseFairClassifier), "of amounts nobody is left out"
        asked = Influence.of(model, data.people, data.outcome, data.judgments, **given)
        found = asked.tables(MOST_TOGETHER, progress=progress)
    groups = {name: _absences(table) for name, table in found.groups.items()}
    content = {"judges": _absences(found.judges), "groups": groups, "together": _absences(found.together)}
    return {INFLUENCE: _json(content)}


def _absences(table: pd.DataFrame) -> list[dict[Hashable, Any]]:
    return table.set_axis(table.index.map(str)).reset_index(names="who").to_dict("records")


def _influence_of(files: Mapping[str, bytes]) -> InfluenceTables | None:
    """The tables from their file, where there is one."""
    if INFLUENCE not in files:
        return None
    content = json.loads(files[INFLUENCE])

    def table(rows: list[dict[str, Any]]) -> pd.DataFrame:
        return pd.DataFrame(rows).set_index("who") if rows else pd.DataFrame()  # of one participant no others

    groups = {name: table(rows) for name, rows in content["groups"].items()}
    return InfluenceTables(table(content["judges"]), groups, table(content["together"]))


def talking(data: FitData) -> Effects:
    """What people changed in a second round, of answers as they were given, and what that does to the model."""
    with _one_thread():
        return talking_did(data, _model(data))


def artefacts(data: FitData, files: Files, held_out: HeldOutErrors | None, talked: Effects | None = None) -> Files:
    """Summary, report and scores of a finished fit, from the files of its model and perhaps its frontier."""
    model, curve, prices = _load_model(files), None, None
    if FRONTIER in files:
        content = json.loads(files[FRONTIER])
        points = content["points"]
        curve = pd.DataFrame([{name: point.get(name) for name in _CURVE} for point in points]).assign(judge="panel")
        prices = content.get("prices")
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
            influence=_influence_of(files),
            effects=talked,
            price_bands=pd.DataFrame(prices).set_index(["a", "b"]) if prices else None,
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
            RULES: _json(_told(found, _derandomization(data, model))),
            **({} if talked is None else {EFFECTS: _json(effects_in_words(talked))}),
            **_contents(folder),
        }


def _summary(data: FitData, model: Model, found: Findings) -> dict[str, Any]:
    without_chance = _derandomization(data, model)
    return {
        "settings": data.settings.model_dump(mode="json"),
        "judges": data.judgments.n_judges,
        "headline": asdict(found.headline),
        "answers": len(data.judgments.asked().counted()),
        "people": len(data.people),
        "certificate": asdict(model.certificate_),
        "error_without_judgments": found.plain_error,
        "error_of_guessing": found.guess_error,
        "held_out": None if found.held_out is None else asdict(found.held_out),
        **status_counts(answered_rows(model.prices_)["status"]),
        "predicted": None if found.predicted is None else asdict(found.predicted),
        "derandomization": None if without_chance is None else asdict(without_chance),
        "group_rules": model.group_rules_[["rule", "value", "limit"]].to_dict("records"),
        "labels": [] if is_of_amounts(model) else [str(label) for label in model.classes_.tolist()],
        "decisions": _decisions(found),
        "times": {"begun": data.begun.isoformat(), "ended": datetime.now(UTC).isoformat()},
    }


def _decisions(found: Findings) -> list[dict[str, Any]]:
    """Each of several decisions with who gets it, the best first; none where one of two is good."""
    if found.decisions is None:
        return []
    table = found.decisions[found.decisions["attribute"] == ""]
    lines = table.assign(value=found.labels.label_values).sort_values("value", ascending=False, kind="stable")
    names = ["value", "given", "really", "right", "reached"]
    rows = zip(lines["decision"], lines[names].to_dict("records"), strict=True)
    return [{"words": found.labels.words[place], **{str(key): one for key, one in row.items()}} for place, row in rows]


def _derandomization(data: FitData, model: Model) -> Derandomization | None:
    """What it added and broke to decide without chance, where that was asked for."""
    return model.derandomization_ if data.settings.deterministic and not is_of_amounts(model) else None


def _told(found: Findings, without_chance: Derandomization | None) -> dict[str, Any]:
    """The model in words: English, and under ``languages`` every other one that reports are in."""
    told = {code: model_words(found, words_in(code), MOST_RULES, without_chance) for code in REPORTS}
    english = told.pop(SOURCE)
    return {**english, "languages": told}


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


def _json(content: Any) -> bytes:
    return json_text(content, indent=1).encode()
