"""A fit and its own point on the frontier are one model: every number that both state is the same."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from tests.support.fitting import Here

from fairwise import Judgments
from fairwise.constraints.violations import Treatment, TreatmentStatus, status_counts
from fairwise.jobs import work
from fairwise.jobs.fit_data import FitData
from fairwise.jobs.runner import JobFolder, perform
from fairwise.jobs.work import fit
from fairwise.judgments import Answer
from fairwise.learning.estimator import PairwiseFairClassifier
from fairwise.learning.oracles.tree import TreeOracle
from fairwise.store.fit_files import MODEL, PRICES, REPORT, Fitted, job_folder
from fairwise.store.jobs import Job
from fairwise.study.fit_choices import FitChoices

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow
STUDIES = 7
JOB = Job(1, datetime.now(UTC), "Ada", {}, "running", 0.0, "", False, None, None, None)


def data_of(seed: int, **settings: Any) -> FitData:
    """Some people with few different records, about whom many optimal mixtures say different things."""
    rng = np.random.default_rng(seed)
    people = pd.DataFrame(
        {"age": rng.integers(18, 26, 60), "visits": rng.integers(0, 4, 60)},
        index=pd.Index([f"k{k}" for k in range(60)], name="id"),
    )
    outcome = pd.Series((people["age"] + rng.normal(0, 3, 60) > 21).astype(int), index=people.index, name="again")
    rows = []
    for judge in range(5):
        order = rng.permutation(people.index)
        for a, b in zip(order[:12], order[12:24], strict=True):
            answer = str(rng.choice([*Answer, Answer.SAME, Answer.SAME]))
            rows.append({"judge": f"p{judge:05d}", "a": a, "b": b, "answer": answer})
    asked = {"name": "One", "estimator": "tree", "gamma": 0.05, "eta": 0.02, "favorable_label": "1", **settings}
    said = Judgments(rows, people=people)
    about: dict[str, Any] = {"title": "Study", "question": "Alike?", "labels": {"visits": "Visits so far"}}
    return FitData(FitChoices.checked(asked), people, outcome, said, datetime.now(UTC), **about)


def asked() -> list[Any]:
    """Each kind of budget: none, one that limits nothing, one that does, and 0."""
    rng = np.random.default_rng(0)
    settings: list[dict[str, Any]] = [
        {"eta": None},
        {"eta": 0.5},
        {"eta": 0.01},
        {"eta": 0.0},
        {"estimator": "logistic"},
        {"eta": 0.0, "deterministic": True},
    ]
    settings += [{"eta": round(float(rng.uniform(0, 0.05)), 3), "gamma": 0.1} for _ in range(STUDIES - len(settings))]
    return [pytest.param(seed, each, id=str(each)) for seed, each in enumerate(settings)]


@pytest.mark.filterwarnings("ignore:A rule that gives everyone the same label")
@pytest.mark.parametrize(("seed", "settings"), asked())
def test_tiles_and_own_point_are_of_one_model(seed: int, settings: dict[str, Any], tmp_path: Path) -> None:
    data, folder = data_of(seed, **settings), JobFolder(tmp_path, JOB)
    folder.open()
    perform(data, folder, Here(), lambda _share, _words: None)
    folder.publish()
    fitted = Fitted.of(tmp_path, 1)
    assert fitted is not None
    place = fitted.own_place
    assert place is not None, "the fit is always on its frontier"
    assert sum(point.own for point in fitted.frontier) == 1
    own, summary = fitted.frontier[place], fitted.summary
    for name in ("error", "max_violation"):
        assert getattr(own, name) == getattr(summary.certificate, name), name
    assert (own.followed, own.not_followed) == (summary.followed, summary.not_followed)
    assert len(own.judgments) == min(own.not_followed, 50)
    certain = summary.derandomization
    assert (certain is not None) == data.settings.deterministic
    if certain is not None:
        assert set(fitted.good.values()) <= {0.0, 1.0}
        assert (certain.judgments_broken, certain.judgments_counted) == (summary.not_followed, summary.asked)

    files = job_folder(tmp_path, 1)
    model = PairwiseFairClassifier.load(files / MODEL, prices=files / PRICES)
    counts = status_counts(model.prices_["status"])
    assert (summary.followed, summary.not_followed) == (counts["followed"], counts["not_followed"])
    # What participants are told rests on the scores of the same model.
    good, said = fitted.good, data.judgments.counted()
    told = [
        Treatment(Answer(answer), good[a], good[b], summary.certificate.gamma).status
        for a, b, answer in said[["a", "b", "answer"]].itertuples(index=False, name=None)
    ]
    assert told.count(TreatmentStatus.NOT_FOLLOWED) == summary.not_followed
    assert told.count(TreatmentStatus.KEPT) + told.count(TreatmentStatus.NEARLY) == summary.followed
    # And so does the report.
    report = (tmp_path / "jobs" / "1" / "report.html").read_text(encoding="utf-8")
    counted = f"{summary.not_followed} of {summary.asked} {'is' if summary.not_followed == 1 else 'are'} not followed"
    assert (counted if summary.not_followed else "All are followed.") in report
    german = (tmp_path / "jobs" / "1" / "report.de.html").read_text(encoding="utf-8")
    assert '<html lang="de"' in german
    assert "Kurz gesagt" in german
    english, translated = fitted.rules("en"), fitted.rules("de")
    assert english is not None
    assert translated is not None
    assert not {line for rule in english.rules for _, line in rule.lines} & {
        line for rule in translated.rules for _, line in rule.lines
    }
    assert "Modell" in translated.lead or "Regel" in translated.lead
    assert ">visits<" not in report
    assert (">Visits so far<" in report) is ('<ol class="cards">' in report)
    # The others are still a curve, and the fit is on it or, where nothing is proved, not far above.
    errors = [point.error for point in fitted.frontier if not point.own]
    assert all(later <= earlier + 1e-9 for earlier, later in pairwise(errors))


def test_an_interrupted_fit_is_no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that is ended takes its workers along: what they were at must not pass for done."""
    answer, calls = TreeOracle._answer, iter(range(100))

    def interrupted(oracle: TreeOracle, *given: Any) -> Any:
        if next(calls) == 2:
            raise KeyboardInterrupt
        return answer(oracle, *given)

    monkeypatch.setattr(TreeOracle, "_answer", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fit(data_of(0))


def test_columns_are_kept_from_the_model_and_the_report_says_which() -> None:
    data = data_of(0, features=["age"])
    files = work.fit(data)
    files |= work.artefacts(data, files, None)
    assert work._load_model(files).features_ == ["age"]
    assert "age. It was not allowed to use Visits so far.</p>" in files[REPORT].decode()
