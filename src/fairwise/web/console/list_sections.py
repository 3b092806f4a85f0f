"""Sections of the study editor about lists: relations to the decision, arms, and a study's own questions.

Each has a form for every entry that there is, and for one or a few more; entries that are left empty are none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from fairwise.errors import InputError
from fairwise.study.design import MOST_ARMS, Arm
from fairwise.study.questions import MOST_QUESTIONS, Question, questions_on_page
from fairwise.study.recruitment import Relation
from fairwise.study.settings import StudySettings
from fairwise.study.texts import language, marked
from fairwise.study.toml import Plain, SettingError
from fairwise.web.console.section import SettingsSection, filled
from fairwise.web.console.settings_form import FormField, Group, group_of
from fairwise.web.shared.forms import asked_again
from fairwise.web.shared.pages import Pages
from fairwise.web.shared.views import OwnPages

_BLANK_RELATIONS = 3
_LAST, _NEW_QUESTION = 10**6, marked("One more question")
_TYPED = ("name", "words", "options", "least", "most")
"""What is empty of a question that nobody has begun to write."""
_COLUMNS = "columns"
_ARM_FIELDS = [name for name in Arm.model_fields if name != _COLUMNS]
_NEW_ARM = Arm(name="new").model_dump(mode="json") | {"name": ""}
_NOTHING_SHOWN = marked("at least one column must be shown")


class RelationsSection(SettingsSection):
    name, title = "relations", marked("Relations and quotas")
    about = marked(
        "What participants are to the decision: it is asked first, and kept with their answers. Leave everything empty "
        "to ask nobody; otherwise give two or more."
    )

    def _groups(self) -> Sequence[Group]:
        rows = [
            group_of(f"Relation {k + 1}", [f"relations.{k}.{name}" for name in Relation.model_fields], optional=True)
            for k in range(len(self.settings.relations) + _BLANK_RELATIONS)
        ]
        about = "A short name under which it is kept, such as applicant. At most so many people; empty: any number; "
        rows[0] = replace(rows[0], about=f"{about}0: screened out.")
        return (group_of("", "relation_question"), *rows)

    def _rows(self, content: Plain) -> tuple[str, list[int]]:
        return "relations", filled(content["relations"])


class ArmsSection(SettingsSection):
    name, title = "arms", marked("Arms")
    about = marked(
        "Groups to which chance assigns participants, each of which is shown something else. Leave everything empty "
        "for none; otherwise give two or more. What an arm does not change is as in the whole study."
    )

    def _groups(self) -> Sequence[Group]:
        return [*self._all_groups()]

    def _all_groups(self) -> Iterator[Group]:
        for k in range(len(self._content()["arms"])):
            yield group_of(f"Arm {k + 1}", [f"arms.{k}.{name}" for name in _ARM_FIELDS], optional=True)
            ticks = [
                FormField(f"arms.{k}.{_COLUMNS}.{j}", column.label, "yes", locked=True)
                for j, column in enumerate(self.settings.columns)
            ]
            yield Group(marked("Columns that are shown"), ticks)

    def _content(self) -> Plain:
        """With a tick for each column that an arm shows."""
        content = super()._content()
        new = min(2 if not content["arms"] else 1, MOST_ARMS - len(content["arms"]))
        content["arms"] = [
            arm | {_COLUMNS: [not arm[_COLUMNS] or column.name in arm[_COLUMNS] for column in self.settings.columns]}
            for arm in (*content["arms"], *(dict(_NEW_ARM) for _ in range(new)))
        ]
        return content

    def _rows(self, content: Plain) -> tuple[str, list[int]]:
        """Those in which something was said."""
        nothing = _NEW_ARM | {_COLUMNS: [True] * len(self.settings.columns)}
        return "arms", [k for k, row in enumerate(content["arms"]) if {**row, "share": row["share"] or 1} != nothing]

    def _settings(self, content: Plain) -> Plain:
        names = [column.name for column in self.settings.columns]
        for k, arm in enumerate(content["arms"]):
            ticks = arm[_COLUMNS]
            if not any(ticks):
                raise SettingError(f"arms: {_NOTHING_SHOWN}", f"arms.{k}.{_COLUMNS}.0", _NOTHING_SHOWN)
            arm[_COLUMNS] = [] if all(ticks) else [name for name, tick in zip(names, ticks, strict=True) if tick]
            arm["share"] = arm["share"] or 1
        return content


class QuestionsSection(SettingsSection):
    name, title = "questions", marked("Own questions")
    about = marked(
        "Whatever else you want to ask of everyone, once, on a page before or after the pairs. The last box is for one "
        "more question; leave it empty to add none."
    )
    previewed = True
    why_locked = marked(
        "Questions can be added, taken out or asked in another way only before the first participant begins, and not "
        "while the study is open. Their words, their order and whether they must be answered can be changed."
    )

    def _groups(self) -> Sequence[Group]:
        there = len(self.settings.questions)
        rows = [_question_group(k, question.name) for k, question in enumerate(self.settings.questions)]
        return rows if there >= MOST_QUESTIONS else [*rows, _question_group(there, _NEW_QUESTION)]

    def _content(self) -> Plain:
        content = super()._content()
        for place, question in enumerate(content["questions"], start=1):
            question["place"] = place
        return content

    def _rows(self, content: Plain) -> tuple[str, list[int]]:
        places, rows = [], []
        for k, row in enumerate(content["questions"]):
            place, is_out = row.pop("place", None), row.pop("remove", False)
            places.append(_LAST if place is None else place)
            if not is_out and any(row.get(name) not in ("", [], None) for name in _TYPED):
                rows.append(k)
        return "questions", sorted(rows, key=places.__getitem__)  # of equals the first stays first


def _question_group(k: int, title: str) -> Group:
    group = group_of(title, [f"questions.{k}.{name}" for name in Question.model_fields])
    place = FormField(f"questions.{k}.place", marked("Place"), "number", optional=True)
    remove = FormField(f"questions.{k}.remove", marked("Take this question out"), "yes", locked=True)
    return Group(group.title, [*group.fields, place, *([remove] if title != _NEW_QUESTION else [])])


def questions_preview(settings: StudySettings, prefix: str, own: OwnPages, when: str) -> str:
    """The page of the questions before the pairs, or after them; an InputError says that there are none."""
    found = questions_on_page(settings.questions, when)
    if not found:
        raise InputError(
            marked("There are no questions after the pairs yet.")
            if when == "after"
            else marked("There are no questions before the pairs yet.")
        )
    pages = Pages(settings, "", "", prefix, spoken=language(settings.languages[0]))
    return pages.questions(own, asked_again(found, {}), after=when == "after")
