"""Curves of a frontier, solved in memory or over a table that is read in blocks, and kept for another try."""

from __future__ import annotations

import base64
import io
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from pickle import PicklingError
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from fairwise.auditing.error_measure import ErrorMeasure
from fairwise.auditing.frontier import AMOUNT, PANEL, RATE, SHARE, VALUE, certified_row, followed_row, of_amounts
from fairwise.auditing.provenance import checksum_of_code, checksum_of_settings, checksum_of_tables
from fairwise.errors import InputError
from fairwise.learning.amounts import Amounts, numbers_of
from fairwise.learning.inputs import as_table, group_labels
from fairwise.learning.large.first_pass import read_summary
from fairwise.learning.large.fit import check_large_settings, count_games, play, prepare_large
from fairwise.learning.large.passes import joblib_on
from fairwise.learning.model.draws import of_all_labels
from fairwise.learning.model.mixture import Measurement, Mixture
from fairwise.learning.oracles.linear import LinearClassifiers
from fairwise.learning.oracles.tree_classifiers import TreeClassifiers
from fairwise.learning.preparation import prepare
from fairwise.learning.problem import mean_value
from fairwise.learning.settings import require_two_labels
from fairwise.learning.solvers.dispatch import solve_curve
from fairwise.learning.solvers.no_regret import seeds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairwise.auditing.error_measure import Model
    from fairwise.constraints.pairs import FloatArray
    from fairwise.judgments import Judgments
    from fairwise.learning.large.table import LargeTable
    from fairwise.learning.oracles.base import Classifiers
    from fairwise.learning.preparation import PreparedFit, PreparedProblem
    from fairwise.learning.solvers.solution import Solution

    Points = list[tuple[float, float | None]]
    Rows = list[dict[str, object]]


@dataclass(frozen=True, eq=False)
class FrontierRun:
    """Data that all curves of a run share."""

    people: Any
    outcome: Any
    judgments: Judgments
    settings: dict[str, Any]
    points: Points
    sample_weight: Any
    sensitive_features: Any
    groups: pd.Series | None
    start: Classifiers | None
    n_not_followed: int | None
    amounts: Amounts | None = None

    def solve(
        self,
        judges: list[object],
        n_jobs: int,
        progress: Callable[[int], None],
        client: object,
        keep: Callable[[Classifiers], None] | None = None,
    ) -> Iterator[tuple[object, Rows]]:
        """Each judge (None: the panel) with the curve, as finished; ``keep`` gets what is found meanwhile."""

        def step(classifiers: Classifiers | None) -> None:
            if keep is not None and classifiers is not None:
                keep(classifiers)
            progress(1)

        start = self.start
        if start is None and self.settings["solver"] == "column-generation" and judges and judges != [None]:
            start = self._seeds()
        if client is None and (len(judges) == 1 or n_jobs == 1):
            yield from ((judge, self._curve(judge, start, step)[1]) for judge in judges)
            return
        # Games against the regression oracle are compiled and over before a process would have started.
        quick = self.settings["estimator"] == "linear-regression" and self.settings["solver"] == "no-regret"
        work = (delayed(self._curve)(judge, start) for judge in judges)
        jobs = n_jobs if client is None else -1
        with threadpool_limits(1), joblib_on(client):
            parallel = Parallel(n_jobs=jobs, prefer="threads" if quick else None, return_as="generator_unordered")
            for judge, rows in parallel(work):
                progress(len(rows))
                yield judge, rows

    def _curve(
        self, judge: object, start: Classifiers | None, step: Callable[[Classifiers | None], None] = lambda _found: None
    ) -> tuple[object, Rows]:
        """Solve one curve, on one thread: the same numbers for any number of workers."""
        with threadpool_limits(1):
            prepared = self._prepared(self.judgments if judge is None else self.judgments.select([judge]))
            solutions = solve_curve(prepared, self.points, start, step)
            return judge, [
                {
                    "judge": PANEL if judge is None else judge,
                    **_row(prepared, solution, point, self.settings, self._n_people, self.n_not_followed, self.amounts),
                    **self._predictions(prepared, solution),
                }
                for point, solution in zip(self.points, solutions, strict=True)
            ]

    def _prepared(self, judgments: Judgments) -> PreparedFit:
        # Any limit but 0 will do: it makes room for a budget, and each point of the curve sets its own.
        settings = {**self.settings, "gamma": 0.0, "eta": 1.0}
        more = (judgments, self.sample_weight, self.sensitive_features)
        return prepare(settings, self.people, self.outcome, *more, amounts=self.amounts)

    def _seeds(self) -> Classifiers | None:
        """Where the class is linear: what a few rounds of the dynamics find for the whole panel, for every judge."""
        with threadpool_limits(1):
            prepared = self._prepared(self.judgments)
            return seeds(prepared.scaled.problem, prepared.oracle)

    @property
    def _weight(self) -> FloatArray:
        """The largest is 1."""
        weight: FloatArray = np.ones(len(self.people)) if self.sample_weight is None else np.asarray(self.sample_weight)
        return np.asarray(weight / weight.max(), dtype=float)

    @property
    def _n_people(self) -> float:
        """Return the number of people of equal weight that the table is worth (Kish)."""
        weight = self._weight
        return float(weight.sum() ** 2 / (weight**2).sum())

    def _predictions(self, prepared: PreparedFit, solution: Solution) -> dict[str, float]:
        """Return weighted rates of each group, and for amounts the loss of their mean.

        Of two labels the false positive rate: how likely someone without label 1 is to get it. Of more, how well the
        group is treated, and how often it gets each label; of amounts that, and its mean amount.
        """
        if self.groups is None and self.amounts is None:
            return {}
        mixture = Mixture(solution.classifiers, solution.weights, len(prepared.classes))
        probability = mixture.probabilities(prepared.problem.points.rows)
        # The people with positive weight, in the order in which a problem has them.
        weight = self._weight
        counts = weight > 0
        of_people = probability[prepared.people]
        if self.amounts is not None:
            return self._mean_amounts(self.amounts, of_people, weight, counts)
        assert self.groups is not None
        group = self.groups.to_numpy()
        if len(prepared.classes) == 2:
            negative = counts & (np.asarray(self.outcome) != prepared.classes[1])
            return self._means(RATE, of_people[negative[counts]], group[negative], weight[negative])
        values = prepared.problem.label_values
        rates = (
            {} if values is None else self._means(VALUE, mean_value(of_people, values), group[counts], weight[counts])
        )
        for label, chance in zip(prepared.classes.tolist(), of_all_labels(of_people).T, strict=True):
            rates |= self._means(f"{SHARE}{label} ", chance, group[counts], weight[counts])
        return rates

    def _mean_amounts(
        self, amounts: Amounts, of_people: FloatArray, weight: FloatArray, counts: NDArray[Any]
    ) -> dict[str, float]:
        given = amounts.low + (amounts.high - amounts.low) * mean_value(of_people, amounts.values)
        own = numbers_of(self.outcome, as_table(self.people))[counts]
        result = {"mean_error": amounts.mean_loss(own, given, weight[counts])}
        if self.groups is not None:
            group = self.groups.to_numpy()[counts]
            for name, values in ((VALUE, amounts.shares(given)), (AMOUNT, given)):
                result |= self._means(name, values, group, weight[counts])
        return result

    def _means(self, name: str, values: FloatArray, group: NDArray[Any], weight: FloatArray) -> dict[str, float]:
        """The weighted mean of each group, NaN where there is nobody."""
        assert self.groups is not None
        means = pd.Series(weight * values).groupby(group).sum() / pd.Series(weight).groupby(group).sum()
        return {f"{name}{one}": float(means.get(one, np.nan)) for one in sorted(self.groups.unique(), key=str)}


def trace(
    people: Any,
    outcome: object,
    judgments: Judgments,
    settings: dict[str, object],
    points: Points,
    judges: list[object],
    *,
    n_jobs: int,
    checkpoint: str | PathLike[str] | None,
    progress: Callable[[int, int], None] | None,
    sample_weight: object,
    sensitive_features: object,
    groups: object,
    start: Model | None,
    n_not_followed: int | None,
    client: object,
) -> Rows:
    """The curve of each judge (None: the panel), those that a checkpoint has read and not solved again."""
    index = people.index if isinstance(people, pd.DataFrame) else pd.RangeIndex(len(people))
    run = FrontierRun(
        *(people, outcome, judgments, settings, points, sample_weight, sensitive_features),
        groups=None if groups is None else group_labels(groups, index, "groups"),
        start=None if start is None else start.classifiers_,
        n_not_followed=n_not_followed,
        amounts=Amounts.asked(numbers_of(outcome, as_table(people)), settings) if of_amounts(settings) else None,
    )
    of_panel = judges == [None]
    kept = None if checkpoint is None else Checkpoint(checkpoint, _fingerprint(run, "panel" if of_panel else "judge"))
    finished: dict[str, Rows] = {} if kept is None else kept.finished
    left = [judge for judge in judges if str(judge) not in finished]
    count = _Progress(progress, len(judges) * len(points), (len(judges) - len(left)) * len(points))
    keep = None
    if kept is not None and of_panel:  # of many curves, those that are finished are enough
        run, keep = replace(run, start=kept.classifiers or run.start), kept.keep_classifiers
    for judge, rows in run.solve(left, n_jobs, count.step, client, keep):
        finished[str(judge)] = rows
        if kept is not None:
            kept.add(str(judge), rows)
    return [row for judge in judges for row in finished[str(judge)]]


class _Progress:
    def __init__(self, tell: Callable[[int, int], None] | None, total: int, done: int) -> None:
        self._tell, self._total, self._done = tell, total, done
        self.step(0)

    def step(self, points: int) -> None:
        self._done += points
        if self._tell is not None:
            self._tell(self._done, self._total)


def _fingerprint(run: FrontierRun, by: str) -> str:
    """Return a checksum of everything that the numbers depend on."""
    content = checksum_of_tables(
        run.people,
        run.outcome,
        run.judgments.counted(),
        run.judgments.judge_attributes,
        run.judgments.people,
        run.sample_weight,
        run.sensitive_features,
        run.groups,
    )
    try:
        settings = checksum_of_settings(run.settings if run.start is None else (run.settings, run.start))
    except PicklingError as error:
        raise InputError(f"checkpoint= needs an estimator that can be pickled: {error.args[0]}") from None
    more = () if run.n_not_followed is None else (run.n_not_followed,)
    content.update(repr((checksum_of_code(), by, run.points, settings, *more)).encode())
    return content.hexdigest()


def solve_large(
    table: LargeTable,
    judgments: Judgments,
    points: Points,
    settings: dict[str, object],
    judges: Sequence[object],
    n_not_followed: int | None,
    client: object = None,
) -> Rows:
    """The rows of :class:`FrontierRun` for a table that is read once before all games and once after them."""
    settings = {**settings, "gamma": 0.0, "eta": 1.0}
    checked = check_large_settings(settings, table, two_passes=True)
    table = table.only_features(checked.features)
    summary = read_summary(table, judgments, client)
    if table.groups is not None:
        require_two_labels(summary.outcomes, "groups=, false positive rates,")
    own = [prepare_large(checked, summary, judgments if one is None else judgments.select([one])) for one in judges]
    games = [play(summary, prepared, [prepared.problem.at_point(*point) for point in points]) for prepared in own]
    rows = []
    for judge, prepared, counted in zip(judges, own, count_games(table, summary, games, client), strict=True):
        for point, (solution, count) in zip(points, counted, strict=True):
            row = _row(prepared, solution, point, settings, summary.n_rows, n_not_followed)
            if table.groups is not None:
                with np.errstate(invalid="ignore"):
                    rates = count.given[:, 0, 0] @ solution.weights / count.people[:, 0]
                row |= {f"{RATE}{group}": float(rate) for group, rate in zip(summary.groups, rates, strict=True)}
            rows.append({"judge": PANEL if judge is None else judge, **row})
    return rows


def _row(
    prepared: PreparedProblem,
    solution: Solution,
    point: tuple[float, float | None],
    settings: dict[str, Any],
    n_people: float,
    n_not_followed: int | None,
    amounts: Amounts | None = None,
) -> dict[str, object]:
    """One point as a line; ``n_people`` is how many people of equal weight the table is worth."""
    measured = Measurement(prepared, solution)
    certificate = measured.certificate(*point, settings["weighting"])
    if amounts is not None:
        certificate = amounts.in_units(certificate)
    low, high = ErrorMeasure.of(None if amounts else settings["loss"], amounts).interval(certificate.error, n_people)
    row = certified_row(certificate) | {"error_low": low, "error_high": high}
    return row if n_not_followed is None else row | followed_row(measured.prices(point[0]), n_not_followed)


_KINDS: dict[str, type[LinearClassifiers | TreeClassifiers]] = {
    kind.__name__: kind for kind in (LinearClassifiers, TreeClassifiers)
}


class Checkpoint:
    """Finished points of a run, on disk, so that a run killed at any moment goes on where it was.

    That is whole curves, and of an unfinished one the ``classifiers`` found. ``fingerprint`` is what the run was asked,
    so that none is mixed up. One line for each, written whole and flushed to the disk before the next begins; a line
    that a kill cut short does not match its checksum and is done again.
    """

    def __init__(self, path: str | os.PathLike[str], fingerprint: str) -> None:
        self._path = Path(path)
        self.finished: dict[str, Rows] = {}
        self.classifiers: Classifiers | None = None
        try:
            length = self._read(fingerprint)
            # What follows the last whole line is the beginning of one that was cut short.
            with self._path.open("r+b" if self._path.exists() else "x+b") as file:
                file.truncate(length)
            if length == 0:
                self._append({"run": fingerprint})
        except OSError as error:
            raise InputError(f"{self._path}: cannot keep finished curves here: {error.strerror}") from error

    def add(self, curve: str, rows: Rows) -> None:
        """Keep a finished curve for good."""
        self._append({"curve": curve, "rows": rows})
        self.finished[curve] = rows

    def keep_classifiers(self, classifiers: Classifiers) -> None:
        """Keep what was found for a curve that is not finished; fitted estimators of others are not written down."""
        if type(classifiers).__name__ in _KINDS:
            arrays = {name: _array_text(values) for name, values in classifiers.state().items()}
            self._append({"kind": type(classifiers).__name__, "classifiers": arrays})

    def _append(self, content: Mapping[str, object]) -> None:
        with self._path.open("ab") as file:
            file.write(_line(content))
            file.flush()
            os.fsync(file.fileno())

    def _read(self, fingerprint: str) -> int:
        """Take up the finished curves; returns the length of what can be used."""
        if not self._path.exists():
            return 0
        length, header = 0, _line({"run": fingerprint})
        for number, line in enumerate(self._path.read_bytes().splitlines(keepends=True)):
            checksum, _, text = line.rstrip(b"\n").partition(b" ")
            if not line.endswith(b"\n") or checksum != b"%08x" % crc32(text):
                if number == 0 and not header.startswith(line):
                    raise InputError(f"{self._path}: not a file of finished curves; nothing was changed.")
                break
            content = json.loads(text)
            if number == 0 and content != {"run": fingerprint}:
                raise InputError(
                    f"{self._path} holds curves of another run: other people, judgments, settings or version. "
                    "Delete it to begin anew, or choose another file."
                )
            if "curve" in content:
                self.finished[content["curve"]] = content["rows"]
            elif "classifiers" in content:
                arrays = {name: _array(text) for name, text in content["classifiers"].items()}
                self.classifiers = _KINDS[content["kind"]](**arrays)
            length += len(line)
        return length


def _line(content: Mapping[str, object]) -> bytes:
    text = json.dumps(content)
    return f"{crc32(text.encode()):08x} {text}\n".encode()


def _array_text(values: NDArray[Any]) -> str:
    file = io.BytesIO()
    np.save(file, values, allow_pickle=False)
    return base64.b64encode(file.getvalue()).decode()


def _array(text: str) -> NDArray[Any]:
    values: NDArray[Any] = np.load(io.BytesIO(base64.b64decode(text)), allow_pickle=False)
    return values
