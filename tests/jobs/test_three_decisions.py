"""A study with three decisions, from the answers in its database to the report and the pages about its model."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.support.fitting import answered, made_here, study_of
from tests.support.operating import operating

from fairwise.errors import InputError
from fairwise.learning.estimator import PairwiseFairClassifier
from fairwise.store.fit_files import MODEL, PRICES, Fitted, job_folder
from fairwise.study.fit_choices import FitChoices

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.operating import Operating

    from fairwise.study.folder import StudyFolder

pytestmark = pytest.mark.slow
DECISIONS = [
    {"label": "2", "words": "kept in custody", "value": 0.0},
    {"label": "1", "words": "sent home under conditions", "value": 0.6},
    {"label": "0", "words": "sent home", "value": 1.0},
]
FORM = {"estimator": "tree", "max_depth": "2", "gamma": "0.1", "eta": "0.02", "aim": "own", "influence": "yes"}


def visible(page: str) -> str:
    """What can be read, with one space between words."""
    return re.sub(r"\s+", " ", unescape(re.sub(r"<style.*?</style>|<[^>]+>", " ", page, flags=re.DOTALL)))


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> StudyFolder:
    return study_of(tmp_path_factory.mktemp("tiers"), decisions=DECISIONS)


@pytest.fixture(scope="module")
def console(study: StudyFolder) -> Iterator[Operating]:
    """Where somebody asked for a model, which was learned."""
    with operating(study.path, study.path / "study.sqlite") as opened:
        opened.set_up()
        store = opened.site.host.store
        answered(study, store, 5)
        form = visible(opened.get("/fits/new").text)
        assert "Which outcome is the good one?" not in form
        assert "sent home under conditions : 60" in form
        page = opened.post("/fits", **FORM, name="Three", rate1="dp", bound1="0.3", column="town")
        assert page.url.path == "/admin/fits/1", visible(page.text)
        made_here(study, store)
        yield opened


@pytest.fixture(scope="module")
def model(study: StudyFolder, console: Operating) -> PairwiseFairClassifier:
    del console
    files = job_folder(study.path, 1)
    return PairwiseFairClassifier.load(files / MODEL, prices=files / PRICES)


def test_numbers_are_those_of_the_model(study: StudyFolder, model: PairwiseFairClassifier) -> None:
    fitted = Fitted.of(study.path, 1)
    assert fitted is not None
    people, outcome = study.people(), study.outcome()
    assert model.label_values == {"0": 1.0, "1": 0.6, "2": 0.0}
    assert list(fitted.good.values()) == pytest.approx(model.predict_value(people).tolist())
    chances = model.predict_proba(people)
    right = chances[np.arange(len(people)), outcome.astype(int)]
    assert fitted.wrong is not None
    assert list(fitted.wrong.values()) == pytest.approx((1 - right).tolist())
    assert np.mean(list(fitted.wrong.values())) == pytest.approx(fitted.summary.certificate.error)
    decisions = fitted.summary.decisions
    assert [one.words for one in decisions] == ["sent home", "sent home under conditions", "kept in custody"]
    assert [one.given for one in decisions] == pytest.approx(chances.mean(axis=0).tolist())
    assert [one.really for one in decisions] == pytest.approx([(outcome == label).mean() for label in "012"])
    assert fitted.influence is not None
    assert len(fitted.influence.judges) == 5
    assert fitted.own_place is not None
    assert len(model.group_rules_) == 3 * 2 * 2  # each decision, each town, above and below


def test_the_page_of_the_model(console: Operating, study: StudyFolder) -> None:
    page = visible(console.get("/fits/1").text)
    fitted = Fitted.of(study.path, 1)
    assert fitted is not None
    assert "Who gets which decision" in page
    for one in fitted.summary.decisions:
        assert f"{one.words} {100 * one.value:.0f} {100 * one.really:.1f} {100 * one.given:.1f}" in page
    assert "from 0 to 100 by how good what they get is" in page
    assert "How often the model makes each decision: Town" in page
    assert "The good outcome" not in page
    assert "What each participant changes" in page
    german = visible(console.get("/fits/1", headers={"accept-language": "de"}).text)
    assert "Wer welche Entscheidung bekommt" in german


def test_a_person_is_scored_with_the_chance_of_each_decision(
    console: Operating, study: StudyFolder, model: PairwiseFairClassifier
) -> None:
    person = study.people().iloc[[3]]
    values = {f"value-{place}": str(person[column.name].iloc[0]) for place, column in enumerate(study.settings.columns)}
    page = visible(console.post("/fits/1/score", **values).text)
    again = console.get("/fits/1/score")  # as whoever loads the address again
    assert (again.status_code, again.url.path) == (200, "/admin/fits/1")
    assert 'id="person"' in again.text
    chances = model.predict_proba(person)[0]
    for decision in DECISIONS:
        assert f"{decision['words']} {100 * chances[int(str(decision['label']))]:.1f} %" in page
    assert f"{100 * model.predict_value(person)[0]:.1f} of 100 points" in page


def test_the_report_has_a_table_of_the_decisions(console: Operating, study: StudyFolder) -> None:
    assert console.get("/fits/1/report").status_code == 200
    folder = job_folder(study.path, 1)
    english, german = (
        visible((folder / name).read_text(encoding="utf-8")) for name in ("report.html", "report.de.html")
    )
    assert "What is decided" in english
    assert "sent home under conditions" in english
    assert "Was entschieden wird" in german


def test_models_are_compared(console: Operating) -> None:
    page = visible(console.get("/fits/compare?a=1&b=1").text)
    assert "Wrong with the answers" in page
    assert "The good outcome" not in page


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"favorable_label": "0"}, "The study says how good each decision is"),
        ({"group_rules": [{"rate": "error", "bound": 0.1, "column": "town"}]}, "may be impossible to keep"),
    ],
)
def test_what_several_decisions_do_not_go_with(study: StudyFolder, asked: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        FitChoices.checked({"name": "x", **asked}, study)


def test_two_outcomes_need_a_good_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Say which of the two outcomes is the good one"):
        FitChoices.checked({"name": "x"}, study_of(tmp_path))
