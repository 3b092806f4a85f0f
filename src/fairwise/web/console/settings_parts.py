"""The parts of a study that are settings: topic by topic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairwise.study.arrivals import PANELS
from fairwise.study.editions import SETTINGS, named
from fairwise.study.languages import available, language
from fairwise.study.settings import StudySettings
from fairwise.study.translations import Translation, written
from fairwise.web.console.choices import KINDS
from fairwise.web.console.fields import Field, Group, Part, put

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fairwise.web.shared.forms import Form

BUTTONS = (
    ("same", "Button: the same"),
    ("a_at_least_b", "Button: A at least as well as B"),
    ("b_at_least_a", "Button: B at least as well as A"),
    ("no_constraint", "Button: either may be treated better"),
)
_BLANK_RELATIONS = 3


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
        buttons = [Field(f"answer_words.{name}", words) for name, words in BUTTONS if self._is_used(name)]
        return (Group("", SAID), Group("What the buttons say", buttons))

    def _is_used(self, name: str) -> bool:
        return any(name == answer.value for answer in self.settings.allowed_answers)


SAID = (
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
                    Field(
                        "recruitment.hold_minutes",
                        "Minutes for which a place is held until the first answer",
                        "number",
                        "Then others may take it. Whoever comes back goes on if there is room.",
                    ),
                    Field(
                        "recruitment.most_from_address",
                        "At most so many begin from one internet address in a quarter of an hour",
                        "number",
                        "0: any number. The address is not kept.",
                    ),
                    Field(
                        "recruitment.most_from_address_in_rooms",
                        "The same for those who come by a room's code",
                        "number",
                        "The phones of a class often have one address together.",
                    ),
                    Field(
                        "retention_days",
                        "Days after which texts, names and panel's ids are deleted",
                        "number",
                        "From when someone finished; names and ids once the study is closed. 0: never.",
                    ),
                    Field(
                        "simulated",
                        "No real people take part",
                        "yes",
                        "For trying it out with simulated people. Every report on the study then says so.",
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
                    Field(
                        "recruitment.panel_keys",
                        "Keys by which Prolific signs its links",
                        "text",
                        hint="The text at https://api.prolific.com/.well-known/study/jwks.json. If given, only signed "
                        "links are let in.",
                        optional=True,
                        longest=20_000,
                    ),
                    Field(
                        "recruitment.panel_studies",
                        "Ids of the study at Prolific",
                        hint="Needed with the keys; several with spaces between them.",
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
