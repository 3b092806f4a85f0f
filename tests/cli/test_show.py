"""``fairwise show``: what is printed is what the model's own rules and explanations say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.support.rule_reader import RuleReader

from fairwise import PairwiseFairClassifier

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Study
    from typer.testing import Result


def test_what_is_printed_decides_as_the_model(study: Study, run: Callable[..., Result], model: Path) -> None:
    printed = run("show", model).stdout
    fitted = PairwiseFairClassifier.load(model)
    assert printed == f"{fitted.rules_}\n"
    people = study.people_frame().set_index("person")[["age", "score", "town"]]
    read = RuleReader(printed.removesuffix("\n"))
    assert read.probability(people) == pytest.approx(fitted.predict_proba(people)[:, 1], abs=1e-12)


def test_one_person(study: Study, run: Callable[..., Result], model: Path) -> None:
    printed = run("show", model, "--person", "p7", *study.who).stdout
    person = study.people_frame().set_index("person").loc[["p7"], ["age", "score", "town"]]
    assert printed == f"{PairwiseFairClassifier.load(model).explain(person)}\n"
    assert printed.startswith("Person p7: ")


def test_json(study: Study, answer: Callable[..., dict[str, Any]], model: Path) -> None:
    fitted = PairwiseFairClassifier.load(model)
    told = answer("show", model)
    assert [rule["weight"] for rule in told["rules"]] == fitted.weights_.tolist()
    assert [rule["text"] for rule in told["rules"]] == [str(rule) for _, rule in fitted.rules_]
    assert told["classes"] == [0, 1]
    assert told["columns"] == fitted.rules_.columns.to_dict()
    one = answer("show", model, "--person", "p7", *study.who)
    person = study.people_frame().set_index("person").loc[["p7"], ["age", "score", "town"]]
    assert one["probability"] == fitted.predict_proba(person)[0, 1]
    assert len(one["rules"]) == len(fitted.weights_)


def test_what_cannot_be_shown(study: Study, run: Callable[..., Result], model: Path) -> None:
    assert "are needed together" in run("show", model, "--person", "p7", code=1).stderr
    assert "there is no person 'p70'" in run("show", model, "--person", "p70", *study.who, code=1).stderr
    assert "(did you mean 'p7'?)" in run("show", model, "--person", " p7", *study.who, code=1).stderr
    assert "not a fairwise model file" in run("show", study.people, code=1).stderr
    assert "no such file" in run("show", "none.skops", code=1).stderr
