"""Reads ``str(model.rules_)`` and decides by it: written from the text alone, as anyone who has only that would."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

Decide = Callable[[pd.DataFrame], Any]
_NAME = r'("(?:[^"\\]|\\.)*"|[\w.+-]+)'
_TIME = r"\d\d:\d\d:\d\d(?:\.\d+)?"
_NUMBER = rf"(-?\d+ days(?: {_TIME})?|\d{{4}}-\d\d-\d\d(?:T{_TIME})?|-?[\d.]+(?:e[+-]?\d+)?)"
_WEIGHT = re.compile(rf"Rule (\d+), share [\d.]+ % \({_NUMBER}\):(?: (.*))?")


class RuleReader:
    """The model of a text, in which ``one`` is the word for label 1."""

    def __init__(self, text: str, one: str = "label 1") -> None:
        self._one = one
        self.lead, *blocks = text.split("\n\n")
        notes = blocks.pop().split("\n") if blocks[-1].startswith(("Missing values", "Columns, with")) else []
        self._fills = {}
        for note in notes:
            if note.startswith("Missing values count as: "):
                for name, number, fill in re.findall(rf"{_NAME} (?:{_NUMBER}|{_NAME})(?:, |$)", note.split(": ", 1)[1]):
                    self._fills[_plain(name)] = number or _plain(fill)
        limit = re.search(rf"are at least {_NUMBER};", self.lead)
        self._threshold = None if limit is None else float(limit[1])
        self._weights: list[float] = []
        self._rules: list[Decide] = []
        self._merged: Decide | None = None
        if blocks[0].startswith("Rule "):
            for number, block in enumerate(blocks, 1):
                head, *lines = block.split("\n")
                found = _WEIGHT.fullmatch(head)
                assert found is not None, head
                assert int(found[1]) == number
                self._weights.append(float(found[2]))
                self._rules.append(self._rule(found[3] or "", [line.removeprefix("    ") for line in lines]))
        else:
            (block,) = blocks
            lines = block.split("\n")
            self._merged = self._rule(lines[0], []) if lines[0].endswith("for everyone") else self._rule("", lines)

    def probability(self, people: pd.DataFrame) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Of label 1, for each of these people."""
        self._made: dict[str, Any] = {}
        if self._merged is not None:
            return np.asarray(self._merged(people), dtype=float) + np.zeros(len(people))
        total = np.zeros(len(people))
        for weight, rule in zip(self._weights, self._rules, strict=True):
            total += weight * np.asarray(rule(people), dtype=float)
        return total if self._threshold is None else (total >= self._threshold).astype(float)

    def _rule(self, head: str, lines: list[str]) -> Decide:
        if head.endswith(" for everyone"):
            value = self._value(head.removesuffix(" for everyone"))
            return lambda _: value
        if not head:
            tree, rest = self._tree(lines, "")
            assert not rest
            return tree
        limit = re.search(rf"where the points add up to more than {_NUMBER}, otherwise ", head)
        assert limit is not None, head
        assert head.startswith(self._one)
        return self._points(lines, float(limit[1]))

    def _tree(self, lines: list[str], indent: str) -> tuple[Decide, list[str]]:
        line, *rest = lines
        assert line.startswith(indent), line
        line = line.removeprefix(indent)
        if line.startswith("otherwise: "):
            value = self._value(line.removeprefix("otherwise: "))
            return (lambda _: value), rest
        lead, asked = ("otherwise if ", line.removeprefix("otherwise ")) if line[0] == "o" else ("if ", line)
        assert line.startswith(lead), line
        question, length = self._question(asked.removeprefix("if "))
        after = asked.removeprefix("if ")[length:]
        assert after.startswith(":"), line
        yes: Decide
        if after == ":":
            yes, rest = self._tree(rest, indent + "    ")
        else:
            value_yes = self._value(after.removeprefix(": "))
            yes = lambda _: value_yes  # noqa: E731
        no, rest = self._tree(rest, indent)
        return (lambda people: np.where(question(people), yes(people), no(people))), rest

    def _value(self, words: str) -> float:
        share = re.fullmatch(rf"[\d.]+ % \({_NUMBER}\)", words)
        return float(share[1]) if share else float(words == self._one)

    def _question(self, words: str) -> tuple[Decide, int]:
        """What it asks, and how many characters it takes."""
        if found := re.match(rf"{_NAME} is at most {_NUMBER}", words):
            name, limit = _plain(found[1]), _amount(found[2])
            return (lambda people: self._number(people, name) <= limit), found.end()
        found = re.match(rf"{_NAME} is {_NAME}", words)
        assert found is not None, words
        name, value = _plain(found[1]), _plain(found[2])
        if found[2] == "missing":
            return (lambda people: people[name].isna().to_numpy()), found.end()
        return (lambda people: self._texts(people, name) == value), found.end()

    def _points(self, lines: list[str], limit: float) -> Decide:
        start = re.fullmatch(rf"{_NUMBER} to start with", lines[0])
        assert start is not None, lines[0]
        terms = [self._term(line) for line in lines[1:]]

        def decide(people: pd.DataFrame) -> Any:
            total = np.full(len(people), float(start[1]))
            for points, amount in terms:
                total = total + points * amount(people)
            return total > limit

        return decide

    def _term(self, line: str) -> tuple[float, Decide]:
        if found := re.fullmatch(rf"{_NUMBER} for each {_NUMBER} of {_NAME}(?: above {_NUMBER})?", line):
            points, unit, name, above = float(found[1]), _amount(found[2]), _plain(found[3]), _amount(found[4] or "0")
            return points, lambda people: (self._number(people, name) - above) / unit
        found = re.match(rf"{_NUMBER} where ", line)
        assert found is not None, line
        question, _ = self._question(line[found.end() :])
        return float(found[1]), lambda people: np.asarray(question(people), dtype=float)

    def _texts(self, people: pd.DataFrame, name: str) -> Any:
        """A column as text, with what counts for a missing one; of the people of the moment it is made once."""
        if name not in self._made:
            self._made[name] = people[name].astype(str).to_numpy(object)
            self._made[name][people[name].isna().to_numpy()] = self._fills.get(name)
        return self._made[name]

    def _number(self, people: pd.DataFrame, name: str) -> Any:
        column, fill = people[name], _amount(self._fills.get(name, "nan"))
        if column.dtype.kind in "mM":
            return np.where(column.isna(), fill, column.to_numpy(f"{column.dtype.kind}8[us]").astype(np.int64))
        values = column.astype(float).to_numpy()
        return np.where(np.isnan(values), fill, values)


def _amount(text: str) -> float:
    """A number; of a date the microseconds since 1970, of a duration its microseconds."""
    if " days" in text:
        return pd.Timedelta(text) / pd.Timedelta(microseconds=1)
    if re.match(r"\d{4}-\d\d-\d\d", text):
        return float(np.datetime64(text, "us").astype(np.int64))
    return float(text)


def _plain(name: str) -> str:
    return str(json.loads(name)) if name.startswith('"') else name
