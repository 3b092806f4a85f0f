"""Which features of people drive whose answers, by a learned model."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fairwise.judgments.answer import Answer
from fairwise.judgments.answer_model.choices import Scale
from fairwise.judgments.answer_model.features import EncodedPeople, Floats, PeopleEncoder
from fairwise.judgments.answer_model.hierarchy import Hierarchy


def drivers(learned: Hierarchy, encoder: PeopleEncoder) -> pd.DataFrame:
    """Return for every judge and column of people its share in the judge's answers, and what it favours.

    A column's part is the sum over blocks of coefficients of the standard deviation, over all pairs asked, of what the
    column adds to the block's score; shares add up to 1. It favours more of a number if more of it moves the answer
    towards its bearer being treated at least as well; of categories the one that does so most.
    """
    asked = learned.asked
    blocks = learned.scale.blocks(learned.people, asked.first, asked.second)
    names = _columns_of_blocks(learned.scale, encoder)
    ends = np.cumsum([block.shape[1] for block in blocks])
    parts = np.zeros((len(asked.judges), len(encoder.columns)))
    for block, columns, end in zip(blocks, names, ends, strict=True):
        coefficients = learned.beliefs.mean[:, end - block.shape[1] : end]
        for place, name in enumerate(encoder.columns):
            own = [number for number, column in enumerate(columns) if column == name and column is not None]
            spread = np.cov(block[:, own].T).reshape(len(own), len(own)) if len(block) > 1 else np.eye(len(own))
            variance = np.einsum("jf,fg,jg->j", coefficients[:, own], spread, coefficients[:, own])
            parts[:, place] += np.sqrt(np.maximum(variance, 0))
    total = parts.sum(axis=1, keepdims=True)
    shares = np.divide(parts, total, out=np.zeros_like(parts), where=total > 0)
    index = pd.MultiIndex.from_product([asked.judges, encoder.columns], names=["judge", "column"])
    favours = [favoured for own in learned.beliefs.mean for favoured in _favoured(own, learned, encoder)]
    return pd.DataFrame({"share": shares.ravel(), "favours": pd.array(favours, dtype=object)}, index=index)


def _columns_of_blocks(scale: Scale, encoder: PeopleEncoder) -> list[list[object]]:
    ahead = [encoder.ahead_columns] if Answer.A_AT_LEAST_B in scale.answers else []
    return [*ahead, *[encoder.apart_columns] * (len(scale.signs) - len(ahead))]


def _favoured(coefficients: Floats, learned: Hierarchy, encoder: PeopleEncoder) -> list[object]:
    """Return for each column what the judge favours; None where answers have no direction."""
    if Answer.A_AT_LEAST_B not in learned.scale.answers:
        return [None] * len(encoder.columns)
    columns = encoder.ahead_columns
    merit = _EncodedMerit(learned.people, coefficients[: len(columns)], columns)
    numbers = {column.name: place for place, column in enumerate(encoder.numbers)}
    categories = {column.name: column for column in encoder.categories}
    result: list[object] = []
    for name in encoder.columns:
        if name in numbers:
            slope = merit.of(name) @ learned.people.numbers[:, numbers[name]]
            result.append("more" if slope > 0 else "less")
        else:
            best = int(np.argmax(merit.coefficients(name)))
            values = [value for value, code in categories[name].codes.items() if code == best]
            result.append("missing" if values[0] == ("missing",) else values[0] if len(values) == 1 else "other")
    return result


class _EncodedMerit:
    """What one judge's coefficients make of each column."""

    def __init__(self, people: EncodedPeople, own: Floats, columns: list[object]) -> None:
        self._people, self._own, self._columns = people, own, columns

    def _places(self, name: object) -> list[int]:
        return [number for number, column in enumerate(self._columns) if column == name]

    def coefficients(self, name: object) -> Floats:
        result: Floats = self._own[self._places(name)]
        return result

    def of(self, name: object) -> Floats:
        """``(n,)``: what the column adds to each person's merit."""
        places = self._places(name)
        result: Floats = self._people.merits[:, places] @ self._own[places]
        return result
