"""What a frontier has finished is found again, whole, and goes on."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairwise.auditing import frontier
from fairwise.auditing.curves import Checkpoint
from fairwise.datasets import make_people
from fairwise.errors import InputError
from fairwise.learning.oracles import tree
from fairwise.learning.oracles.linear import LinearClassifiers
from fairwise.simulation import simulate_panel

CURVES: dict[str, list[dict[str, Any]]] = {
    "ann": [{"error": 0.1, "kind": "exact"}],
    "béa": [{"error": 1 / 3}, {"error": 0.25}],
    "cy": [{"error": 0.0}],
}


def write(path: Path) -> None:
    kept = Checkpoint(path, "asked")
    for name, rows in CURVES.items():
        kept.add(name, rows)


def test_what_was_finished_is_found_again(tmp_path: Path) -> None:
    write(tmp_path / "kept")
    assert Checkpoint(tmp_path / "kept", "asked").finished == CURVES


def test_numbers_that_are_not_there_stay_so(tmp_path: Path) -> None:
    Checkpoint(tmp_path / "kept", "asked").add("ann", [{"lower_bound": float("nan")}])
    bound = Checkpoint(tmp_path / "kept", "asked").finished["ann"][0]["lower_bound"]
    assert isinstance(bound, float)
    assert math.isnan(bound)


@given(share=st.floats(0, 1))
def test_cut_anywhere_only_whole_curves_remain_and_the_rest_can_be_added(
    tmp_path_factory: pytest.TempPathFactory, share: float
) -> None:
    path = tmp_path_factory.mktemp("cut") / "kept"
    write(path)
    content = path.read_bytes()
    path.write_bytes(content[: round(share * len(content))])
    kept = Checkpoint(path, "asked")
    names = list(CURVES)[: len(kept.finished)]
    assert kept.finished == {name: CURVES[name] for name in names}
    for name in list(CURVES)[len(names) :]:
        kept.add(name, CURVES[name])
    assert path.read_bytes() == content
    assert Checkpoint(path, "asked").finished == CURVES


def test_a_damaged_line_is_not_believed(tmp_path: Path) -> None:
    write(tmp_path / "kept")
    content = (tmp_path / "kept").read_bytes()
    (tmp_path / "kept").write_bytes(content.replace(b"0.25", b"0.26"))
    assert list(Checkpoint(tmp_path / "kept", "asked").finished) == ["ann"]


def test_another_run_is_refused_and_kept(tmp_path: Path) -> None:
    write(tmp_path / "kept")
    before = (tmp_path / "kept").read_bytes()
    with pytest.raises(InputError, match="another run"):
        Checkpoint(tmp_path / "kept", "something else")
    assert (tmp_path / "kept").read_bytes() == before


def test_a_file_of_something_else_is_not_touched(tmp_path: Path) -> None:
    for content in (b"judge,a,b,answer\n" * 50, b"\x89PNG\r\n" + bytes(range(256))):
        (tmp_path / "mine").write_bytes(content)
        with pytest.raises(InputError, match="not a file of finished curves"):
            Checkpoint(tmp_path / "mine", "asked")
        assert (tmp_path / "mine").read_bytes() == content


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere"):
        Checkpoint(tmp_path / "nowhere" / "kept", "asked")


def test_the_last_classifiers_found_are_there_again(tmp_path: Path) -> None:
    kept = Checkpoint(tmp_path / "kept", "asked")
    for k in (1, 3):
        kept.keep_classifiers(LinearClassifiers(np.full((k, 2), 0.1), np.arange(k) / 3))
    again = Checkpoint(tmp_path / "kept", "asked").classifiers
    assert again is not None
    for name, values in {"coef": np.full((3, 2), 0.1), "intercept": np.arange(3) / 3}.items():
        assert np.array_equal(again.state()[name], values)


def test_the_panels_curve_goes_on_where_it_was_cut_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the classifiers found so far there is less to ask the oracle for, and the curve is the same."""
    people, outcome = make_people(200, 3, 1)
    judgments = simulate_panel(people, n_judges=3, n_pairs=8, seed=2)
    asked = []
    answer = tree.TreeOracle._answer

    def counted(self: tree.TreeOracle, *costs: Any) -> Any:
        asked.append(1)
        return answer(self, *costs)

    def run(**more: Any) -> tuple[pd.DataFrame, int]:
        asked.clear()
        curve = frontier(
            people, outcome, judgments, estimator="tree", favorable_label=1, gammas=(0.0, 0.1, 0.3), **more
        )
        return curve, len(asked)

    monkeypatch.setattr(tree.TreeOracle, "_answer", counted)
    whole, calls = run()

    def kill(done: int, _total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(checkpoint=tmp_path / "kept", progress=kill)
    resumed, calls_left = run(checkpoint=tmp_path / "kept")
    assert calls_left < calls
    pd.testing.assert_frame_equal(resumed, whole, rtol=0, atol=1e-4)
    again, none = run(checkpoint=tmp_path / "kept")
    assert none == 0
    pd.testing.assert_frame_equal(again, resumed, check_exact=True)
