"""The sample study could be shown to anybody: nothing left to fill in, words instead of codes, no outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from fairwise.datasets import load_compas
from fairwise.study.fit_choices import outcome_labels
from fairwise.study.sample import COLUMNS, FAVORABLE, OUTCOME, UNFAVORABLE, make_sample

if TYPE_CHECKING:
    from pathlib import Path


def test_it_is_complete(tmp_path: Path) -> None:
    study = make_sample(tmp_path / "sample", seed=3)
    texts = "".join(file.read_text(encoding="utf-8") for file in study.path.glob("*.md"))
    assert "FILL IN" not in texts
    assert "sample study" in texts
    assert study.settings.simulated
    assert study.settings.seed == 3
    for column in study.settings.columns:
        assert column.label != column.name
        assert "_" not in column.label


def test_values_are_words_and_the_outcome_is_in_a_file_of_its_own(tmp_path: Path) -> None:
    study = make_sample(tmp_path / "sample")
    people = pq.read_table(study.path / "people.parquet")
    assert people.num_rows == 5829
    assert set(people.column_names) == {"id", *COLUMNS}
    assert set(people["c_charge_degree"].to_pylist()) == {"felony", "misdemeanour"}
    outcomes = pq.read_table(study.path / "outcome.parquet")
    assert outcomes.column_names == ["id", OUTCOME]
    assert outcome_labels(study) == (FAVORABLE, UNFAVORABLE)
    recorded = load_compas()[1]
    assert [label == UNFAVORABLE for label in outcomes[OUTCOME].to_pylist()] == recorded.astype(bool).tolist()
