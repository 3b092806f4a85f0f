"""Rules of a committee: what is in force for a panel as one, by what its judges said about each pair."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairwise.errors import InputError, some
from fairwise.judgments.answer import Answer, Oriented, PairDesign, orient
from fairwise.judgments.validation import CheckedTable, match

Rule: TypeAlias = str | Mapping[str, Any]
PANEL = "panel"
SIMULATED_PANEL = "simulated-panel"  # of judges who all are
MAJORITY = "majority"
_ALLOWED = (
    "allowed: 'majority', {'quota': 0.6}, {'veto': {'relation': 'affected'}}, {'one_vote_per': 'relation'}; the last "
    "two may stand beside a quota"
)


def aggregate(table: CheckedTable, rule: Rule, panel: str = PANEL) -> CheckedTable:
    """Return one row per pair, of one judge who goes by the name of the panel.

    Each answer asks for up to two things of a pair: that A be treated at least as well as B, and the other way round;
    `same` asks for both. Each is in force where the share of votes for it reaches the quota; of those asked, and of
    those predicted in so far as they are sure (a vote weighs what its row does). Both make `same`, none
    `no_constraint`. A pair of which all votes are predicted is a predicted one.

    - ``"majority"``: more than half.
    - ``{"quota": q}``: at least q, above 0 and at most 1.
    - ``{"veto": {attribute: value}}``: majority, unless any judge with this attribute does not ask for it: then it is
      not in force.
    - ``{"one_vote_per": attribute}``: majority of groups of judges; a group's vote is the mean of its judges'.
    """
    quota, veto, group = _read(rule, table.judge_attributes)
    rows = table.frame[table.counted].reset_index(drop=True)
    oriented = orient(rows)
    demands = _demands(rows["answer"], oriented_as=rows["a"].to_numpy() == oriented.people[oriented.first].to_numpy())
    weight = rows["weight"].to_numpy(dtype=np.float64)
    votes = pd.DataFrame({"pair": oriented.pair, "weight": weight, "first": demands[0], "second": demands[1]})
    if group is not None:
        votes["group"] = table.judge_attributes[group].astype(str).reindex(rows["judge"]).to_numpy()
        votes = _one_vote_each(votes)
    in_force = _shares(votes) >= quota - 1e-12 if rule != MAJORITY and "quota" in rule else _shares(votes) > quota
    if veto is not None:
        holders = np.isin(rows["judge"].to_numpy(), veto)
        for side in ("first", "second"):
            against = np.unique(oriented.pair[holders & ~demands[0 if side == "first" else 1]])
            in_force.loc[in_force.index.isin(against), side] = False
    return replace(
        table,
        frame=_panel_rows(rows, oriented, in_force, panel),
        counted=np.ones(len(in_force), dtype=bool),
        judge_attributes=match(None, pd.Series([panel] * min(len(in_force), 1), dtype=str)),
        panel=None,
    )


def _read(rule: Rule, attributes: pd.DataFrame) -> tuple[float, NDArray[Any] | None, str | None]:
    """Return the quota, the judges with a veto, and the attribute of groups with one vote each."""
    if rule == MAJORITY:
        return 0.5, None, None
    if not isinstance(rule, Mapping) or not rule or not set(rule) <= {"quota", "veto", "one_vote_per"}:
        raise InputError(f"aggregated: {rule!r}; {_ALLOWED}")
    quota = rule.get("quota", 0.5)
    if isinstance(quota, bool) or not isinstance(quota, int | float) or not 0 < quota <= 1:
        raise InputError(f"aggregated: quota={quota!r}; allowed: above 0 and at most 1")
    group, veto_holders = rule.get("one_vote_per"), rule.get("veto")
    if group is not None and not isinstance(group, str):
        raise InputError(f"aggregated: one_vote_per={group!r}; allowed: the name of one attribute of judges")
    if veto_holders is not None and (not isinstance(veto_holders, Mapping) or not veto_holders):
        raise InputError(f"aggregated: veto={veto_holders!r}; allowed: an attribute of judges and its value")
    for name in [*(veto_holders or ()), *([] if group is None else [group])]:
        if name not in attributes.columns:
            there = some(attributes.columns) if len(attributes.columns) else "none; give judge_attributes="
            raise InputError(f"aggregated: judges have no attribute {name!r}; there are {there}")
    veto = None
    if veto_holders is not None:
        holds = np.logical_and.reduce(
            [(attributes[name].astype(object) == value).to_numpy(dtype=bool) for name, value in veto_holders.items()]
        )
        if not holds.any():
            raise InputError(f"aggregated: no judge has {dict(veto_holders)!r}, so nobody could veto anything")
        veto = attributes.index[holds].to_numpy()
    return float(quota), veto, group


def _demands(answers: pd.Series, oriented_as: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return whether each row asks for the first of the two to be treated at least as well, and the second."""
    same = (answers == Answer.SAME).to_numpy(dtype=bool)
    a = same | (answers == Answer.A_AT_LEAST_B).to_numpy(dtype=bool)
    b = same | (answers == Answer.B_AT_LEAST_A).to_numpy(dtype=bool)
    return np.where(oriented_as, a, b), np.where(oriented_as, b, a)


def _one_vote_each(votes: pd.DataFrame) -> pd.DataFrame:
    """Return one row per pair and group: shares of its judges' votes, with weight 1."""
    for side in ("first", "second"):
        votes[side] = votes[side] * votes["weight"]
    sums = votes.groupby(["pair", "group"], dropna=False)[["first", "second", "weight"]].sum().reset_index()
    for side in ("first", "second"):
        sums[side] = sums[side] / sums["weight"].where(sums["weight"] > 0, 1.0)
    return sums.assign(weight=1.0)


def _shares(votes: pd.DataFrame) -> pd.DataFrame:
    """Return by pair the share of votes for each direction."""
    weighted = (
        votes[["first", "second"]].mul(votes["weight"], axis=0).assign(weight=votes["weight"], pair=votes["pair"])
    )
    sums = weighted.groupby("pair").sum()
    return sums[["first", "second"]].div(sums["weight"].where(sums["weight"] > 0, 1.0), axis=0)


def _panel_rows(rows: pd.DataFrame, oriented: Oriented, in_force: pd.DataFrame, panel: str) -> pd.DataFrame:
    first, second = (in_force[side].to_numpy(dtype=bool) for side in ("first", "second"))
    answers = np.select(
        [first & second, first, second],
        [str(Answer.SAME), str(Answer.A_AT_LEAST_B), str(Answer.B_AT_LEAST_A)],
        str(Answer.NO_CONSTRAINT),
    )
    pair, size = in_force.index.to_numpy(), max(len(oriented.people), 1)
    frame = pd.DataFrame(
        {
            "judge": pd.Series([panel] * len(pair), dtype=str),
            "a": oriented.people.take(pair // size),
            "b": oriented.people.take(pair % size),
            "answer": pd.Series(answers, dtype=str),
            "weight": 1.0,
            "round": np.ones(len(pair), dtype=np.int64),
            "design": pd.Series([str(PairDesign.FIXED)] * len(pair), dtype=str),
        }
    )
    if "error_bound" in rows:
        predicted = (rows["design"] == PairDesign.PREDICTED).groupby(oriented.pair).all().loc[pair].to_numpy(dtype=bool)
        frame.loc[predicted, "design"] = str(PairDesign.PREDICTED)
        frame["error_bound"] = rows["error_bound"].groupby(oriented.pair).max().loc[pair].where(predicted).to_numpy()
    return frame
