"""A study in which an amount is decided, from the answers in its database to the report and the pages of its model."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from tests.jobs.test_three_decisions import visible
from tests.support.fitting import answered, made_here, study_of
from tests.support.operating import operating

from fairwise.errors import InputError
from fairwise.languages import Language
from fairwise.learning.regressor import PairwiseFairRegressor
from fairwise.store.fit_files import MODEL, PRICES, Fitted, job_folder
from fairwise.store.jobs import find_job
from fairwise.study.fit_choices import FitChoices
from fairwise.study.texts import language as participants_language
from fairwise.web.console.base import console_language
from fairwise.web.shared.pages import Pages
from fairwise.web.shared.views import result_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.operating import Operating

    from fairwise.study.folder import StudyFolder

pytestmark = pytest.mark.slow
AMOUNT = {"unit": "DM", "least": 0, "most": 10_000, "better": "more"}
BETTER_BY = 20.0
"""By so much the worst group is to be better off than without a rule about groups."""
FORM = {"estimator": "tree", "max_depth": "2", "gamma": "0.05", "eta": "0.01", "aim": "own"}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> StudyFolder:
    return study_of(tmp_path_factory.mktemp("amounts"), amount=AMOUNT, treated_well="getting a larger amount")


def learned(study: StudyFolder, opened: Operating, **form: str) -> None:
    """Ask for a model in the console, and learn it."""
    page = opened.post("/fits", **{**FORM, **form})
    assert page.url.path.startswith("/admin/fits/"), visible(page.text)
    made_here(study, opened.site.host.store)


def errors_by_town(study: StudyFolder, job: int) -> pd.Series[float]:
    found = Fitted.of(study.path, job)
    assert found is not None
    return pd.Series(found.wrong).groupby(study.people()["town"]).mean()


@pytest.fixture(scope="module")
def console(study: StudyFolder) -> Iterator[Operating]:
    """Where somebody asked for three models, which were learned; the last with a rule about groups."""
    with operating(study.path, study.path / "study.sqlite") as opened:
        opened.set_up()
        answered(study, opened.site.host.store, 5)
        learned(study, opened, name="Lend")
        learned(study, opened, name="Lines", estimator="linear-regression", predicted="20", weighted="yes")
        bound = f"{errors_by_town(study, 1).max() - BETTER_BY:.1f}"
        learned(study, opened, name="Alike", column="town", bound1=bound)
        yield opened


@pytest.fixture(scope="module")
def model(study: StudyFolder, console: Operating) -> PairwiseFairRegressor:
    del console
    files = job_folder(study.path, 1)
    return PairwiseFairRegressor.load(files / MODEL, prices=files / PRICES)


@pytest.fixture(scope="module")
def fitted(study: StudyFolder, console: Operating) -> Fitted:
    del console
    found = Fitted.of(study.path, 1)
    assert found is not None
    return found


def read(console: Operating, path: str, language: str = "en") -> str:
    page = console.get(path, headers={"accept-language": language})
    assert page.status_code == 200
    return visible(page.text).replace("\N{NO-BREAK SPACE}", " ")


def written(amount: float, language: Language | None = None) -> str:
    """An amount as a page says it, with any space before its unit."""
    return f"{(language or console_language('en')).quantity(amount)} DM"


def test_numbers_are_those_of_the_model(study: StudyFolder, model: PairwiseFairRegressor, fitted: Fitted) -> None:
    people, outcome = study.people(), study.outcome().to_numpy(dtype=float)
    assert (model.outcome_range, model.larger_is_better, model.loss) == ((0, 10_000), True, "absolute")
    assert list(fitted.good) == list(people.index)
    assert list(fitted.good.values()) == pytest.approx((model.predict(people) / 10_000).tolist())
    assert fitted.wrong is not None
    drawn = (model.amount_probabilities(people) * np.abs(model.amounts_ - outcome[:, None])).sum(axis=1)
    assert list(fitted.wrong.values()) == pytest.approx(drawn.tolist())
    certificate = fitted.summary.certificate
    assert np.mean(drawn) == pytest.approx(certificate.error)
    assert np.abs(model.predict(people) - outcome).mean() == pytest.approx(certificate.mean_error)
    assert certificate.error - certificate.lower_bound <= 1e-4 * 10_000 + 1e-9
    own = fitted.own_place
    assert own is not None
    assert fitted.frontier[own].error == pytest.approx(certificate.error)
    errors = [point.error for point in fitted.frontier]
    assert len(errors) > 2
    assert all(one >= other - 2.0 for one, other in pairwise(errors))  # each to 1e-4 of the range
    assert fitted.summary.error_without_judgments <= errors[0] + 2.0
    assert (fitted.influence, fitted.summary.decisions) == (None, ())
    measured = fitted.summary.held_out
    assert measured is not None
    assert measured.low < measured.error < measured.high


def test_less_may_be_better(tmp_path_factory: pytest.TempPathFactory) -> None:
    study = study_of(tmp_path_factory.mktemp("fines"), amount={**AMOUNT, "better": "less"}, treated_well="a low fine")
    with operating(study.path, study.path / "study.sqlite") as opened:
        opened.set_up()
        answered(study, opened.site.host.store, 3)
        learned(study, opened, estimator="linear-regression")
        found, files = Fitted.of(study.path, 1), job_folder(study.path, 1)
        model = PairwiseFairRegressor.load(files / MODEL)
        assert found is not None
        given = model.predict(study.people())
        assert list(found.good.values()) == pytest.approx((1 - given / 10_000).tolist())
        amount = study.settings.amount
        assert amount is not None
        assert [amount.amount(value) for value in found.good.values()] == pytest.approx(given.tolist())


def test_what_is_asked_for(console: Operating) -> None:
    page = read(console, "/fits/new")
    assert "Amounts are from 0 to 10,000 DM" in page
    assert "the amounts of the two may differ by 1,000 DM" in page
    assert "Linear regression" in page
    assert "Mean error of each group, at most (DM)" in page
    for other in (
        "Which outcome is the good one?",
        "What must be alike",
        "By lot",
        "Logistic",
        "What each participant",
    ):
        assert other not in page


def test_the_page_of_the_model(console: Operating, study: StudyFolder, fitted: Fitted) -> None:
    page, certificate = read(console, "/fits/1"), fitted.summary.certificate
    error, _ = fitted.summary.compared
    assert f"Mean error {written(error)} with the answers, on new people" in page
    assert f"{written(certificate.error)} on those it was learned from" in page
    assert f"{written(certificate.mean_error)} of the mean that people are given" in page
    assert f"below {written(certificate.lower_bound)}. That of this model is {written(certificate.error)}" in page
    good, wrong = pd.Series(fitted.good), pd.Series(fitted.wrong)
    people, outcome = study.people(), study.outcome()
    for town in ("North", "South"):
        those = people.index[people["town"] == town]
        means = 10_000 * good[those].mean(), outcome[those].mean(), wrong[those].mean()
        assert f"{town} {len(those)} {' '.join(map(console_language('en').quantity, means))}" in page
    for other in ("in 100", "Wrong", "probability", "By lot", "by lot", "What each participant changes", "Chance"):
        assert other not in page
    german = read(console, "/fits/1", "de")
    assert f"Mittlerer Fehler {written(error, console_language('de'))} mit den Antworten, bei neuen Menschen" in german


@pytest.mark.parametrize("path", ["/fits", "/fits/2", "/fits/compare?a=1&b=2", "/results"])
def test_no_page_counts_wrong_decisions(console: Operating, fitted: Fitted, path: str) -> None:
    console.post("/fits/1/choose")
    page = read(console, path)
    assert "Wrong" not in page
    assert "decisions in 100" not in page
    error = fitted.summary.compared[0] if path == "/results" else fitted.summary.certificate.error
    assert path == "/fits/2" or written(error) in page


def test_two_models_are_compared(console: Operating, study: StudyFolder, fitted: Fitted) -> None:
    other = Fitted.of(study.path, 2)
    assert other is not None
    one, two = fitted.summary.certificate.error, other.summary.certificate.error
    sign = "+" if two > one else ""
    line = f"Mean error with the answers {written(one)} {written(two)} {sign}{written(two - one)}"
    assert line in read(console, "/fits/compare?a=1&b=2")


def test_a_person_is_given_an_amount(console: Operating, study: StudyFolder, model: PairwiseFairRegressor) -> None:
    person = study.people().iloc[[3]]
    values = {f"value-{place}": str(person[column.name].iloc[0]) for place, column in enumerate(study.settings.columns)}
    page = visible(console.post("/fits/1/score", **values).text).replace("\N{NO-BREAK SPACE}", " ")
    amount = model.predict(person)[0]
    assert f"gives this person {written(amount)} ." in page
    for said in model.explain(person).to_frame()["amount"]:
        assert f"% {written(said)}" in page


@pytest.mark.parametrize("language", ["en", "de"])
def test_what_participants_read(study: StudyFolder, console: Operating, fitted: Fitted, language: str) -> None:
    store, spoken = console.site.host.store, participants_language(language)
    job = store.read_now(lambda c: find_job(c, 1))
    assert job is not None
    found = store.read_now(lambda c: result_of(c, study, job, 1, "en"))
    assert found is not None
    page = visible(Pages(study.settings, "", "", spoken=spoken).render("result", None, result=found)).replace(
        "\N{NO-BREAK SPACE}", " "
    )
    summary = fitted.summary
    about = {
        "en": f"off by about {written(summary.certificate.error)} on average",
        "de": f"im Durchschnitt um etwa {written(summary.certificate.error, spoken)} daneben",
    }
    assert about[language] in page
    assert written(summary.error_without_judgments, spoken) in page
    assert "decisions" not in page


def test_a_point_of_the_frontier_is_learned(console: Operating) -> None:
    assert console.post("/fits/1/point", at="0").url.path == "/admin/fits/4"


def test_no_group_is_missed_by_more_than_asked_for(console: Operating, study: StudyFolder) -> None:
    free, ruled = errors_by_town(study, 1), errors_by_town(study, 3)
    bound = round(free.max() - BETTER_BY, 1)
    assert ruled.max() <= bound + 1e-6 < free.max()
    assert f"mean error of each group: Town, at most {bound:,.1f} DM" in read(console, "/fits/3")
    german = console_language("de").number(bound, places=1)
    assert f"mittlerer Fehler jeder Gruppe: Town, höchstens {german} DM" in read(console, "/fits/3", "de")
    assert "Rules about groups none" in read(console, "/fits/1")


@pytest.mark.parametrize("bound", ["1,500", "many"])
def test_a_bound_that_could_be_two_numbers_is_none(console: Operating, bound: str) -> None:
    page = console.post("/fits", **{**FORM, "column": "town", "bound1": bound})
    assert page.status_code == 422
    assert f"The mean error of a group: '{bound}' is no number" in visible(page.text)


def test_the_report_tells_of_amounts(console: Operating, study: StudyFolder, fitted: Fitted) -> None:
    assert console.get("/fits/1/report").status_code == 200
    folder = job_folder(study.path, 1)
    english = visible((folder / "report.html").read_text(encoding="utf-8")).replace("\N{NO-BREAK SPACE}", " ")
    assert written(fitted.summary.certificate.error) in english
    assert written(fitted.summary.certificate.mean_error) in english
    assert "wrong decisions in 100" not in english.lower()


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"favorable_label": "0"}, "says which amounts are better"),
        ({"deterministic": True}, "without a lot"),
        ({"group_rules": [{"rate": "dp", "bound": 0.1, "column": "town"}]}, "Amounts have no rates"),
        ({"group_rules": [{"rate": "error", "bound": -1, "column": "town"}]}, "A rule for groups needs"),
        ({"estimator": "logistic"}, "must be one of tree, linear-regression"),
    ],
)
def test_what_amounts_do_not_go_with(study: StudyFolder, asked: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        FitChoices.checked({"name": "x", "estimator": "tree", **asked}, study)


def test_linear_regression_is_for_amounts(tmp_path_factory: pytest.TempPathFactory) -> None:
    labels = study_of(tmp_path_factory.mktemp("labels"))
    with pytest.raises(InputError, match="must be one of tree, linear, logistic"):
        FitChoices.checked({"name": "x", "estimator": "linear-regression", "favorable_label": "0"}, labels)
