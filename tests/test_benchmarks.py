"""The benchmarks' own machinery: the guard, the table of rivals and the page. Nothing is timed here."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
RECORDED = {"loop": {"times faster": 20.0, "reading / fit": 0.8}, "pages": {"bar / median": 3.0}}


@pytest.fixture(autouse=True)
def _from_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT)


@pytest.fixture
def guard() -> Any:
    return import_module("benchmarks.guard")


def test_half_of_what_was_recorded_is_enough(guard: Any) -> None:
    assert guard.fallen({"loop": {"times faster": 10.0, "reading / fit": 5.0}}, RECORDED) == []


@pytest.mark.parametrize("now", [9.9, 0.0, float("nan")])
def test_less_than_half_is_named_with_both_numbers(guard: Any, now: float) -> None:
    (complaint,) = guard.fallen({"loop": {"times faster": now, "reading / fit": 0.8}}, RECORDED)
    assert all(word in complaint for word in ("loop", "times faster", "20", f"{now:.3g}"))


def test_a_ratio_cannot_disappear_and_a_new_one_may_come(guard: Any) -> None:
    (complaint,) = guard.fallen({"pages": {"new": 1.0}, "other": {"new": 1.0}}, RECORDED)
    assert "pages" in complaint
    assert "bar / median" in complaint


def test_recording_replaces_the_rows_that_ran_and_keeps_the_others(guard: Any, tmp_path: Path) -> None:
    path = tmp_path / "recorded.json"
    assert guard.read(path) == {}
    guard.record(RECORDED, path)
    guard.record({"loop": {"times faster": 12.3456}}, path)
    assert guard.read(path) == {"loop": {"times faster": 12.3}, "pages": RECORDED["pages"]}


def test_a_fall_fails_the_run_and_is_recorded_only_when_asked(
    guard: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked = import_module("benchmarks.__main__").checked
    path = tmp_path / "recorded.json"
    guard.record(RECORDED, path)
    monkeypatch.setattr(guard.read, "__defaults__", (path,))
    monkeypatch.setattr(guard.record, "__defaults__", (path,))
    fell = {"pages": {"bar / median": 1.0}}
    with pytest.raises(SystemExit, match="--record") as stopped:
        checked(fell, full=True, record=False)
    assert stopped.value.code != 0
    assert guard.read(path) == RECORDED
    checked({"pages": {"bar / median": 2.0}}, full=True, record=False)
    assert guard.read(path)["pages"] == {"bar / median": 2.0}
    checked({"pages": {"bar / median": 0.5}}, full=False, record=True)
    assert guard.read(path)["pages"] == {"bar / median": 0.5}
    checked({"pages": {"bar / median": 4.0}}, full=False, record=False)
    assert guard.read(path)["pages"] == {"bar / median": 0.5}


def test_every_row_has_a_module_and_only_rows_are_left_out() -> None:
    names = import_module("benchmarks.__main__")
    assert len(set(names.NAMES)) == len(names.NAMES)
    assert set(names.NAMES) > names.SHORT
    for name in names.NAMES:
        module, function = import_module("benchmarks.runs").place(name)
        text = (ROOT / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8")
        assert re.search(rf"^def {function}\(\) -> Row:", text, re.MULTILINE), name


def test_the_page_is_made_of_what_was_measured(tmp_path: Path) -> None:
    rivals, row, runs, page = (import_module(f"benchmarks.{name}") for name in ("rivals", "row", "runs", "page"))
    duel = rivals.Duel(
        "one problem", rivals.Measured(0.5, 3, 0.25, 0.01, 0.5), rivals.Measured(2.0, None, 0.375, 0.02), True
    )
    measured = {
        "loop": runs.Run(row.Row("what", "bar", "4 times", True, "How.", duels=(duel,)), 1.0, 2**29),
        "pages": runs.Run(row.Row("other", "bar", "slow", False, "Notes."), 1.0, 2**30),
    }
    page.write(measured, "- a machine", tmp_path)
    text = (tmp_path / "benchmarks.md").read_text(encoding="utf-8")
    assert "| [loop](#loop) | what | bar | 4 times | yes | 0.50 GiB |" in text
    assert "| [pages](#pages) | other | bar | slow | **no** | 1.00 GiB |" in text
    assert "| one problem | 0.5 / 2 | 3 / — | 0.2500 / 0.3750 | 0.5000 / — | 0.0100 / 0.0200 | 4 | yes |" in text
    assert text.count("# ") == 4
    figure = tmp_path / "figures" / "benchmarks_rivals.svg"
    drawn = figure.read_bytes()
    page.write(measured, "- a machine", tmp_path)
    assert figure.read_bytes() == drawn
    assert "](figures/benchmarks_rivals.svg)" in text


def test_what_the_peers_need_is_pinned_and_names_no_place() -> None:
    lines = (ROOT / "benchmarks" / "peers" / "requirements.txt").read_text(encoding="utf-8").splitlines()
    wanted = [line for line in lines if not line.startswith("#")]
    assert any(line.startswith("aif360==") for line in wanted)
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in wanted)
