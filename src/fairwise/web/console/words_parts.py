"""The parts of a study that are words: its texts, and its settings' words in another language."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairwise.study.editions import CONSENT, SETTINGS, TASK, named
from fairwise.study.languages import language
from fairwise.study.texts import LONGEST, left_to_fill_in
from fairwise.study.translations import Translation, draft_words, written
from fairwise.web.console.fields import Field, Group, Part, put
from fairwise.web.console.settings_parts import BUTTONS, SAID

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fairwise.study.settings import StudySettings
    from fairwise.web.shared.forms import Form


class TranslationPart(Part):
    """The words in another language."""

    def __init__(self, home: Path, settings: StudySettings, code: str) -> None:
        super().__init__(home, settings)
        self.code = code
        self.name = f"words-{code}"
        self.files = (named(SETTINGS, code),)
        self.title = f"Words: {language(code).name}"
        self.about = "What you leave empty is read as it stands in grey, in the first language where it is not ours."

    def _groups(self) -> Sequence[Group]:
        usual = draft_words(self.settings, self.code)
        said = [
            self._field(name, label, usual[name], kind="text" if name == "question" else "line")
            for name, label in (
                *((one.path, one.label) for one in SAID),
                ("relation_question", "Question about relations"),
            )
            if usual[name]
        ]
        buttons = [self._field(f"answer_words.{name}", words, usual["answer_words"][name]) for name, words in BUTTONS]
        relations = [
            self._field(f"relations.{k}", relation["name"], relation["words"])
            for k, relation in enumerate(usual["relations"])
        ]
        columns = [
            Group(
                column["name"],
                [
                    self._field(f"columns.{k}.{what}", words, column[what])
                    for what, words in (("label", "Label"), ("unit", "Unit"))
                    if column[what]
                ],
            )
            for k, column in enumerate(usual["columns"])
        ]
        groups = (Group("", said), Group("What the buttons say", buttons), Group("Relations", relations), *columns)
        return [group for group in groups if group.fields]

    def _field(self, path: str, label: str, usual: str, **more: Any) -> Field:
        longest = 20_000 if path == "question" else 500
        return Field(path, label, hint=usual, optional=True, longest=longest, **more)

    def _content(self) -> Any:
        given = Translation.read(self.home / self.files[0], self.settings).model_dump()
        return {
            **given,
            "relations": [given["relations"].get(relation.name) for relation in self.settings.relations],
            "columns": [given["columns"].get(column.name) or {} for column in self.settings.columns],
        }

    def changes(self, form: Form, *, locked: bool) -> dict[str, str]:
        del locked  # what decides about pairs is what the first language says
        content = self._content()
        for one in self.fields:
            put(content, one.path, one.read(form) or None)
        content["relations"] = {
            relation.name: words
            for relation, words in zip(self.settings.relations, content["relations"], strict=True)
            if words
        }
        content["columns"] = {
            column.name: {what: words for what, words in given.items() if words}
            for column, given in zip(self.settings.columns, content["columns"], strict=True)
            if any(given.values())
        }
        new = written(Translation.checked(content, self.files[0]), self.settings)
        old = written(Translation.read(self.home / self.files[0], self.settings), self.settings)
        return {} if new == old else {self.files[0]: new}


class TextPart(Part):
    """A text in Markdown."""

    template = "text"

    def __init__(self, home: Path, settings: StudySettings, document: str, code: str) -> None:
        super().__init__(home, settings)
        own = code == settings.languages[0]
        self.document, self.code = document, code
        file = {"consent": CONSENT, "task": TASK}[document]
        self.files = (named(file, None if own else code),)
        self.name = document if own else f"{document}-{code}"
        title = {"consent": "Consent", "task": "Task"}[document]
        self.title = title if len(settings.languages) == 1 else f"{title}: {language(code).name}"
        self.about = {
            "consent": "What participants read before they agree to take part.",
            "task": "What participants read about the task; how the buttons work is explained below it.",
        }[document]

    def _groups(self) -> Sequence[Group]:
        return (Group("", (Field("text", "Text", "text", longest=LONGEST + 1),)),)

    def _content(self) -> Any:
        file = self.home / self.files[0]
        return {"text": file.read_text(encoding="utf-8-sig") if file.exists() else ""}

    @property
    def to_fill_in(self) -> tuple[str, ...]:
        return left_to_fill_in(self.values["text"])

    def changes(self, form: Form, *, locked: bool) -> dict[str, str]:
        del locked
        text = form.text("text", LONGEST + 1)
        return {} if text == self.values["text"].strip() else {self.files[0]: f"{text}\n"}
