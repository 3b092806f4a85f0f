"""Sections of the study editor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from fairwise.errors import InputError
from fairwise.messages import marked
from fairwise.study.deliberation import Deliberation
from fairwise.study.design import MOST_ARMS, OFFERED_KINDS, Arm
from fairwise.study.folder import CONSENT, PEOPLE, SETTINGS, TASK, named
from fairwise.study.questions import MOST_QUESTIONS, Question, questions_on_page
from fairwise.study.recruitment import Relation
from fairwise.study.settings import AnswerWords, StudySettings
from fairwise.study.texts import LONGEST, available, language, left_to_fill_in
from fairwise.study.toml import Plain, SettingError, without_empty
from fairwise.study.translations import KEYS, Translation, draft_words, words_in
from fairwise.tables.files import read_parquet
from fairwise.web.console.settings_form import (
    DecisionsSection,
    FormField,
    Group,
    Section,
    SettingsSection,
    filled,
    group_of,
    put,
    value_at,
)
from fairwise.web.shared.pages import Pages
from fairwise.web.shared.requests import Form, questions_with_values
from fairwise.web.shared.views import OwnPages

_BLANK_RELATIONS = 3
_LAST, _NEW_QUESTION = 10**6, marked("One more question")
_TYPED = ("name", "words", "options", "least", "most")
"""Fields that are empty in a new question."""
_COLUMNS = "columns"
_ARM_FIELDS = [name for name in Arm.model_fields if name != _COLUMNS]
_NEW_ARM = Arm(name="new").model_dump(mode="json") | {"name": ""}
_NO_COLUMNS = marked("at least one column must be shown")


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
        """Return the settings with a tick for each column of each group."""
        content = super()._content()
        new = min(2 if not content["arms"] else 1, MOST_ARMS - len(content["arms"]))
        content["arms"] = [
            arm | {_COLUMNS: [not arm[_COLUMNS] or column.name in arm[_COLUMNS] for column in self.settings.columns]}
            for arm in (*content["arms"], *(dict(_NEW_ARM) for _ in range(new)))
        ]
        return content

    def _rows(self, content: Plain) -> tuple[str, list[int]]:
        """Return the groups that are not empty."""
        nothing = _NEW_ARM | {_COLUMNS: [True] * len(self.settings.columns)}
        return "arms", [k for k, row in enumerate(content["arms"]) if {**row, "share": row["share"] or 1} != nothing]

    def _settings(self, content: Plain) -> Plain:
        names = [column.name for column in self.settings.columns]
        for k, arm in enumerate(content["arms"]):
            ticks = arm[_COLUMNS]
            if not any(ticks):
                raise SettingError(f"arms: {_NO_COLUMNS}", f"arms.{k}.{_COLUMNS}.0", _NO_COLUMNS)
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
    page = questions_on_page(settings.questions, when)
    if not page:
        raise InputError(
            marked("There are no questions after the pairs yet.")
            if when == "after"
            else marked("There are no questions before the pairs yet.")
        )
    pages = Pages(settings, "", "", prefix, spoken=language(settings.languages[0]))
    return pages.render("questions", own, asked=questions_with_values(page, {}), after=when == "after")


class WordsSection(SettingsSection):
    name, title = "words", marked("Words")
    about = marked("Title, question, what the buttons say. They can be corrected at any time.")

    def _groups(self) -> Sequence[Group]:
        buttons = [f"answer_words.{answer}" for answer in self.settings.allowed_answers]
        return (group_of("", "title question treated_well contact"), group_of(marked("What the buttons say"), buttons))


class ColumnsSection(SettingsSection):
    name, title = "columns", marked("What is shown of people")
    about = marked("Labels can be corrected at any time. To show other columns, make a new study in another folder.")

    def _groups(self) -> Sequence[Group]:
        return [
            Group(
                column.name,
                (
                    *(FormField.at(f"columns.{k}.{name}") for name in ("label", "unit")),
                    FormField(f"columns.{k}.place", "Place", "number", locked=True),
                ),
            )
            for k, column in enumerate(self.settings.columns)
        ]

    def _content(self) -> Plain:
        content = super()._content()
        for place, column in enumerate(content["columns"], start=1):
            column["place"] = place
        return content

    def _rows(self, content: Plain) -> tuple[str, list[int]]:
        places = [column.pop("place") for column in content["columns"]]
        return "columns", sorted(range(len(places)), key=places.__getitem__)  # of equals the first stays first


class PairsSection(SettingsSection):
    name, title = "pairs", marked("Pairs and answers")
    about = marked("How many pairs of which kind, and which answers.")
    layout: ClassVar = {
        "": "pairs answers seed",
        marked("Of these, not uniform"): " ".join(f"design.{kind}" for kind in OFFERED_KINDS),
        marked("Anchors"): "design.anchor_pool design.anchor_people design.lease_hours",
    }


class SwitchesSection(SettingsSection):
    name, title = "switches", marked("Switches")
    about = marked("What the pages ask and show beside the pairs.")
    layout: ClassVar = {
        "": "practice comprehension_check check_must_pass mark_differences ask_why ask_confidence second_look"
    }


class DeliberationSection(SettingsSection):
    name, title = "second-round", marked("A second round")
    about = marked("Whether participants come back to see how the others answered, and when the first round ends.")
    layout: ClassVar = {"": " ".join(f"deliberation.{name}" for name in Deliberation.model_fields)}


class RecruitmentSection(SettingsSection):
    name, title = "recruitment", marked("Who may take part")
    about = marked(
        "How people come, how many of them, and where they go afterwards. Links and rooms have a page of their own."
    )
    layout: ClassVar = {
        "": "recruitment.open recruitment.most recruitment.hold_minutes recruitment.most_from_address "
        "recruitment.most_from_address_in_rooms retention_days simulated",
        marked("A panel that sends people"): "recruitment.panel recruitment.completion_url recruitment.completion_code "
        "recruitment.screened_out_url recruitment.panel_keys recruitment.panel_studies",
    }


class LanguagesSection(SettingsSection):
    name, title = "languages", marked("Languages")
    about = marked("In which languages participants may read the study; your own words are translated part by part.")

    @property
    def _other_languages(self) -> list[str]:
        return [code for code in available() if code != self.settings.languages[0]]

    def _groups(self) -> Sequence[Group]:
        about = f"The study is in {language(self.settings.languages[0]).name}. Participants may also choose:"
        return (
            Group("", [FormField(f"also.{code}", language(code).name, "yes") for code in self._other_languages], about),
        )

    def _content(self) -> Plain:
        return {**super()._content(), "also": {code: code in self.settings.languages for code in self._other_languages}}

    def _settings(self, content: Plain) -> Plain:
        also = content.pop("also")
        return {
            **content,
            "languages": [self.settings.languages[0], *(code for code in self._other_languages if also[code])],
        }


class TranslationSection(Section):
    """The words in another language."""

    def __init__(self, home: Path, settings: StudySettings, code: str) -> None:
        super().__init__(home, settings)
        self.code = code
        self.name = f"words-{code}"
        self.files = (named(SETTINGS, code),)
        self.title, self.suffix = marked("Words"), f": {language(code).name}"
        self.about = marked(
            "Participants are offered this language once it is complete. What is ours may stay empty: it is then read "
            "as it stands in grey."
        )

    def _groups(self) -> Sequence[Group]:
        """Each with what is read while nothing is translated, of what is read at all."""
        usual = draft_words(self.settings, self.code)

        all_groups = [
            group_of("", "title question treated_well contact relation_question"),
            group_of(marked("What the buttons say"), [f"answer_words.{name}" for name in AnswerWords.model_fields]),
            group_of(marked("What is decided"), [f"decisions.{k}.words" for k in range(len(self.settings.decisions))]),
            group_of(marked("An amount"), "amount.unit"),
            group_of(marked("Relations"), [f"relations.{k}.words" for k in range(len(self.settings.relations))]),
            *(group_of(arm.name, f"arms.{k}.question arms.{k}.text") for k, arm in enumerate(self.settings.arms)),
            *(
                group_of(column.name, f"columns.{k}.label columns.{k}.unit")
                for k, column in enumerate(self.settings.columns)
            ),
        ]
        labels = {"relation_question": "Question about relations"}
        labels |= {f"relations.{k}.words": relation.name for k, relation in enumerate(self.settings.relations)}
        labels |= {f"decisions.{k}.words": decision.label for k, decision in enumerate(self.settings.decisions)}
        groups = []
        for group in all_groups:
            fields = [
                replace(
                    field,
                    path=field.path.removesuffix(".words"),
                    label=labels.get(field.path, field.label),
                    hint=str(words),
                    optional=True,
                    locked=False,
                )
                for field in group.fields
                if (words := value_at(usual, field.path))
            ]
            groups += [replace(group, fields=fields)] if fields else []
        return [*groups, *self._question_groups(usual), *self._value_groups()]

    def _question_groups(self, usual: Plain) -> Iterator[Group]:
        """The study's own questions and their options, each with what is read so far."""
        for k, question in enumerate(self.settings.questions):
            path, words = f"questions.{k}", usual["questions"][k]
            fields = [FormField.at(f"{path}.words", hint=words["words"], optional=True)]
            for j, option in enumerate(question.options):
                fields.append(FormField(f"{path}.options.{j}", option, optional=True, longest=200))
            yield Group(question.name, fields)

    def _value_groups(self) -> Iterator[Group]:
        """Values that are words, column by column."""
        for k, column in enumerate(self.settings.columns):
            if words := self._words.get(column.name):
                keep = FormField(f"columns.{k}.keep_values", marked("Show them as they are, such as names"), "yes")
                values = [FormField(f"columns.{k}.values.{j}", word, optional=True) for j, word in enumerate(words)]
                yield Group(column.label, [keep, *values], marked("What people’s values are called in this language."))

    @cached_property
    def _words(self) -> Mapping[str, Sequence[str]]:
        return words_in(self.settings, read_parquet(self.home / PEOPLE))

    @cached_property
    def _old(self) -> Translation:
        return Translation.read(self.home / self.files[0], self.settings)

    def _content(self) -> Plain:
        """Return the translation with lists instead of tables, as a form has them."""
        content = self._old.model_dump()
        columns = [content["columns"].get(column.name) or {} for column in self.settings.columns]
        for column, words in zip(self.settings.columns, columns, strict=True):
            words["values"] = [words.get("values", {}).get(word) for word in self._words.get(column.name, ())]
        relations = [content["relations"].get(relation.name) for relation in self.settings.relations]
        questions = [content["questions"].get(question.name) or {} for question in self.settings.questions]
        for question, words in zip(self.settings.questions, questions, strict=True):
            words["options"] = [words.get("options", {}).get(option) for option in question.options]
        arms = [content["arms"].get(arm.name) or {} for arm in self.settings.arms]
        decisions = [content["decisions"].get(decision.label) for decision in self.settings.decisions]
        rows = {"decisions": decisions, "relations": relations, "arms": arms, "questions": questions}
        return {**content, **rows, "columns": columns}

    def changes(self, form: Form, *, locked: bool) -> dict[str, str]:  # noqa: ARG002 - the first language decides
        content = self._content()
        for field in self.fields:
            put(content, field.path, field.read(form) or None)
        for question, words in zip(self.settings.questions, content["questions"], strict=True):
            words["options"] = dict(zip(question.options, words["options"], strict=True))
        for name in KEYS:
            rows = zip(getattr(self.settings, name), content[name], strict=True)
            content[name] = {getattr(one, KEYS[name]): words for one, words in rows}
        for name, column in content["columns"].items():
            before = self._old.columns[name].values if name in self._old.columns else {}
            column["values"] = before | dict(zip(self._words.get(name, ()), column["values"], strict=True))
        new = Translation.checked(without_empty(content), self.files[0])
        if new.content() == self._old.content():
            return {}
        return {self.files[0]: self._old.edited(self._text(self.files[0]), new)}


_DOCUMENTS = {
    "consent": (CONSENT, marked("Consent"), marked("What participants read before they agree to take part.")),
    "task": (
        TASK,
        marked("Task"),
        marked("What participants read about the task; how the buttons work is explained below it."),
    ),
}


class TextSection(Section):
    """A text in Markdown."""

    template = "text"

    def __init__(self, home: Path, settings: StudySettings, document: str, code: str) -> None:
        super().__init__(home, settings)
        is_first = code == settings.languages[0]
        file, title, self.about = _DOCUMENTS[document]
        self.document, self.code = document, code
        self.files = (named(file, None if is_first else code),)
        self.name = document if is_first else f"{document}-{code}"
        self.title = title
        self.suffix = "" if len(settings.languages) == 1 else f": {language(code).name}"

    def _groups(self) -> Sequence[Group]:
        return (Group("", (FormField("text", "Text", "text", longest=LONGEST + 1),)),)

    def _content(self) -> Plain:
        return {"text": self._text(self.files[0])}

    @property
    def to_fill_in(self) -> tuple[str, ...]:
        return left_to_fill_in(self.values["text"])

    def changes(self, form: Form, *, locked: bool) -> dict[str, str]:  # noqa: ARG002 - words may always be corrected
        text = form.text("text", LONGEST + 1)
        return {} if text == self.values["text"].strip() else {self.files[0]: f"{text}\n"}


def sections_of(home: Path) -> Mapping[str, Section]:
    """Every section of a study by its name, as its files are now."""
    settings = StudySettings.read(home / SETTINGS)
    sections: list[Section] = [
        *(TextSection(home, settings, document, code) for document in _DOCUMENTS for code in settings.languages),
        WordsSection(home, settings),
        DecisionsSection(home, settings),
        ColumnsSection(home, settings),
        SwitchesSection(home, settings),
        DeliberationSection(home, settings),
        ArmsSection(home, settings),
        RelationsSection(home, settings),
        QuestionsSection(home, settings),
        RecruitmentSection(home, settings),
        PairsSection(home, settings),
        LanguagesSection(home, settings),
        *(TranslationSection(home, settings, code) for code in settings.languages[1:]),
    ]
    return {section.name: section for section in sections}
