"""The sample study could be shown to anybody: nothing left to fill in, words instead of codes, no outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from fairwise.datasets import load_compas
from fairwise.study.fit_choices import outcome_labels
from fairwise.study.new_study import SAMPLE_COLUMNS, SAMPLE_FAVORABLE, SAMPLE_OUTCOME, SAMPLE_UNFAVORABLE, make_sample

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
    assert set(people.column_names) == {"id", *SAMPLE_COLUMNS}
    assert set(people["c_charge_degree"].to_pylist()) == {"felony", "misdemeanour"}
    outcomes = pq.read_table(study.path / "outcome.parquet")
    assert outcomes.column_names == ["id", SAMPLE_OUTCOME]
    assert outcome_labels(study) == (SAMPLE_FAVORABLE, SAMPLE_UNFAVORABLE)
    recorded = load_compas()[1]
    assert [label == SAMPLE_UNFAVORABLE for label in outcomes[SAMPLE_OUTCOME].to_pylist()] == recorded.astype(
        bool
    ).tolist()
