"""The guard: no ratio may fall to less than half of the one recorded last."""

from __future__ import annotations

import json
from pathlib import Path

Ratios = dict[str, dict[str, float]]
"""Of every row, its named ratios; larger is better."""

RECORDED = Path(__file__).with_name("recorded.json")
_LEAST_SHARE = 0.5


def fallen(measured: Ratios, recorded: Ratios) -> list[str]:
    """What is wrong, one sentence each; rows that were not run and ratios that are new are not looked at."""
    complaints = []
    for row, ratios in measured.items():
        for name, before in recorded.get(row, {}).items():
            now = ratios.get(name)
            if now is None:
                complaints.append(f"{row}: {name!r} was {before:.3g} and is not measured any more.")
            elif not now >= _LEAST_SHARE * before:  # nan has fallen, too
                complaints.append(f"{row}: {name!r} fell from {before:.3g} to {now:.3g}, less than half.")
    return complaints


def read(path: Path = RECORDED) -> Ratios:
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def record(measured: Ratios, path: Path = RECORDED) -> None:
    """Replace what is recorded of these rows, to three digits, and keep the others."""
    rounded = {row: {name: float(f"{value:.3g}") for name, value in ratios.items()} for row, ratios in measured.items()}
    path.write_text(json.dumps(read(path) | rounded, indent=2, sort_keys=True) + "\n", encoding="utf-8")
