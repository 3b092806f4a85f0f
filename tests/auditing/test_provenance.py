"""A curve is known by what it was made from, however its tables are sorted, and by nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fairwise import Judgments, PairwiseFairClassifier
from fairwise.auditing.provenance import COLUMN, Provenance, refuse_other_origin
from fairwise.errors import InputError
from fairwise.judgments import Answer
from fairwise.learning.settings import parity

_SETTINGS: dict[str, list[Any]] = {
    "estimator": ["tree", "linear", LogisticRegression(), make_pipeline(StandardScaler(), LogisticRegression(C=2.0))],
    "max_depth": [1, 3],
    "weighting": ["panel", "answers"],
    "favorable_label": [0, 1],
    "judge_budgets": [0.1, {"j0": 0.1}],
    "random_state": [7, 8],
    "group_constraints": [[parity("fpr", 0.02)], [parity("fpr", 0.03)], [parity("dp", 0.02)]],
}


def drawn(rng: np.random.Generator) -> tuple[pd.DataFrame, pd.Series, pd.DataFrame, dict[str, Any]]:
    n = 30
    people = pd.DataFrame(
        {
            "age": rng.integers(18, 60, n),
            "income": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
            "town": pd.Series(rng.choice(["Aa", "Be", ""], n)).replace("", None).to_numpy(),
        },
        index=pd.Index([f"k{k}" for k in range(n)], name="id"),
    )
    outcome = pd.Series(rng.permutation(np.arange(n) % 2), index=people.index)
    rows = []
    for judge in range(3):
        order = rng.permutation(people.index)
        answers = rng.choice([str(answer) for answer in Answer], 8)
        rows += [
            {"judge": f"j{judge}", "a": a, "b": b, "answer": answer}
            for a, b, answer in zip(order[:8], order[8:16], answers, strict=True)
        ]
    chosen = {name: values[rng.integers(len(values))] for name, values in _SETTINGS.items() if rng.random() < 0.5}
    return people, outcome, pd.DataFrame(rows), chosen


def made_from(people: pd.DataFrame, outcome: pd.Series, said: pd.DataFrame, chosen: dict[str, Any]) -> Provenance:
    return Provenance.of(people, outcome, Judgments(said), PairwiseFairClassifier(**chosen).get_params(deep=False))


@pytest.mark.parametrize("tried", [5, pytest.param(20, marks=pytest.mark.slow)])
def test_order_plays_no_part_and_every_change_is_named(tried: int) -> None:
    rng = np.random.default_rng(0)
    for _ in range(tried):
        people, outcome, said, chosen = drawn(rng)
        own = made_from(people, outcome, said, chosen)
        assert Provenance.read(str(own), "frontier") == own
        order = rng.permutation(len(people))
        turned = people.iloc[order][rng.permutation(people.columns)]
        named = outcome.iloc[order].map({0: "no", 1: "yes"})
        other = made_from(turned, named, said.sample(frac=1, random_state=1), {**chosen, "gamma": 0.5, "eta": None})
        assert other.differences(own) == []

        who, row = int(rng.integers(len(people))), int(rng.integers(len(said)))
        aged, ended, changed = people.copy(), outcome.copy(), said.copy()
        aged["age"] += np.arange(len(people)) == who
        ended = ended ^ (np.arange(len(people)) == who)
        was = np.arange(len(said)) == row
        changed["answer"] = (
            changed["answer"]
            .mask(was & (said["answer"] == "same"), "no_constraint")
            .mask(was & (said["answer"] != "same"), "same")
        )
        changes: tuple[tuple[tuple[pd.DataFrame, pd.Series, pd.DataFrame], str], ...] = (
            ((aged, outcome, said), "other people"),
            ((people.rename(index={"k0": "x0"}), outcome, said), "other people"),
            ((people.drop(columns="town"), outcome, said), "other people"),
            ((people, ended, said), "other outcomes"),
            ((people, outcome, changed), "other judgments"),
            ((people, outcome, said.iloc[1:]), "other judgments"),
        )
        for tables, words in changes:
            differences = made_from(*tables, chosen).differences(own)
            assert words in " ".join(differences)
        name = str(rng.choice(list(_SETTINGS)))
        now = next(value for value in _SETTINGS[name] if value is not chosen.get(name))
        default = PairwiseFairClassifier().get_params(deep=False)[name]
        if now != chosen.get(name, default):
            (difference,) = made_from(people, outcome, said, {**chosen, name: now}).differences(own)
            assert difference.startswith(f"{name} = ")


def test_what_is_not_known_is_not_compared_and_what_is_not_ours_is_refused() -> None:
    people, outcome, said, chosen = drawn(np.random.default_rng(1))
    own = made_from(people, outcome, said, chosen)
    in_blocks = Provenance.of(None, None, Judgments(said), PairwiseFairClassifier(**chosen).get_params(deep=False))
    assert in_blocks.differences(own) == []
    refuse_other_origin(pd.DataFrame({"error": [0.1]}), own)  # made by hand
    for text in ("panel", "{}", "[1]", "[" * 100_000, 3.0):
        with pytest.raises(InputError, match=r"f\.csv, column made_from: .* is not what fairwise writes there"):
            refuse_other_origin(pd.DataFrame({COLUMN: [text]}), own, "f.csv")
