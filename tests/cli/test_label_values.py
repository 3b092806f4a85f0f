"""Labels in a file of values are those of the outcomes, however numbers are written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from fairwise.cli.training import read_label_values
from fairwise.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path


def test_each_label_has_its_own_value_or_the_file_is_refused(tmp_path: Path) -> None:
    rng, file, refused = np.random.default_rng(0), tmp_path / "values.csv", 0
    kinds: list[list[Any]] = [list(range(-2, 5)), [0.5, 1.0, 2.0, 3.25], ["deny", "approve", "01", "1"]]
    for _ in range(300):
        outcomes, named = (
            [kind[k] for k in rng.permutation(len(kind))[: rng.integers(2, 5)]]
            for kind in (kinds[k] for k in rng.integers(0, 3, 2))
        )
        if rng.random() < 0.7:
            named = [*outcomes, *(one for one in kinds[0] if one not in outcomes and isinstance(outcomes[0], int))]
        values = dict(zip(named, rng.permutation(len(named)) / len(named), strict=True))
        written = {
            label: str(label)
            if isinstance(label, str)
            else str(rng.choice([f"{label:g}", f"{label:+g}", f"{label:f}"]))
            for label in named
        }
        lines = [f"{written[label]},{values[label]}" for label in rng.permutation(np.array(named, dtype=object))]
        file.write_text("\n".join(["label,value", *lines]), encoding="utf-8")
        try:
            read = read_label_values(file, outcomes)
        except InputError as error:
            assert "does not say how good the outcome" in str(error)  # noqa: PT017
            assert not set(outcomes) <= set(named)
            refused += 1
            continue
        assert {label: read[label] for label in outcomes} == {label: values[label] for label in outcomes}
        assert len(read) == len(named)
    assert 30 < refused < 200


def test_a_number_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "values.csv"
    file.write_text("label,value\n0,0\n1,0.5\n1.0,1\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"values.csv: the label 1.0 is there twice; say once how good it is"):
        read_label_values(file, [0, 1])
