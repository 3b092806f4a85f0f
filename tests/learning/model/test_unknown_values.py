"""What people read about a category: true of everyone it is told about, and in words that fit a missing value."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from fairwise.learning.encoding import TableEncoder
from fairwise.learning.model.classifier_rules import TreeRule, encoded_columns, simplified
from fairwise.learning.model.questions import Is, IsMissing, Wording

if TYPE_CHECKING:
    from collections.abc import Callable

    from fairwise.learning.model.classifier_rules import Node
    from fairwise.learning.model.questions import Person

PEOPLE, PROGRAM = Wording(("no", "yes"), exact=False), Wording(("no", "yes"))
FORMS: dict[str, Callable[[object, str], bool]] = {
    r"(\w+) is missing": lambda value, _: value is None,
    r"(\w+) is not missing": lambda value, _: value is not None,
    r"(\w+) is (\w+)": lambda value, one: value == one,
    r"(\w+) is not (\w+)": lambda value, one: value is not None and value != one,
    r"(\w+) is (\w+) or missing": lambda value, one: value in (one, None),
    r"(\w+) is missing or not (\w+)": lambda value, one: value != one,
}
"""Sentences, and of whom people take them to be true: “is not no” says that something is known."""


def is_true(sentence: str, person: Person) -> bool:
    for form, holds in FORMS.items():
        found = re.fullmatch(form, sentence)
        if found is not None:
            return holds(person[found[1]], found[found.re.groups])
    raise AssertionError(sentence)


def random_tree(rng: np.random.Generator, questions: list[Is | IsMissing], depth: int) -> Node:
    if depth == 0 or rng.random() < 0.15:
        return float(rng.random())
    question = questions[int(rng.integers(len(questions)))]
    return question, random_tree(rng, questions, depth - 1), random_tree(rng, questions, depth - 1)


def test_reasons_and_regions_are_true_of_those_they_are_about() -> None:
    rng, of_missing = np.random.default_rng(5), 0
    for _ in range(300):
        values = {"parent": ["yes", "no"], "work": ["none", "part", "full"], "town": ["a", "b"]}
        table = pd.DataFrame({name: rng.choice(words, 30) for name, words in values.items()}, dtype=object)
        for name in table:
            if rng.random() < 0.7:
                table.loc[rng.random(30) < 0.2, name] = None
        questions = list(encoded_columns(TableEncoder.learn(table, np.ones(30), scaled=False)))
        tree = simplified(random_tree(rng, questions, 4), {})  # type: ignore[arg-type]
        rule = TreeRule(tree, PEOPLE, gives_labels=False)
        people = [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]
        people.append({"parent": "both", "work": "odd", "town": "c"})  # never seen in training
        for person in people:
            node = tree
            while isinstance(node, tuple):
                node = node[1] if node[0].holds(person) else node[2]
            reason = rule.reason(person)
            for sentence in filter(None, reason.split(" and ")):
                assert is_true(sentence, person), (reason, person)
                if person[sentence.split()[0]] is None:
                    assert sentence.endswith(" is missing")
                    of_missing += 1
            if person is people[-1]:
                continue
            regions = [
                value
                for when, value in rule.leaves()
                if when == "always" or all(is_true(sentence, person) for sentence in when.split(" and "))
            ]
            assert regions == [node], "exactly one region is about each person, and it is theirs"
    assert of_missing > 200


def test_of_two_categories_the_other_one_is_named() -> None:
    question = Is("parent", "no", None, ("yes",), may_be_missing=True)
    assert question.words(PEOPLE, yes=False) == "parent is yes or missing"
    assert question.words(PROGRAM, yes=False) == "parent is not no"
    known = Is("parent", "no", None, ("yes",))
    assert known.words(PEOPLE, yes=False) == "parent is yes"
