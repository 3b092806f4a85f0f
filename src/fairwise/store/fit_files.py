"""What a fit leaves behind in ``jobs/<id>/`` of the study's folder: all of it or nothing, and how it is read."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any

from fairwise.constraints.certificate import Certificate
from fairwise.constraints.violations import WORDS_OF_0_1
from fairwise.languages import SOURCE
from fairwise.numbers import share_difference
from fairwise.store.jobs import Job
from fairwise.tables.files import read_parquet

JOBS = "jobs"
SUMMARY, FRONTIER, RULES, INFLUENCE = "summary.json", "frontier.json", "rules.json", "influence.json"
EFFECTS = "effects.json"
REPORT, MODEL, SCORES, PRICES = "report.html", "model.skops", "scores.parquet", "prices.parquet"
REPORTS = {"en": REPORT, "de": "report.de.html"}
"""The report in each of its languages."""

WITH_ANSWERS = (*REPORTS.values(), FRONTIER, PRICES, INFLUENCE)
"""Those that name single answers."""

MODEL_SCHEMA, MODEL_PRICES = "schema.json", "prices"  # as skops writes a dict: its values are nodes of their names

_ENDED = ("done", "failed", "cancelled")
_UNFINISHED = re.compile(r"\.(\d{1,9})(?:\.(\d{1,9}))?\.unfinished")


def job_folder(study: Path, job_id: int) -> Path:
    """Where the files of a job are, once it is done."""
    return study / JOBS / str(job_id)


def unfinished_folder(study: Path, job_id: int, run: int) -> Path:
    """Where a run of a job keeps what it has, answers too, until it is done; each ``restarts`` of a job is a run."""
    return study / JOBS / f".{job_id}.{run}.unfinished"


def remove_leftovers(study: Path, jobs: Iterable[Job]) -> None:
    """Delete the files of these jobs that nobody will use, such as those that hold answers of who withdrew.

    That is: what is unfinished of jobs that have ended and of earlier runs, the single answers of jobs that are made
    again, all that is there of jobs that failed or were stopped. No job may end meanwhile.
    """
    by_id = {job.id: job for job in jobs}
    for folder in (study / JOBS).glob(".*.unfinished"):
        number, run = _numbers(folder.name)
        job = by_id.get(number)
        if job is None:
            continue
        if run < job.restarts or (run == job.restarts and job.state in _ENDED):
            shutil.rmtree(folder, ignore_errors=True)
    for job in by_id.values():
        if job.state in ("failed", "cancelled"):
            shutil.rmtree(job_folder(study, job.id), ignore_errors=True)
        elif job.state != "done":
            folder = job_folder(study, job.id)
            old = [MODEL] if (folder / MODEL).exists() and may_hold_answers(folder / MODEL) else []
            for name in (*WITH_ANSWERS, *old):
                (folder / name).unlink(missing_ok=True)


def may_hold_answers(model: Path) -> bool:
    """Whether a model file holds prices of single answers, as those of version 0.1 do, or cannot be looked into."""
    try:
        with zipfile.ZipFile(model) as archive:
            prices = json.loads(archive.read(MODEL_SCHEMA))["content"].get(MODEL_PRICES)
        return bool(prices and prices["content"])
    except Exception:  # noqa: BLE001 - whatever it is
        return True


def _numbers(name: str) -> tuple[int, int]:
    """Of a folder of what is unfinished, the job and its run; version 0.1 kept all runs in one folder."""
    found = _UNFINISHED.fullmatch(name)
    return (0, 0) if found is None else (int(found[1]), int(found[2] or -1))


@dataclass(frozen=True)
class NotFollowed:
    """A judgment that is violated by more than a fit lets pass."""

    judge: str
    a: str
    b: str
    answer: str
    violation: float


@dataclass(frozen=True)
class FrontierPoint:
    """One of the models between following every judgment and following none."""

    eta: float
    own: bool
    """Whether it is the fit itself. Those that 0.1.0 traced do not say, and their counts may be of another model."""

    error: float
    max_violation: float
    followed: int
    not_followed: int
    judgments: tuple[NotFollowed, ...]
    """Those not followed, the dearest first, and only so many."""


@dataclass(frozen=True)
class WithoutChance:
    """What a model that decides without chance adds and breaks, against the mixture that it was made from."""

    rule: str
    error_added: float
    judgments_broken: int
    judgments_counted: int
    largest_excess: float
    group_rules_broken: Mapping[str, float]
    budgets_broken: Mapping[str, float]


@dataclass(frozen=True)
class DecisionResult:
    """One of several decisions: how good it is, and shares of people; None where there is nobody to take them of."""

    words: str
    value: float
    given: float
    """To whom the model gives it."""

    really: float
    """For whom it is right."""

    right: float | None
    """Of those to whom it is given, for whom it is right."""

    reached: float | None
    """Of those for whom it is right, to whom it is given."""


@dataclass(frozen=True)
class Summary:
    """A fit in numbers. Errors are shares of all people decided about; of amounts, by how much they are missed."""

    certificate: Certificate
    error_without: float
    held_out: float | None
    """How often such a model is wrong about people it was not made from; None where that was not measured."""

    judges: int
    followed: int
    not_followed: int
    predicted: int = 0
    """How many predicted answers it was made with besides; all other counts are of given ones."""

    predicted_followed: int = 0
    predicted_error: float | None = None
    """What share of the predicted answers is wrong, at most."""

    without_chance: WithoutChance | None = None
    """What that adds and breaks, where the model decides so."""

    decisions: tuple[DecisionResult, ...] = ()
    """Where there are several, the best first."""

    @property
    def asked(self) -> int:
        """How many judgments ask for something."""
        return self.followed + self.not_followed

    def cost(self, digits: int) -> Decimal:
        """How many more decisions in 100 are wrong than without the judgments, both as printed with so many digits."""
        return share_difference(self.certificate.error, self.error_without, digits)

    def left_to_gain(self, digits: int) -> Decimal:
        """How many decisions in 100 are proved to be the most that another model could put right; likewise."""
        return share_difference(self.certificate.error, self.certificate.lower_bound, digits)


@dataclass(frozen=True)
class RuleWords:
    """One rule of a model: how often it decides (None if it is all there is), its first line, and those below."""

    number: int
    share: float | None
    head: str
    lines: tuple[tuple[int, str], ...]
    """Each with how deep it is."""


@dataclass(frozen=True)
class ModelWords:
    """A model as rules in words, those first that decide most often."""

    lead: str
    rules: tuple[RuleWords, ...]
    left_out: int
    """How many more rules there are."""

    notes: tuple[str, ...]
    kind: str
    """What kind of rules the model is made of."""

    warnings: tuple[str, ...]
    rule: str
    """The rule of a model that decides without chance."""

    names: Mapping[str, str]
    """Rules about groups and allowances that it breaks, by what the summary calls them."""


@dataclass(frozen=True)
class Absence:
    """What a model would be without somebody's answers."""

    who: str
    """A participant, or what those left out together have in common."""

    error_change: float
    people_changed: int
    """How many of the people decided about would be treated differently, by a percentage point or more."""

    largest_change: float
    """The furthest that anyone's chance would move."""

    @property
    def points(self) -> int:
        """That in whole percentage points."""
        return round(100 * self.largest_change)


@dataclass(frozen=True)
class InfluenceFound:
    """What a model would be without each participant, each kind of them, and those few who change the error most."""

    judges: tuple[Absence, ...]
    groups: Mapping[str, tuple[Absence, ...]]
    together: tuple[Absence, ...]
    """Found one after the other; each is about its participant and all before it."""

    def of(self, judge: str) -> Absence | None:
        """Of one participant, if their answers are in the model."""
        return next((one for one in self.judges if one.who == judge), None)


@dataclass(frozen=True)
class Fitted:
    """The files of a fit that is done."""

    folder: Path
    summary: Summary

    @classmethod
    def of(cls, study: Path, job_id: int) -> Fitted | None:
        """Return what a fit left, or None if it left nothing, or nothing any more."""
        folder = job_folder(study, job_id)
        content = _read(folder / SUMMARY)
        return None if content is None else cls(folder, _summary(content))

    @property
    def frontier(self) -> list[FrontierPoint]:
        """By allowance, the smallest first; none if it was not asked for."""
        content = _read(self.folder / FRONTIER) or {"points": []}
        return sorted(map(_point, content["points"]), key=lambda point: point.eta)

    def rules(self, language: str = SOURCE) -> ModelWords | None:
        """The model in words, English where there are none of this language; None of a fit of 0.1, which left none."""
        content = _read(self.folder / RULES)
        if content is None:
            return None
        content = content.get("languages", {}).get(language, content)
        certificate, single = self.summary.certificate, self.summary.without_chance
        rules = [
            RuleWords(one["number"], one["share"], one["head"], tuple((depth, text) for depth, text in one["lines"]))
            for one in content["rules"]
        ]
        return ModelWords(
            content["lead"],
            tuple(rules),
            content["left_out"],
            tuple(content["notes"]),
            content.get("kind", certificate.hypothesis_class),  # fits of before 0.2 say these in their summary alone
            tuple(content.get("warnings", certificate.warnings)),
            content.get("rule") or ("" if single is None else single.rule),
            {**content.get("group_rules", {}), **content.get("budgets", {})},
        )

    @property
    def influence(self) -> InfluenceFound | None:
        """What each participant changes; None where that was not asked for, or there are too many of them."""
        content = _read(self.folder / INFLUENCE)
        if content is None:
            return None
        groups = {name: tuple(map(_absence, rows)) for name, rows in content["groups"].items()}
        judges, together = (tuple(map(_absence, content[name])) for name in ("judges", "together"))
        return InfluenceFound(judges, groups, together)

    @property
    def own_place(self) -> int | None:
        """Which point of the frontier is the fit itself."""
        return next((place for place, point in enumerate(self.frontier) if point.own), None)

    @property
    def good(self) -> Mapping[str, float]:
        """How well the model treats each person: how likely it gives them the favourable label, or the mean value."""
        return self._scores("good") or {}

    @property
    def wrong(self) -> Mapping[str, float] | None:
        """How likely the model is wrong about each person; None of a fit of before 0.2, which does not say."""
        return self._scores("wrong")

    def _scores(self, column: str) -> Mapping[str, float] | None:
        file = self.folder / SCORES
        return _column(file, column, file.stat().st_mtime_ns)

    @property
    def pair_prices(self) -> Mapping[tuple[str, str], float]:
        """What all answers that people gave to a pair cost together; of the two the one whose id comes first is first.

        Empty while a fit is made again since somebody withdrew, and of one that left no prices.
        """
        file = self.folder / PRICES
        if not file.exists():
            return {}
        table, total = read_parquet(file), Counter[tuple[str, str]]()
        names = table.column_names
        predicted = table["predicted"].to_pylist() if "predicted" in names else [False] * table.num_rows
        for a, b, price, nobodys in zip(*(table[c].to_pylist() for c in ("a", "b", "price")), predicted, strict=True):
            if not nobodys:
                one, other = sorted((str(a), str(b)))
                total[one, other] += price
        return total

    def file(self, name: str) -> Path | None:
        """One of its other files, if it is there."""
        return self.folder / name if (self.folder / name).is_file() else None


def _read(file: Path) -> dict[str, Any] | None:
    if not file.exists():
        return None
    content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"), object_hook=_in_words_of_today)
    return content


def _in_words_of_today(content: dict[str, Any]) -> dict[str, Any]:
    return {WORDS_OF_0_1.get(name, name): value for name, value in content.items()}


def _summary(content: dict[str, Any]) -> Summary:
    predicted = content.get("predicted") or {}
    return Summary(
        Certificate.from_json(content["certificate"]),
        error_without=content["error_without_judgments"],
        held_out=(content.get("held_out") or {}).get("error"),
        without_chance=_without_chance(content.get("derandomization")),
        decisions=tuple(DecisionResult(**one) for one in content.get("decisions", ())),
        predicted=predicted.get("answers", 0),
        predicted_followed=predicted.get("followed", 0),
        predicted_error=predicted.get("error_bound"),
        **{name: content[name] for name in ("judges", "followed", "not_followed")},
    )


def _without_chance(content: dict[str, Any] | None) -> WithoutChance | None:
    return None if content is None else WithoutChance(**{one.name: content[one.name] for one in fields(WithoutChance)})


def _point(content: dict[str, Any]) -> FrontierPoint:
    names = ("judge", "a", "b", "answer", "violation")
    judgments = [NotFollowed(*(one[name] for name in names)) for one in content["judgments"]]
    return FrontierPoint(
        **{name: content[name] for name in ("eta", "error", "max_violation", "followed", "not_followed")},
        own=content.get("own", False),
        judgments=tuple(judgments),
    )


def _absence(content: dict[str, Any]) -> Absence:
    return Absence(**{one.name: content[one.name] for one in fields(Absence)})


@lru_cache(maxsize=8)
def _column(file: Path, column: str, _changed: int) -> Mapping[str, float] | None:
    table = read_parquet(file)
    if column not in table.column_names:
        return None
    return dict(zip(table["id"].to_pylist(), table[column].to_pylist(), strict=True))
