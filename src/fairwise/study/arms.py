"""Arms of a study: groups to which chance assigns participants, and what each is shown otherwise than the others."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Annotated, Literal, TypeVar

from pydantic import Field, StringConstraints

from fairwise.study.mixture import Design
from fairwise.study.recruitment import Name
from fairwise.study.toml import Input, SettingsTable

MOST_ARMS, MOST_SHARES = 10, 10
_Words = Annotated[str, StringConstraints(strip_whitespace=True, max_length=20_000)]
T = TypeVar("T")


class Arm(SettingsTable):
    """One of them. What it does not change is as the study has it."""

    name: Annotated[Name, Field(title="Short name"), Input(locked=True)]
    """A short name under which it is kept with answers, such as control; participants never see it."""

    share: Annotated[
        int, Field(ge=1, le=MOST_SHARES, title="Share"), Input("2: twice as many people as 1.", locked=True)
    ] = 1
    """How many participants come to this arm, compared with the others: 2 is twice as many as 1."""

    reasons: Annotated[bool, Field(title="The second round shows how others answered, and why"), Input(locked=True)] = (
        True
    )
    """Whether a second round shows how the others answered and their reasons; if not, people are only asked again."""

    question: Annotated[_Words, Field(title="The question about every pair"), Input("If empty: the study’s.")] = ""
    """What is asked about every pair; if empty, the study's question."""

    columns: Annotated[tuple[str, ...], Field(title="Columns that are shown"), Input(locked=True)] = ()
    """Names of the columns that are shown; if empty, all of them."""

    buttons: Annotated[
        Literal["usual", "reversed"],
        Field(title="Order of the buttons"),
        Input(options={"usual": "as usual", "reversed": "reversed"}, locked=True),
    ] = "usual"
    """The order of the buttons: usual or reversed."""

    text: Annotated[_Words, Field(title="A text above every pair"), Input("Markdown. May be empty.")] = ""
    """A text above every pair, in Markdown; may be empty."""

    @property
    def changes_the_first_round(self) -> bool:
        """Whether it matters already when the first pair is shown."""
        return bool(self.question or self.columns or self.text) or self.buttons != "usual"

    @property
    def treatment(self) -> dict[str, object]:
        """All that it does, without its name and share."""
        return self.model_dump(exclude={"name", "share"})

    @property
    def decisive(self) -> dict[str, object]:
        """What may not change once people are assigned: words may be corrected, but not be put in or taken out."""
        return self.model_dump() | {"question": bool(self.question), "text": bool(self.text)}

    def ordered(self, answers: Sequence[T]) -> tuple[T, ...]:
        """Return the answers in the order of the buttons."""
        return tuple(answers) if self.buttons == "usual" else tuple(reversed(answers))


def assigned_late(arms: Sequence[Arm]) -> bool:
    """Whether nothing differs before the second round: then people are assigned when they finish the first.

    So those who leave before leave no gap in any arm.
    """
    return bool(arms) and not any(arm.changes_the_first_round for arm in arms)


def common_columns(arms: Sequence[Arm], columns: Sequence[str]) -> list[str]:
    """Return those of the columns that every arm shows, in their order."""
    return [name for name in columns if all(not arm.columns or name in arm.columns for arm in arms)]


def check_arms(arms: Sequence[Arm], columns: Sequence[str], design: Design, *, second_round: bool) -> None:
    """Refuse arms that compare nothing, or that would show two people as if they did not differ."""
    if len(arms) == 1 or len(arms) > MOST_ARMS:
        raise ValueError(f"arms: {len(arms)}; allowed: from 2 to {MOST_ARMS}, or none")
    for at, arm in enumerate(arms):
        _check_arm(arm, arms[:at], columns, second_round=second_round)
    if not any(arm.columns for arm in arms):
        return
    common = common_columns(arms, columns)
    if not common:
        raise ValueError("arms: no column is shown in all of them; people are compared by what every arm shows")
    if design.active:
        raise ValueError("arms.columns: with active pairs, which are chosen by all columns, every arm shows all")
    if hidden := [name for name in design.strata if design.stratified and name not in common]:
        raise ValueError(f"design.strata: {hidden[0]!r} is not shown in every arm")


def _check_arm(arm: Arm, others: Sequence[Arm], columns: Collection[str], *, second_round: bool) -> None:
    for other in others:
        if arm.name == other.name:
            raise ValueError(f"two arms have the name {arm.name!r}")
        if arm.treatment == other.treatment:
            raise ValueError(f"the arms {other.name!r} and {arm.name!r} do the same: there is nothing to compare")
    if not (arm.reasons or second_round):
        raise ValueError(f"the arm {arm.name!r} is about a second round; needed: deliberation.on")
    if unknown := [name for name in arm.columns if name not in columns]:
        raise ValueError(f"the arm {arm.name!r} shows {unknown[0]!r}, which is not among the columns")
    if len(set(arm.columns)) < len(arm.columns):
        raise ValueError(f"the arm {arm.name!r} names a column twice")


def shows_reasons(arms: Sequence[Arm], name: str | None) -> bool:
    """Whether the second round shows someone how the others answered and why; in a study without arms, to everyone.

    Where there are arms, whoever is in none is shown nothing: they did not finish the first round before it ended.
    """
    return not arms or any(arm.reasons for arm in arms if arm.name == name)
