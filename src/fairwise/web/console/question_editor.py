"""The part of the editor in which a study gets questions of its own: added, moved, taken out, and seen beforehand."""

from __future__ import annotations

from collections.abc import Sequence

from fairwise.errors import InputError
from fairwise.study.languages import language, marked
from fairwise.study.questions import MOST_QUESTIONS, Question, asked
from fairwise.study.settings import StudySettings
from fairwise.study.toml import Plain
from fairwise.web.console.section import SettingsSection
from fairwise.web.console.settings_form import FormField, Group, group_of
from fairwise.web.shared.pages import Pages
from fairwise.web.shared.questions import asked_again
from fairwise.web.shared.views import OwnPages

_LAST, _NEW = 10**6, marked("One more question")
_TYPED = ("name", "words", "options", "least", "most")
"""What is empty of a question that nobody has begun to write."""


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
        rows = [_group(k, question.name) for k, question in enumerate(self.settings.questions)]
        return rows if there >= MOST_QUESTIONS else [*rows, _group(there, _NEW)]

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


def _group(k: int, title: str) -> Group:
    group = group_of(title, [f"questions.{k}.{name}" for name in Question.model_fields])
    place = FormField(f"questions.{k}.place", marked("Place"), "number", optional=True)
    remove = FormField(f"questions.{k}.remove", marked("Take this question out"), "yes", locked=True)
    return Group(group.title, [*group.fields, place, *([remove] if title != _NEW else [])])


def questions_preview(settings: StudySettings, prefix: str, own: OwnPages, when: str) -> str:
    """The page of the questions before the pairs, or after them; an InputError says that there are none."""
    found = asked(settings.questions, when)
    if not found:
        raise InputError(
            marked("There are no questions after the pairs yet.")
            if when == "after"
            else marked("There are no questions before the pairs yet.")
        )
    pages = Pages(settings, "", "", prefix, spoken=language(settings.languages[0]))
    return pages.questions(own, asked_again(found, {}), after=when == "after")
