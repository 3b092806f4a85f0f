"""What a fit leaves behind in ``jobs/<id>/`` of the study's folder: all of it or nothing, and how it is read."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import isnan
from pathlib import Path
from typing import Any

from fairwise.languages import SOURCE
from fairwise.results.effects import Effects
from fairwise.results.fits import FitSummary, Frontier, FrontierPoint, JudgeInfluence, ModelRuleTexts, best_trade_offs
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


_ENDED = ("done", "failed", "cancelled")
_UNFINISHED = re.compile(r"\.(\d{1,9})\.(\d{1,9})\.unfinished")


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
            for name in WITH_ANSWERS:
                (folder / name).unlink(missing_ok=True)


def _numbers(name: str) -> tuple[int, int]:
    """Return the job and the run of an unfinished folder."""
    found = _UNFINISHED.fullmatch(name)
    return (0, 0) if found is None else (int(found[1]), int(found[2]))


@dataclass(frozen=True)
class Fitted:
    """The files of a fit that is done."""

    folder: Path
    summary: FitSummary

    @classmethod
    def of(cls, study: Path, job_id: int) -> Fitted | None:
        """Return what a fit left, or None if it left nothing, or nothing any more."""
        folder = job_folder(study, job_id)
        content = _read(folder / SUMMARY)
        return None if content is None else cls(folder, FitSummary.from_json(content))

    @property
    def frontier(self) -> list[FrontierPoint]:
        """Points on offer and the fit itself, by allowance, the smallest first; none if it was not asked for.

        A point that another one beats on both numbers that pages print is not on offer.
        """
        points = Frontier.from_json(_read(self.folder / FRONTIER) or {"points": []}).points
        own_first = sorted(points, key=lambda point: (not point.own, point.eta))
        best = best_trade_offs(own_first, of_amounts=not isnan(self.summary.certificate.mean_error))
        return sorted((point for point in points if point.own or point in best), key=lambda point: point.eta)

    def rules(self, language: str = SOURCE) -> ModelRuleTexts | None:
        """Return the rules in a language, or in English; None if the fit left none."""
        content = _read(self.folder / RULES)
        if content is None:
            return None
        return ModelRuleTexts.from_json(content.get("languages", {}).get(language, content))

    @property
    def influence(self) -> JudgeInfluence | None:
        """What each participant changes; None where that was not asked for, or there are too many of them."""
        content = _read(self.folder / INFLUENCE)
        return None if content is None else JudgeInfluence.from_json(content)

    @property
    def effects(self) -> Effects | None:
        """Effects of the second round; None if there was none."""
        content = _read(self.folder / EFFECTS)
        return None if content is None else Effects.from_json(content)

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
    content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return content


@lru_cache(maxsize=8)
def _column(file: Path, column: str, _changed: int) -> Mapping[str, float] | None:
    table = read_parquet(file)
    if column not in table.column_names:
        return None
    return dict(zip(table["id"].to_pylist(), table[column].to_pylist(), strict=True))
