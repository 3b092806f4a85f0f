"""A large panel: the report stays small."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairwise import PairwiseFairClassifier
from fairwise.datasets import load_compas
from fairwise.reporting import findings, write_report
from fairwise.simulation import simulate_panel


@pytest.mark.slow
def test_a_hundred_judges_with_fifty_pairs_each(tmp_path: Path) -> None:
    people, outcome = load_compas()
    judgments = simulate_panel(people, n_judges=100, n_pairs=50, seed=0)
    model = PairwiseFairClassifier("tree", max_depth=1, gamma=0.3, eta=0.02, favorable_label=0)
    model.fit(people, outcome, judgments=judgments)

    report = findings(model, people, judgments, outcome, groups=["race", "sex", "age"], simulated=True)
    write_report(report, tmp_path / "report.html", figures=tmp_path / "figures")
    assert (tmp_path / "report.html").stat().st_size < 4 * 2**20
