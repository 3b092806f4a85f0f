"""Forms follow the settings: whatever a study can be told has its place in the editor, with the words of its field."""

from __future__ import annotations

import re
from typing import Any

import pytest

from fairwise.study.design import Amount, Arm, Decision, OutcomeWords
from fairwise.study.questions import Question
from fairwise.study.recruitment import Relation
from fairwise.study.settings import ShownColumn, StudySettings
from fairwise.study.texts import available
from fairwise.study.toml import SettingError
from fairwise.web.console.settings_form import FormField, SettingsSection, value_at
from fairwise.web.console.study_editor import sections_of
from fairwise.web.shared.requests import Form

NOWHERE = {"design.stratified", "design.strata", "columns.name", "columns.alt"}
"""Chosen when the study is made, and not changed in the console."""

QUESTION = {"name": "town", "words": "Where?", "options": ["Here", "There"]}
OF_THE_FORM_ALONE = {
    "columns.place",
    "questions.place",
    "questions.remove",
    *(f"also.{code}" for code in available() if code != "en"),
}


def every_setting() -> set[str]:
    tables = {name: field.annotation for name, field in StudySettings.model_fields.items()}
    tables |= {"decisions": Decision, "amount": Amount, "outcome_words": OutcomeWords, "relations": Relation}
    tables |= {"arms": Arm, "questions": Question, "columns": ShownColumn}
    inner = {name: getattr(table, "model_fields", {}) for name, table in tables.items() if name != "languages"}
    return {f"{name}.{one}" for name, fields in inner.items() for one in fields} | {
        name for name, fields in inner.items() if not fields
    }


def test_every_setting_is_in_one_section_of_the_editor(make_study: Any) -> None:
    sections = [
        one for one in sections_of(make_study(questions=[QUESTION]).path).values() if isinstance(one, SettingsSection)
    ]
    paths = [{re.sub(r"\.\d+", "", field.path) for field in section.fields} for section in sections]
    asked = set.union(*paths)
    assert asked == every_setting() - NOWHERE | OF_THE_FORM_ALONE
    assert sum(map(len, paths)) == len(asked)


@pytest.mark.parametrize(
    ("path", "kind", "optional", "longest"),
    [
        ("title", "line", False, 500),
        ("question", "text", False, 20_000),
        ("contact", "line", True, 300),
        ("practice", "yes", False, 500),
        ("pairs", "number", False, 500),
        ("answers", "one_of", False, 500),
        ("recruitment.panel_keys", "text", True, 20_000),
        ("relations.1.most", "number", True, 500),
        ("columns.0.unit", "line", True, 40),
        ("questions.0.name", "line", False, 40),
        ("questions.0.kind", "one_of", False, 500),
        ("questions.0.options", "lines", True, 10_000),
        ("questions.0.least", "number", True, 500),
        ("decisions.1.value", "decimal", False, 500),
        ("amount.better", "one_of", False, 500),
    ],
)
def test_what_is_asked_for_follows_from_type_and_bounds(path: str, kind: str, optional: bool, longest: int) -> None:
    field = FormField.at(path)
    assert (field.kind, field.optional, field.longest) == (kind, optional, longest)


def test_a_value_comes_back_as_it_was() -> None:
    content = {"pairs": 7, "practice": True, "ask_why": False, "relations": [{"name": "a", "most": None}]}
    for path in ("pairs", "practice", "ask_why", "relations.0.name", "relations.0.most"):
        field = FormField.at(path)
        text = field.text_of(content)
        form = Form({path: text} if text else {})
        assert field.read(form) == value_at(content, path)
    with pytest.raises(SettingError, match="Pairs for each participant: '-1' is not a whole number"):
        FormField.at("pairs").read(Form({"pairs": "-1"}))
