"""Linear programmes that grow and shrink, kept warm in HiGHS."""

from __future__ import annotations

from collections.abc import Sequence

import highspy
import numpy as np
from numpy.typing import NDArray

from fairwise.errors import SolverError
from fairwise.learning.oracles.base import FloatArray, IntArray
from fairwise.learning.solvers.solution import FEASIBLE

INFINITY = highspy.kHighsInf


def quiet_highs() -> highspy.Highs:
    lp = highspy.Highs()
    lp.setOptionValue("output_flag", False)
    lp.setOptionValue("presolve", "off")  # it would throw the warm basis away
    lp.setOptionValue("threads", 1)
    lp.setOptionValue("primal_feasibility_tolerance", FEASIBLE)
    lp.setOptionValue("dual_feasibility_tolerance", FEASIBLE)
    return lp


def run(lp: highspy.Highs) -> tuple[FloatArray, FloatArray]:
    lp.run()
    if lp.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        lp.clearSolver()  # once more from a cold start, before giving up
        lp.run()
    status = lp.getModelStatus()
    if status != highspy.HighsModelStatus.kOptimal:
        raise SolverError(
            f"The linear programme over the classifiers could not be solved: HiGHS reports "
            f"{lp.modelStatusToString(status)!r}. Try a larger gamma or eta, or check for extreme sample weights."
        )
    solution = lp.getSolution()
    return np.array(solution.col_value), np.array(solution.row_dual)


def add_rows(
    lp: highspy.Highs, lower: FloatArray, upper: FloatArray, entries: Sequence[tuple[IntArray, FloatArray]]
) -> None:
    starts, indices, values = _pack(entries, len(lower))
    lp.addRows(len(lower), lower, upper, len(indices), starts, indices, values)


def add_columns(
    lp: highspy.Highs, costs: FloatArray, rows: IntArray | None = None, coefficients: FloatArray | None = None
) -> None:
    """Columns of nonnegative variables, with ``coefficients`` ``(r, k)`` in the ``rows`` ``(r,)``; None for nowhere."""
    starts, indices, values = _pack([], len(costs))
    if rows is not None and coefficients is not None:
        column, place = np.nonzero(coefficients.T)
        starts = np.searchsorted(column, np.arange(len(costs))).astype(np.int32)
        indices, values = rows[place].astype(np.int32), coefficients[place, column]
    none, open_end = np.zeros(len(costs)), np.full(len(costs), INFINITY)
    lp.addCols(len(costs), costs, none, open_end, len(indices), starts, indices, values)


def drop_columns(lp: highspy.Highs, which: IntArray) -> None:
    """Take out columns that are 0 in the solution found; HiGHS would forget its basis with them."""
    basis = lp.getBasis()
    kept = np.delete(np.array(basis.col_status), which)
    lp.deleteCols(len(which), which.astype(np.int32))
    basis.col_status = kept.tolist()
    lp.setBasis(basis)


def drop_rows(lp: highspy.Highs, which: IntArray) -> None:
    """Take out rows that are basic in the solution found: what is left of the basis is one."""
    basis = lp.getBasis()
    kept = np.delete(np.array(basis.row_status), which)
    lp.deleteRows(len(which), which.astype(np.int32))
    basis.row_status = kept.tolist()
    lp.setBasis(basis)


def _pack(
    entries: Sequence[tuple[IntArray, FloatArray]], length: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], FloatArray]:
    if not entries:
        return np.zeros(length, dtype=np.int32), np.empty(0, dtype=np.int32), np.empty(0)
    starts = np.cumsum([0, *(len(index) for index, _ in entries[:-1])]).astype(np.int32)
    indices = np.concatenate([index for index, _ in entries]).astype(np.int32)
    return starts, indices, np.concatenate([value for _, value in entries])
