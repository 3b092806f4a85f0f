"""What a notebook shows: well-formed, escaped, without scripts and addresses, and true."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pandas as pd
import pytest
from fairlearn.reductions import DemographicParity
from sklearn import config_context

from fairwise import Judgments, PairwiseFairClassifier, audit, notebook
from fairwise.datasets import make_people
from fairwise.learning.model import description
from fairwise.results.certificate import Certificate
from fairwise.simulation import simulate_panel

TAGS = {"div", "style", "section", "h4", "p", "ul", "li", "table", "thead", "tbody", "tr", "th", "td"}
NASTY = "<script>alert('x')</script> & \"b\""


@pytest.fixture(scope="module")
def fitted() -> dict[str, Any]:
    people, outcome = make_people(60, 3, seed=5)
    judgments = simulate_panel(people, n_judges=3, n_pairs=8, answers="four", seed=2)
    model = PairwiseFairClassifier(
        "tree", max_depth=1, gamma=0.1, favorable_label=1, judge_budgets={judgments.judges[0]: 0.5}
    )
    return {"people": people, "judgments": judgments, "model": model.fit(people, outcome, judgments=judgments)}


def read(html: str) -> ET.Element:
    """The page, if it is well-formed and brings nothing but itself."""
    root = ET.fromstring(html)
    for element in root.iter():
        assert element.tag in TAGS
        assert set(element.attrib) <= {"class"}
    assert "http" not in html
    assert "url(" not in html
    return root


def words(root: ET.Element) -> str:
    return " ".join(element.text or "" for element in root.iter() if element.tag != "style")


def numbers(root: ET.Element) -> dict[str, str]:
    """The first right-aligned cell of each line of the tables, by what stands before it."""
    lines = [row for row in root.iter("tr") if row.find("td[@class='number']") is not None]
    return {row[0].text or "": row.findtext("td[@class='number']") or "" for row in lines}


def test_whatever_it_is_given_is_shown_and_not_run() -> None:
    html = notebook.page(
        notebook.section(
            NASTY,
            notebook.paragraph(NASTY),
            notebook.notice(NASTY),
            notebook.bullets([NASTY]),
            notebook.table([[NASTY, NASTY]], head=[NASTY, NASTY]),
            warn=True,
        )
    )
    root = read(html)
    assert "<script" not in html
    assert [element.text for element in root.iter() if element.text].count(NASTY) == 8


def test_a_certificate_says_its_numbers_and_what_they_prove(fitted: dict[str, Any]) -> None:
    certificate: Certificate = fitted["model"].certificate_
    root = read(certificate._repr_html_())
    assert numbers(root)["Error on the training people"] == f"{certificate.error:.4f}"
    assert numbers(root)["Proven lower bound"] == f"{certificate.lower_bound:.4f}"
    assert f"Proved: no mixture of {certificate.hypothesis_class}" in words(root)
    assert "Not proved: anything about other people" in words(root)


def test_a_certificate_without_a_proof_claims_none(fitted: dict[str, Any]) -> None:
    heuristic = replace(fitted["model"].certificate_, kind="heuristic", warnings=(NASTY,))
    root = read(heuristic._repr_html_())
    assert root.find("section[@class='open']") is not None
    assert "Proven lower bound" not in numbers(root)
    assert "Proved" not in words(root)
    assert [notice.text for notice in root.iter("p") if notice.get("class") == "notice"] == [NASTY]


def test_judgments_are_counted_by_answer(fitted: dict[str, Any]) -> None:
    judgments: Judgments = fitted["judgments"]
    root = read(judgments._repr_html_())
    assert {name: int(count) for name, count in numbers(root).items()} == judgments.counts().sum().to_dict()
    assert "24 judgments of 3 simulated judges" in words(root)


def test_judgments_of_real_people_and_of_nobody() -> None:
    said = [{"judge": NASTY, "a": 1, "b": 2, "answer": "same", "design": design} for design in ("uniform", "check")]
    html = Judgments(said)._repr_html_()
    assert "1 judgment of 1 judge" in words(read(html))
    assert "Not counted: 1 row" in html
    assert "0 judgments of 0 judges" in words(read(Judgments([])._repr_html_()))


def test_an_audit_shows_values_intervals_and_the_worst_pairs() -> None:
    said = Judgments([{"judge": "u", "a": NASTY, "b": "Blake", "answer": "a_at_least_b"}])
    result = audit(pd.Series({NASTY: 0.5, "Blake": 0.8}), said, gamma=0.1, favorable_label=1)
    root = read(result._repr_html_())
    assert numbers(root)["Largest violation of a pair"] == "0.3000"
    assert [item.text for item in root.iter("li")] == result.worst(3)
    assert root.find("section[@class='open']") is not None


def test_a_model_shows_scikit_learns_diagram_and_itself(fitted: dict[str, Any]) -> None:
    model: PairwiseFairClassifier = fitted["model"]
    html = model._repr_html_()
    summary = description.to_html(model)
    assert html.endswith(summary)
    assert "sk-top-container" in html
    text = words(read(summary))
    assert f"by lot among {len(model.weights_)} rules" in text
    assert "24 of simulated judges; " in text
    assert "mean excess limited for 1 single judge" in text
    assert fitted["judgments"].judges[0] not in summary  # nobody by name


def test_group_rules_have_a_table_of_their_own(fitted: dict[str, Any]) -> None:
    people = fitted["people"]
    group = pd.Series(["<b>", "c"] * (len(people) // 2), index=people.index)
    outcome = pd.Series([0, 1, 1, 0] * (len(people) // 4), index=people.index)
    rule = PairwiseFairClassifier("tree", max_depth=1, group_constraints=[DemographicParity(difference_bound=0.1)])
    model = rule.fit(people, outcome, sensitive_features=group)
    shown = numbers(read(description.to_html(model)))
    assert {name: shown[name] for name in model.group_rules_["rule"]} == {
        name: f"{value:.4f}"
        for name, value in zip(model.group_rules_["rule"], model.group_rules_["value"], strict=True)
    }


def test_before_a_fit_and_as_text_there_is_scikit_learns_own(fitted: dict[str, Any]) -> None:
    assert 'class="fairwise"' not in PairwiseFairClassifier()._repr_html_()
    with config_context(display="text"):
        assert not hasattr(fitted["model"], "_repr_html_")
        assert "text/html" not in fitted["model"]._repr_mimebundle_()


def test_a_loaded_model_is_shown_too(fitted: dict[str, Any], tmp_path: Path) -> None:
    fitted["model"].save(tmp_path / "model.skops")
    loaded = PairwiseFairClassifier.load(tmp_path / "model.skops")
    assert "prices_" not in dir(loaded)
    assert {"prices_", "weights_"} <= set(dir(fitted["model"]))
    assert "What is proved" in loaded._repr_html_()
    assert ("Judgments", "24 of simulated judges") in description.facts(loaded)
