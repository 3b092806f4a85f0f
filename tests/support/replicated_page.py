"""The page of ``python -m replication --markdown`` read again, against the tables beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from fairwise.reporting.words import decimal

if TYPE_CHECKING:
    from pathlib import Path

_ORACLES = {"the paper's heuristic": "linear-regression", "the default's search": "linear", "trees, exact": "tree"}


def check_page(page: Path) -> None:
    """Fail where one of the page's tables differs from its file; that of groups need not be there."""
    numbers, parts, by_rounds, regrets, by_oracle, panel, *groups = _tables(page)
    folder = page.with_suffix("")

    kept = pd.read_csv(folder / "comparison.csv", dtype=str)
    assert [row[:2] for row in numbers] == kept[["number", "reported"]].to_numpy().tolist()
    assert [row[2:] for row in numbers] == kept[["paper", "same_oracle", "default", "proven"]].to_numpy().tolist()

    [means] = pd.read_csv(folder / "excess_in_parts.csv").to_dict("records")
    stated = ["averaging", "same_heuristic", "stronger_search", "excess"]
    assert [row[-1] for row in parts] == [decimal(means[name], 4) for name in stated]

    kept = pd.read_csv(folder / "excess_by_rounds.csv")
    for table in (by_rounds, regrets):
        settings = [[float(row[0]), _whole(row[1])] for row in table]
        assert settings == kept[["lambda_bound", "rounds"]].to_numpy().tolist()
    columns = ["error", "excess", "averaging", "same_heuristic", "stronger_search"]
    assert [row[2:3] + row[4:] for row in by_rounds] == _decimals(kept, columns)
    assert [row[3] for row in by_rounds] == [decimal(value) for value in kept["max_violation"]]
    assert [row[2:] for row in regrets] == _decimals(
        kept, ["dual_regret", "promised", "primal_regret", "oracle_regret"]
    )

    kept = pd.read_csv(folder / "excess_by_oracle.csv")
    assert [[_ORACLES[row[0]], _whole(row[1])] for row in by_oracle] == kept[["oracle", "rounds"]].to_numpy().tolist()
    columns = ["excess", "averaging", "dual_regret", "primal_regret", "oracle_regret"]
    assert [row[2:] for row in by_oracle] == _decimals(kept, columns)

    kept = pd.read_csv(folder / "panel_by_bounds.csv")
    rounds = sorted(kept["rounds"].unique())
    by_setting: Any = kept.set_index(["lambda_bound", "tau_bound", "rounds"])
    for row in panel:
        for count, cell in zip(rounds, row[2:], strict=True):
            at = float(row[0]), float(row[1]), count
            if cell == "–":
                assert at not in by_setting.index
            else:
                lowest, violation = by_setting.loc[at, ["lowest_error", "mean_violation"]]
                assert cell == f"{decimal(lowest, 3)} ({decimal(violation)})"

    if groups:
        kept = pd.read_csv(folder / "group_rates.csv")
        wide: Any = kept[~kept["few"]].pivot_table(
            index=["group", "other"], columns="method", values="correlation", sort=False
        )
        for row in groups[0]:
            pair = tuple(row[0].split(" and "))
            assert row[1:] == [decimal(wide.loc[pair, name]) for name in ("paper", "same_oracle", "default", "proven")]


def _tables(page: Path) -> list[list[list[str]]]:
    """The cells of every table, without its two first lines."""
    tables: list[list[list[str]]] = []
    before = ""
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("|"):
            if not before.startswith("|"):
                tables.append([])
            tables[-1].append([cell.strip() for cell in line.strip("|").split("|")])
        before = line
    return [table[2:] for table in tables]


def _decimals(table: pd.DataFrame, columns: list[str]) -> list[list[str]]:
    return [[decimal(value, 4) for value in row] for row in table[columns].to_numpy()]


def _whole(text: str) -> int:
    return int(text.replace(",", ""))
