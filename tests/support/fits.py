"""Fits that are done, without doing them: files written by hand as a job writes them."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pandas as pd

from fairwise.store.fit_files import FRONTIER, INFLUENCE, MODEL, REPORT, RULES, SCORES, SUMMARY, job_folder
from fairwise.store.jobs import end, submit, take
from fairwise.study.fit_choices import FitChoices

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from fairwise.store.store import Store

REPORT_HTML = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Report</title>
<style>h1 { color: rgb(1, 2, 3) }</style></head><body><h1>The report</h1><p id="told">no script</p>
<script>
let cookies = "none";
try { cookies = document.cookie; } catch (error) { cookies = "forbidden"; }
document.getElementById("told").textContent = `${self.origin} ${cookies}`;
</script></body></html>"""


def read_json(study: Path, job_id: int, name: str) -> Any:
    """What ``summary.json`` or ``frontier.json`` of a fit says."""
    return json.loads((job_folder(study, job_id) / name).read_text(encoding="utf-8"))


def wanted(**changes: Any) -> dict[str, Any]:
    """Settings of a fit as a job keeps them."""
    basic = {"name": "First try", "estimator": "tree", "favorable_label": "outcome-1-never"}
    return FitChoices.checked({**basic, **changes}).model_dump(mode="json")


def point(
    eta: float, error: float, not_followed: list[dict[str, Any]], asked: int = 20, **changes: Any
) -> dict[str, Any]:
    """One point of a frontier."""
    return {
        "gamma": 0.1,
        "eta": eta,
        "own": False,
        "error": error,
        "lower_bound": error - 0.0001,
        "kind": "exact",
        "mean_excess": eta,
        "mean_violation": 0.1,
        "max_violation": max((one["violation"] for one in not_followed), default=0.1),
        "followed": asked - len(not_followed),
        "not_followed": len(not_followed),
        "judgments": not_followed,
        **changes,
    }


def not_followed(people: list[str], count: int) -> list[dict[str, Any]]:
    """Some judgments that a model does not follow."""
    return [
        {
            "judge": f"p{1 + k % 3:05d}",
            "a": people[k % len(people)],
            "b": people[(k + 1) % len(people)],
            "answer": ("same", "a_at_least_b")[k % 2],
            "violation": round(0.12 + 0.01 * k, 4),
        }
        for k in range(count)
    ]


MODEL_FILE = b"a model"
RULE_LINES = [
    [0, "if Earlier offences is at most 3.5:"],
    [1, "if Age is at most 22.5: 57.1 %"],
    [1, "otherwise: 12.5 %"],
    [0, "otherwise if Charge is <b>“felony”</b>: 100.0 %"],
    [0, "otherwise: 80.0 %"],
]
MERGED_RULES = {
    "lead": "The model decides by lot among 4 rules, which are merged here into the probability of outcome-1-never.",
    "rules": [{"number": 1, "share": None, "head": "", "lines": RULE_LINES}],
    "left_out": 0,
    "notes": ["Missing values count as: Age 34.52", "Columns, with the share of rules that ask about each: Age 81.2 %"],
}


def separate_rules(count: int, left_out: int = 0) -> dict[str, Any]:
    """So many rules that were not merged, and that there are more."""
    rules = [{"number": k, "share": 0.5**k, "head": "", "lines": RULE_LINES} for k in range(1, count)]
    constant = {"number": count, "share": 0.5**count, "head": "outcome-1-never for everyone", "lines": []}
    return {**MERGED_RULES, "rules": [*rules, constant], "left_out": left_out}


def absence(who: str, people_changed: int = 14, **changes: Any) -> dict[str, Any]:
    """What a model would be without somebody."""
    line = {"error": 0.3, "error_change": -0.0123, "followed": 20, "largest_change": 0.061, **changes}
    return {"who": who, "people_changed": people_changed, **line}


INFLUENCE_FOUND = {
    "judges": [absence("p00001"), absence("p00002", 0, error_change=0.0, largest_change=0.0), absence("p00003", 1)],
    "groups": {"What are you to such decisions?": [absence("I decide <b>myself</b>", 3), absence("none of these", 7)]},
    "together": [absence("p00001"), absence("p00003", 40, error_change=-0.0225)],
}


HEADLINE = {
    **dict.fromkeys(("participants", "simulated", "affected", "affected_not_known", "asked", "followed", "people"), 0),
    "error": 0.3,
    "plain_error": 0.24,
    "constant_error": 0.5,
    "constant": "outcome-0-never",
    "proved": True,
    "held_out": None,
}


def on_new_people(error: float, plain: float = 0.36, constant: float = 0.4, least_gain: float = 0.02) -> dict[str, Any]:
    """Errors on people left out, as a summary holds them."""
    others = {
        name: {"error": other, "low": other - 0.05, "high": other + 0.05, "gain": other - error}
        | {"gain_low": least_gain, "gain_high": 0.2}
        for name, other in (("plain", plain), ("constant", constant))
    }
    return {"error": error, "training": 0.3, "low": 0.31, "high": 0.41, "splits": 3, **others}


def write_fit(study: Path, job_id: int, good: Mapping[str, float], **changes: Any) -> None:
    """The files of a fit; `changes` are those of its summary, or `points` of its frontier, or `rules`."""
    folder = job_folder(study, job_id)
    folder.mkdir(parents=True)
    people = list(good)
    curve = (0.0, 0.31, 0), (0.01, 0.28, 3), (0.02, 0.26, 7), (0.04, 0.245, 24), (0.08, 0.24, 30)
    rules = changes.pop("rules", MERGED_RULES)
    influence = changes.pop("influence", None)
    points = changes.pop("points", [point(eta, error, not_followed(people, n), asked=40) for eta, error, n in curve])
    own = points[0] = {**points[0], "own": True}
    certificate = {
        "kind": "exact",
        "error": own["error"],
        "lower_bound": own["lower_bound"],
        "gap": 0.0001,
        "oracle_bound": None,
        "oracle_calls": 7,
        "hypothesis_class": "decision trees of depth 2",
        "gamma": changes.get("settings", wanted())["gamma"],
        "eta": own["eta"],
        **{name: own[name] for name in ("max_violation", "mean_violation", "mean_excess")},
    }
    summary = {
        "settings": wanted(),
        "judges": 3,
        "answers": 50,
        "people": len(people),
        "certificate": certificate | changes.pop("certificate", {}),
        "error_without_judgments": 0.24,
        "error_of_guessing": 0.5,
        "held_out": None,
        "followed": own["followed"],
        "not_followed": own["not_followed"],
        "asks_nothing": 10,
        "group_rules": [],
        "labels": ["outcome-0-never", "outcome-1-never"],
        "times": {"begun": "2026-03-09T14:05:00+00:00", "ended": "2026-03-09T14:05:30+00:00"},
        **changes,
    }
    summary["headline"] = HEADLINE | summary.get("headline", {})
    (folder / SUMMARY).write_text(json.dumps(summary), encoding="utf-8")
    (folder / FRONTIER).write_text(json.dumps({"points": points}), encoding="utf-8")
    if influence is not None:
        (folder / INFLUENCE).write_text(json.dumps(influence), encoding="utf-8")
    if rules is not None:
        (folder / RULES).write_text(json.dumps(rules), encoding="utf-8")
    (folder / REPORT).write_text(REPORT_HTML, encoding="utf-8")
    (folder / MODEL).write_bytes(MODEL_FILE)
    pd.DataFrame({"id": people, "good": list(good.values())}).to_parquet(folder / SCORES)


def done_job(
    store: Store, study: Path, good: Mapping[str, float], *, age: timedelta | None = None, **changes: Any
) -> int:
    """A job that was asked for, taken and done; returns its id."""
    at = datetime.now(UTC) - age if age else datetime.now(UTC)
    settings = changes.setdefault("settings", wanted())
    job_id = store.change_now(lambda c: submit(c, settings, "Ada", at))
    taken = store.change_now(lambda c: take(c, at, timedelta(hours=1)))
    assert taken is not None
    assert taken.id == job_id
    store.change_now(lambda c: end(c, taken, "done", "", at))
    write_fit(study, job_id, good, **changes)
    return job_id
