"""Check the votes of a bundle: every ballot is of someone who could vote, and one that the vote's rule can count."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import pandas as pd

from fairwise.archive.bundle import BALLOTS, PARTICIPANTS, VOTES
from fairwise.errors import InputError
from fairwise.store.votes import LEAST_OPTIONS, MOST_OPTIONS, Option
from fairwise.study.stages import Stage
from fairwise.study.tally import Rule, is_ballot

_NUMBERS = {field.name for field in fields(Option)}


def check_votes(path: Path, people: pd.DataFrame, votes: pd.DataFrame, ballots: pd.DataFrame) -> int:
    """Refuse votes and ballots that cannot be; returns how many ballots there are."""
    rules: dict[str, tuple[int, Rule]] = {}
    for row in votes.to_dict("records"):
        where = f"{path}: {VOTES}: vote {row['vote']}"
        options = _count(row["options"], where)
        if row["chosen"] and int(row["chosen"]) >= options:
            raise InputError(f"{where}: option {row['chosen']} was chosen; allowed: 0 to {options - 1}")
        if row["chosen"] and not row["decided_at"]:
            raise InputError(f"{where}: an option was chosen, but it is not said when")
        rules[row["vote"]] = options, Rule(row["rule"])
    finished = set(people["number"][people["stage"] == Stage.FINISHED])
    for number, vote, ballot in zip(ballots["number"], ballots["vote"], ballots["ballot"], strict=True):
        where = f"{path}: {BALLOTS}: the ballot of participant {number}"
        if vote not in rules:
            raise InputError(f"{where} is of vote {vote}, which is not in {VOTES}")
        if number not in finished:
            raise InputError(f"{where}: nobody of this number in {PARTICIPANTS} has finished, and only those can vote")
        named = ballot.split(",") if ballot else []
        if not all(option.isascii() and option.isdigit() and len(option) == 1 for option in named) or not is_ballot(
            [int(option) for option in named], *rules[vote]
        ):
            raise InputError(f"{where} is {ballot[:100]!r}, which the rule of vote {vote} cannot count")
    return len(ballots)


def _count(options: str, where: str) -> int:
    """How many options there are, each with the numbers that were shown."""
    try:
        read = json.loads(options)
        good = isinstance(read, list) and all(isinstance(one, dict) and one.keys() == _NUMBERS for one in read)
        good = good and all(isinstance(value, int | float) for one in read for value in one.values())
    except ValueError:
        good = False
    if not good or not LEAST_OPTIONS <= len(read) <= MOST_OPTIONS:
        raise InputError(f"{where}: its options cannot be read; needed: {LEAST_OPTIONS} to {MOST_OPTIONS} as JSON")
    return len(read)
