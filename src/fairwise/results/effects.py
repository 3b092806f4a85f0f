"""Results of a second round: how answers changed, by arm, and what that changes in the models learned from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isnan
from typing import Any, Literal

import pandas as pd

from fairwise import notebook
from fairwise.messages import Message, message_table, restore_messages, without_messages
from fairwise.numbers import counted, rounded
from fairwise.results.base import records

HYPOTHESES: dict[str, str] = {
    "changed": Message("The share of answers that people change when they are asked again is the same in both arms."),
    "towards_majority": Message(
        "The share of answers changed to what most others said in round 1 is the same in both arms."
    ),
    "towards_reasons": Message(
        "The share of answers changed to what most of the reasons are for is the same in both arms."
    ),
    "agreement": Message("Agreement (alpha) moves as far from round 1 to round 2 in both arms."),
}
"""Hypotheses about answers, each as "no effect"; about reasons only where it is known which were shown."""

CHECKS: dict[str, str] = {
    "returned": Message("As large a share of people came back in both arms."),
    "same_before": Message("The two arms called two people the same equally often in round 1."),
}
"""Statements that hold, apart from chance, if arms differ in round 2 only."""

LEARNED: dict[str, str] = {
    "error": Message("The error of the model learned from an arm's answers moves as far in both arms."),
    "price": Message("The prices of an arm's judgments, added up, move as far in both arms."),
    "group_gap": Message("The largest gap between groups' rates of the good outcome moves as far in both arms."),
    "treated_differently": Message("As many people are treated differently by an arm's models of before and after."),
}
"""Hypotheses about what is learned, each as "no effect"; about groups only where these are given."""

_STATEMENTS = {**HYPOTHESES, **CHECKS, **LEARNED}
_NOTHING = "\N{EN DASH}"


@dataclass(frozen=True)
class Permuted:
    """Units that arms are reassigned to for p-values: judges or rooms, within blocks where there are several."""

    unit: Literal["judge", "room"]
    n_units: int
    n_blocks: int

    def __str__(self) -> str:
        return self.sentence

    @property
    def sentence(self) -> Message:
        """Sentence for people who read the result."""
        numbers = {"count": self.n_units} | ({"blocks": self.n_blocks} if self.n_blocks > 1 else {})
        if self.unit == "judge" and self.n_blocks <= 1:
            return Message("For p-values, arms are reassigned at random to {count:,} people.", **numbers)
        if self.unit == "judge":
            return Message(
                "For p-values, arms are reassigned at random to {count:,} people within {blocks:,} blocks.", **numbers
            )
        if self.n_blocks <= 1:
            return Message(
                "For p-values, arms are reassigned at random to {count:,} rooms; each room counts as one.", **numbers
            )
        return Message(
            "For p-values, arms are reassigned at random to {count:,} rooms within {blocks:,} blocks; "
            "each room counts as one.",
            **numbers,
        )


@dataclass(frozen=True, eq=False)
class LearnedEffects:
    """Models learned from answers before and after, of everyone who came back and by arm.

    Attributes
    ----------
    arms
        By arm and for everyone: ``error``, ``price`` (of all judgments, added up) and, with groups, ``group_gap``
        (largest less smallest rate of the good outcome), each with ``_before``, ``_after`` and ``_change``; and
        ``treated_differently``, the share of people whose chance of the good outcome differs by ``least_change`` or
        more. Changes and this share have ``_low`` and ``_high`` over judges.
    rates
        By arm and group: ``rate_before`` and ``rate_after``, the mean chance of the good outcome.
    tests, permuted
        As of :class:`Effects`.
    """

    arms: pd.DataFrame
    rates: pd.DataFrame
    tests: pd.DataFrame
    gamma: float
    eta: float | None
    least_change: float
    confidence: float
    n_resamples: int
    n_draws: int
    permuted: Permuted | None = None


@dataclass(frozen=True, eq=False)
class Effects:
    """Changes of answers between two rounds, by arm, and against the control arm.

    Attributes
    ----------
    arms
        By arm, the control arm first, and for everyone: ``judges``, ``returned``, ``answers`` asked for twice; means
        over those who came back of the shares ``changed``, ``towards_majority``, ``away`` and, where it is known which
        reasons were shown, ``towards_reasons``; alpha of their answers ``alpha_before``, ``alpha_after`` and its
        ``alpha_change``, each with ``_low`` and ``_high``.
    tests
        A line for each arm but the control and each of ``hypotheses`` and of the checks: ``arm``, ``name``,
        ``statement``, ``check``, the two arms' values ``in_arm`` and ``in_control``, ``effect`` with ``low`` and
        ``high``, ``p_value``, ``p_adjusted`` (Holm, over all lines that are no checks) and a ``note`` where something
        cannot be said, which then is NaN.
    judges
        By judge who came back: arm, answers asked for twice, and the shares. A stored result does not have them.
    control
        The arm that others are compared with, or None.
    learned
        Effects on what is learned, or None (:func:`fairwise.auditing.learned_effects`).
    permuted
        What arms are reassigned to for p-values: ``unit`` (``"room"`` or ``"judge"``), ``n_units`` who came back and
        the ``n_blocks`` they are in; None where no arms are compared.
    notes
        Sentences about what is permuted, who is not counted, and what cannot be said.
    """

    arms: pd.DataFrame
    tests: pd.DataFrame
    judges: pd.DataFrame
    control: str | None
    confidence: float
    exact: bool
    n_draws: int
    notes: tuple[str, ...] = ()
    learned: LearnedEffects | None = None
    hypotheses: dict[str, str] = field(default_factory=lambda: dict(HYPOTHESES))
    permuted: Permuted | None = None

    def to_frame(self) -> pd.DataFrame:
        """Return the tests as one table, those about what is learned last."""
        if self.learned is None:
            return self.tests.copy()
        every: pd.DataFrame = pd.concat([self.tests, self.learned.tests], ignore_index=True)
        return every

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the arms, the tests, and what would be learned if that is known."""
        learned = {} if self.learned is None else {"learned": self.learned.arms.reset_index()}
        return {"arms": self.arms.reset_index(), "tests": self.to_frame(), **learned}

    # Rows for pages, where a number that is not known is None.

    @property
    def arm_rows(self) -> list[dict[str, Any]]:
        """Rows of ``arms``, everyone last."""
        return records(self.arms.reset_index())

    @property
    def learned_rows(self) -> list[dict[str, Any]]:
        """Rows of what would be learned, everyone last; none where it is not known."""
        return [] if self.learned is None else records(self.learned.arms.reset_index())

    @property
    def test_rows(self) -> dict[str, list[dict[str, Any]]]:
        """Rows of the tests by arm; their statements can be translated."""
        by_arm: dict[str, list[dict[str, Any]]] = {}
        for row in records(self.to_frame()):
            row["statement"] = _STATEMENTS.get(row["name"], row["statement"])
            by_arm.setdefault(str(row["arm"]), []).append(row)
        return by_arm

    @property
    def knows_reasons(self) -> bool:
        """Whether it is known which reasons were shown."""
        return "towards_reasons" in self.arms

    def to_json(self) -> dict[str, Any]:
        """Return what pages show, without single judges."""
        learned = self.learned
        return {
            "control": self.control,
            "confidence": self.confidence,
            "assignments": None if self.exact else self.n_draws,
            "arms": records(self.arms.reset_index()),
            "tests": records(self.tests),
            "notes": without_messages(self.notes),
            "learned": None
            if learned is None
            else {
                "arms": records(learned.arms.reset_index()),
                "rates": records(learned.rates),
                "tests": records(learned.tests),
                **{name: getattr(learned, name) for name in _LEARNED_SETTINGS},
            },
            "messages": message_table(self.notes),
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Effects:
        """Return the result that :meth:`to_json` described."""
        learned = content["learned"]
        return cls(
            arms=pd.DataFrame(content["arms"]).set_index("arm"),
            tests=pd.DataFrame(content["tests"]),
            judges=pd.DataFrame(),
            control=content["control"],
            confidence=content["confidence"],
            exact=content["assignments"] is None,
            n_draws=content["assignments"] or 0,
            notes=tuple(restore_messages(content["notes"], content.get("messages", {}))),
            learned=None
            if learned is None
            else LearnedEffects(
                arms=pd.DataFrame(learned["arms"]).set_index("arm"),
                rates=pd.DataFrame(learned["rates"]),
                tests=pd.DataFrame(learned["tests"]),
                **{name: learned[name] for name in _LEARNED_SETTINGS},
            ),
        )

    def __str__(self) -> str:
        lines = list(self.notes)
        for test in self.to_frame().to_dict("records"):
            about = f"{test['arm']} against {self.control}, {test['name'].replace('_', ' ')}:"
            if isnan(test["effect"]):
                lines.append(f"{about} {test['note']}.")
                continue
            effect, interval, p_value, _ = _test_cells(test)
            between = test["note"] if interval == _NOTHING else f"interval {interval}"
            lines.append(f"{about} {effect} ({between}), p {p_value if p_value.startswith('<') else f'= {p_value}'}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        shares = [name for name in ("changed", "towards_majority", "away", "towards_reasons") if name in self.arms]
        rows = [
            (
                str(arm),
                counted(line["judges"]),
                counted(line["returned"]),
                *(_percent(line[name]) for name in shares),
                _number(line["alpha_before"]),
                _number(line["alpha_after"]),
            )
            for arm, line in self.arms.iterrows()
        ]
        head = ("Arm", "People", "Answered again", *(name.replace("_", " ").capitalize() for name in shares))
        sections = [
            notebook.section(
                "How answers changed",
                notebook.table(rows, head=(*head, "Alpha before", "Alpha after"), numbers=range(1, len(head) + 2)),
                notebook.bullets(self.notes),
            )
        ]
        tests = [
            (f"{test['arm']}: {test['name'].replace('_', ' ')}", *_test_cells(test))
            for test in self.to_frame().to_dict("records")
        ]
        if tests:
            head = ("", "Effect", "Interval", "p", "p (Holm)")
            against = notebook.table(tests, head=head, numbers=(1, 2, 3, 4))
            sections.append(notebook.section(f"Against {self.control}", against))
        if self.learned is not None:
            learned = [
                (
                    str(arm),
                    _percent(line["error_before"]),
                    _percent(line["error_after"]),
                    _interval(line["error_change_low"], line["error_change_high"]),
                    _percent(line["treated_differently"]),
                )
                for arm, line in self.learned.arms.iterrows()
            ]
            head = ("Arm", "Error before", "Error after", "Change between", "Treated differently")
            table = notebook.table(learned, head=head, numbers=(1, 2, 3, 4))
            sections.append(notebook.section("What would be learned", table))
        return notebook.page(*sections)


_LEARNED_SETTINGS = ("gamma", "eta", "least_change", "confidence", "n_resamples", "n_draws")


def _percent(share: float) -> str:
    return _NOTHING if isnan(share) else f"{100 * share:.1f} %"


def _number(number: float, digits: int = 2) -> str:
    return _NOTHING if isnan(number) else str(rounded(number, digits))


def _interval(low: float, high: float) -> str:
    return _NOTHING if isnan(low) or isnan(high) else f"{_number(low, 3)} to {_number(high, 3)}"


def _test_cells(test: Mapping[Any, Any]) -> tuple[str, str, str, str]:
    """Format effect, interval and p-values of a test; a p-value is never 0."""
    p_values = [
        _NOTHING if isnan(p_value) else "< 0.001" if p_value < 0.001 else f"{p_value:.3f}"
        for p_value in (test["p_value"], test["p_adjusted"])
    ]
    return _number(test["effect"], 3), _interval(test["low"], test["high"]), p_values[0], p_values[1]
