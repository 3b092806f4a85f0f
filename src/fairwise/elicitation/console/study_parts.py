"""The parts in which a study is edited: its settings by topic, its words in each language, and its texts."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from fairwise.elicitation.arrivals import PANELS
from fairwise.elicitation.console.choices import KINDS
from fairwise.elicitation.console.fields import Field, Group, put
from fairwise.elicitation.editions import CONSENT, SETTINGS, TASK, named
from fairwise.elicitation.languages import available, language
from fairwise.elicitation.settings import StudySettings
from fairwise.elicitation.texts import LONGEST, left_to_fill_in
from fairwise.elicitation.translations import Translation, draft_words, written

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from fairwise.elicitation.web.forms import Form

_BUTTONS = (
    ("same", "Button: the same"),
    ("a_at_least_b", "Button: A at least as well as B"),
    ("b_at_least_a", "Button: B at least as well as A"),
    ("no_constraint", "Button: either may be treated better"),
)
_BLANK_RELATIONS = 3


class Part(ABC):
    """Something that is saved by itself."""

    template: ClassVar[str] = "part"
    name: str
    title: str
    about: str = ""
    files: Sequence[str]
    """Which files are changed with it; the first is what it is about."""

    def __init__(self, home: Path, settings: StudySettings) -> None:
        self.home, self.settings = home, settings

    @cached_property
    def groups(self) -> Sequence[Group]:
        return self._groups()

    @property
    def fields(self) -> list[Field]:
        return [one for group in self.groups for one in group.fields]

    @cached_property
    def values(self) -> dict[str, str]:
        """What the form says before anything is changed."""
        return {one.path: one.shown(self._content()) for one in self.fields}

    @property
    def token(self) -> str:
        """Says whether it is still as it was when the form was made."""
        return hashlib.sha256(json.dumps(self.values, sort_keys=True).encode()).hexdigest()[:24]

    @abstractmethod
    def _groups(self) -> Sequence[Group]: ...

    @abstractmethod
    def _content(self) -> Any: ...

    @abstractmethod
    def changes(self, form: Form, *, locked: bool) -> dict[str, str]:
        """Return the files that change, with what they will say; an InputError names what is wrong."""


class SettingsPart(Part):
    """Some of the settings."""

    def __init__(self, home: Path, settings: StudySettings) -> None:
        super().__init__(home, settings)
        self.files = (SETTINGS, *(named(SETTINGS, code) for code in settings.languages[1:]))

    def _content(self) -> Any:
        return self.settings.model_dump(mode="json")

    def changes(self, form: Form, *, locked: bool) -> dict[str, str]:
        content = self._content()
        for one in self.fields:
            if not (one.locked and locked):
                put(content, one.path, one.read(form))
        new = StudySettings.checked(self._completed(content, form), "study")
        changed = {SETTINGS: new.toml()} if new != self.settings else {}
        return changed | self._translations_without_what_is_gone(new)

    def _completed(self, content: dict[str, Any], form: Form) -> dict[str, Any]:  # noqa: ARG002 - for parts that need it
        return content

    def _translations_without_what_is_gone(self, new: StudySettings) -> dict[str, str]:
        names = {relation.name for relation in new.relations}
        files = {}
        for code in new.languages[1:]:
            name = named(SETTINGS, code)
            given = Translation.read(self.home / name, self.settings)
            kept = {one: words for one, words in given.relations.items() if one in names}
            if kept != given.relations:
                files[name] = written(given.model_copy(update={"relations": kept}), new)
        return files


class WordsPart(SettingsPart):
    name, title = "words", "Words"
    about = "Title, question, what the buttons say. They can be corrected at any time."

    def _groups(self) -> Sequence[Group]:
        buttons = [Field(f"answer_words.{name}", words) for name, words in _BUTTONS if self._is_used(name)]
        return (Group("", _SAID), Group("What the buttons say", buttons))

    def _is_used(self, name: str) -> bool:
        return any(name == answer.value for answer in self.settings.allowed_answers)


_SAID = (
    Field("title", "Name of the study", hint="At the top of every page."),
    Field("question", "The question about every pair", "text", longest=20_000),
    Field("treated_well", "The favourable outcome, in words", hint="What it means here to be treated well."),
    Field("contact", "Whom participants may write to", optional=True, longest=300),
)


class ColumnsPart(SettingsPart):
    name, title = "columns", "What is shown of people"
    about = "Labels can be corrected at any time. To show other columns, make a new study in another folder."

    def _groups(self) -> Sequence[Group]:
        return [
            Group(
                column.name,
                (
                    Field(f"columns.{k}.label", "Label"),
                    Field(f"columns.{k}.unit", "Unit", optional=True, locked=True, longest=40),
                    Field(f"columns.{k}.place", "Place", "number", locked=True),
                ),
            )
            for k, column in enumerate(self.settings.columns)
        ]

    def _content(self) -> Any:
        content = super()._content()
        for place, column in enumerate(content["columns"], start=1):
            column["place"] = place
        return content

    def _completed(self, content: dict[str, Any], form: Form) -> dict[str, Any]:
        del form
        columns = sorted(content["columns"], key=lambda column: column.pop("place"))  # of equals the first stays first
        return {**content, "columns": columns}


class PairsPart(SettingsPart):
    name, title = "pairs", "Pairs and answers"
    about = "How many pairs of which kind, and which answers."

    def _groups(self) -> Sequence[Group]:
        kinds = [
            Field(f"design.{kind}", words, "number", hint[:1].upper() + hint[1:] + ".", locked=True)
            for kind, words, hint in KINDS
        ]
        answers = (("four", "all four"), ("two", "two: the same, or either may be treated better"))
        return (
            Group(
                "",
                (
                    Field("pairs", "Pairs for each participant", "number", "From 1 to 1000.", locked=True),
                    Field("answers", "Answers", "one_of", options=answers, locked=True),
                    Field(
                        "seed", "Seed", "number", "Any whole number; from it follows who is shown which.", locked=True
                    ),
                ),
            ),
            Group("Of these, not uniform", kinds),
            Group(
                "Anchors",
                (
                    Field(
                        "design.anchor_pool",
                        "Anchor pairs in all",
                        "number",
                        "0: as many as everyone is shown, so that all are shown the same.",
                        locked=True,
                    ),
                    Field("design.anchor_people", "People for each anchor pair", "number", "Who finish it."),
                    Field(
                        "design.lease_hours",
                        "Hours without an answer",
                        "number",
                        "After these, the anchors of someone who left are given to someone else.",
                    ),
                ),
            ),
        )


class SwitchesPart(SettingsPart):
    name, title = "switches", "Switches"
    about = "What the pages ask and show beside the pairs."

    def _groups(self) -> Sequence[Group]:
        wanted = (
            ("practice", "A practice pair first, which does not count"),
            ("comprehension_check", "Questions about the buttons first, in at most two tries"),
            ("check_must_pass", "Whoever fails both tries is screened out"),
            ("mark_differences", "Mark the rows in which the two people differ"),
            ("ask_why", "A reason may be written beside every answer"),
            ("ask_confidence", "Participants may say how sure they are"),
            ("second_look", "A second look at the end, where answers contradict each other"),
        )
        return (Group("", [Field(name, words, "yes") for name, words in wanted]),)


class RelationsPart(SettingsPart):
    name, title = "relations", "Relations and quotas"
    about = (
        "What participants are to the decision: it is asked first, and kept with their answers. Leave everything empty "
        "to ask nobody; otherwise give two or more."
    )

    def _groups(self) -> Sequence[Group]:
        asked = Group("", (Field("relation_question", "The question"),))
        rows = [
            Group(
                f"Relation {k + 1}",
                (
                    Field(f"relations.{k}.name", "Short name", optional=True, longest=100),
                    Field(f"relations.{k}.words", "What participants read", optional=True),
                    Field(f"relations.{k}.most", "At most", "number", optional=True),
                ),
                "A short name under which it is kept, such as affected. At most so many people; empty: any number; "
                "0: screened out."
                if k == 0
                else "",
            )
            for k in range(len(self.settings.relations) + _BLANK_RELATIONS)
        ]
        return (asked, *rows)

    def _completed(self, content: dict[str, Any], form: Form) -> dict[str, Any]:
        del form
        given = [one for one in content["relations"] if one["name"] or one["words"] or one["most"] is not None]
        return {**content, "relations": given}


class RecruitmentPart(SettingsPart):
    name, title = "recruitment", "Who may take part"
    about = "How people come, how many of them, and where they go afterwards. Links and rooms have a page of their own."

    def _groups(self) -> Sequence[Group]:
        panels = (("", "none"), *PANELS.items())
        gaps = "{id}, {session} and {code} are filled in."
        return (
            Group(
                "",
                (
                    Field("recruitment.open", "Whoever has the address of the study may take part", "yes"),
                    Field(
                        "recruitment.most",
                        "At most so many people",
                        "number",
                        "Those who left are not counted. 0: any number.",
                    ),
                ),
            ),
            Group(
                "A panel that sends people",
                (
                    Field("recruitment.panel", "Panel", "one_of", options=panels),
                    Field(
                        "recruitment.completion_url",
                        "Where they go when they have finished",
                        hint=f"https://… {gaps}",
                        optional=True,
                        longest=1000,
                    ),
                    Field(
                        "recruitment.completion_code",
                        "Code that they are shown at the end",
                        hint="If empty, everyone is shown one of their own.",
                        optional=True,
                        longest=100,
                    ),
                    Field(
                        "recruitment.screened_out_url",
                        "Where those go who cannot take part",
                        hint=f"https://… {gaps}",
                        optional=True,
                        longest=1000,
                    ),
                ),
            ),
        )


class LanguagesPart(SettingsPart):
    name, title = "languages", "Languages"
    about = "In which languages participants may read the study; your own words are translated part by part."

    @property
    def _first(self) -> str:
        return self.settings.languages[0]

    def _groups(self) -> Sequence[Group]:
        others = [code for code in available() if code != self._first]
        about = f"The study is in {language(self._first).name}. Participants may also choose:"
        return (Group("", [Field(f"also.{code}", language(code).name, "yes") for code in others], about),)

    def _content(self) -> Any:
        return {**super()._content(), "also": {code: code in self.settings.languages for code in available()}}

    def _completed(self, content: dict[str, Any], form: Form) -> dict[str, Any]:
        del form
        also = content.pop("also")
        return {
            **content,
            "languages": [self._first, *(code for code in available() if also.get(code) and code != self._first)],
        }


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
                *((one.path, one.label) for one in _SAID),
                ("relation_question", "Question about relations"),
            )
            if usual[name]
        ]
        buttons = [self._field(f"answer_words.{name}", words, usual["answer_words"][name]) for name, words in _BUTTONS]
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


_OF_SETTINGS = (
    WordsPart,
    ColumnsPart,
    SwitchesPart,
    RelationsPart,
    RecruitmentPart,
    PairsPart,
    LanguagesPart,
)


def parts_of(home: Path) -> Mapping[str, Part]:
    """Every part of a study by its name, as its files are now."""
    settings = StudySettings.read(home / SETTINGS)
    parts: list[Part] = [
        *(TextPart(home, settings, document, code) for document in ("consent", "task") for code in settings.languages),
        *(kind(home, settings) for kind in _OF_SETTINGS),
        *(TranslationPart(home, settings, code) for code in settings.languages[1:]),
    ]
    return {part.name: part for part in parts}
