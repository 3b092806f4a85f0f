"""Judgments and pairs as the numbers that a model of answers works with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from fairwise.errors import InputError, JudgmentsError, some
from fairwise.judgments.answer import FIRST, NEITHER, SAME, SECOND, Answer, PairDesign, orient
from fairwise.judgments.answer_model.choices import Scale
from fairwise.judgments.answer_model.features import Floats, Ints
from fairwise.judgments.answer_model.lapses import SaidRows
from fairwise.judgments.table import Judgments
from fairwise.judgments.validation import By
from fairwise.tables.columns import has_ids, make_of, to_pandas
from fairwise.tables.rows import PeopleIds, encode

_CODED = {SAME: Answer.SAME, FIRST: Answer.A_AT_LEAST_B, SECOND: Answer.B_AT_LEAST_A, NEITHER: Answer.NO_CONSTRAINT}
_QUICKEST = 0.1  # seconds; whatever is quicker is as quick


@dataclass(frozen=True, eq=False)
class AskedPairs:
    """What a panel said, pair by pair of each judge, sides in one order; predicted rows are none of it."""

    judges: list[object]
    people: list[object]
    """Ids, in the order of `first` and `second`."""

    judge: Ints
    """``(P,)``, and likewise:"""

    first: Ints
    second: Ints
    check: np.ndarray
    """Whether the two are identical, so that `same` is meant."""

    rows: SaidRows
    """Every answer, several of them perhaps about one pair."""

    row: Ints
    """``(N,)``: where each of them stands in the judgments' frame."""

    weight: Floats
    """``(N,)``: how many of all pairs each stands for, 1 on average; from the chance with which it was chosen."""

    @property
    def asked_again(self) -> np.ndarray:
        """``(P,)``: which pairs a judge answered more than once."""
        return np.bincount(self.rows.pair, minlength=len(self.judge)) > 1

    def only(self, pairs: np.ndarray) -> AskedPairs:
        """Return some of the pairs, chosen by a mask ``(P,)``; numbers of judges and people stay."""
        number = np.cumsum(pairs) - 1
        keep = pairs[self.rows.pair]
        rows = replace(
            self.rows,
            judge=self.rows.judge[keep],
            pair=number[self.rows.pair[keep]],
            said=self.rows.said[keep],
            pace=self.rows.pace[keep],
        )
        parts = {name: getattr(self, name)[pairs] for name in ("judge", "first", "second", "check")}
        return replace(self, **parts, rows=rows, row=self.row[keep], weight=self.weight[keep])


def which_answers(judgments: Judgments, wanted: Sequence[str] | None) -> Scale:
    """Return the answers that can be given: those wanted, or those that were given."""
    given = asked_only(judgments.frame)["answer"].unique()
    if not len(given):
        raise JudgmentsError("judgments: nobody has answered, so there is nothing to learn from")
    if wanted is not None:
        unknown = [answer for answer in wanted if answer not in set(Answer)]
        if unknown:
            raise InputError(f"answers: {some(unknown)}; allowed: {some(map(str, Answer))}")
    scale = Scale.of([Answer(answer) for answer in (given if wanted is None else wanted)])
    beyond = [answer for answer in given if answer not in scale.answers]
    if beyond:
        raise InputError(f"answers: without {some(beyond)}, which somebody gave")
    if len(scale.answers) < 2:
        raise InputError(
            f"judgments: every answer is {str(scale.answers[0])!r}, which says nothing about when another would be "
            "given; if others could be, name them all: answers=['same', 'no_constraint']"
        )
    return scale


def asked_only(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that somebody answered, not those that a model predicted."""
    return frame[frame["design"] != PairDesign.PREDICTED]


def asked_pairs(judgments: Judgments, scale: Scale, pace: tuple[float, float] | None = None) -> AskedPairs:
    """Read all rows, of all rounds and designs; `pace` is mean and spread of log-seconds, else taken from these."""
    frame = asked_only(judgments.frame)
    rows = orient(frame)
    check = (frame["design"] == PairDesign.CHECK).to_numpy(dtype=bool) & (Answer.SAME in scale.answers)
    key = pd.DataFrame({"judge": rows.judge, "first": rows.first, "second": rows.second, "check": check})
    pair: Ints = key.groupby(["judge", "first", "second", "check"], sort=True).ngroup().to_numpy().astype(np.int64)
    _, representative = np.unique(pair, return_index=True)
    places = np.array([scale.places.get(_CODED[code], -1) for code in range(len(_CODED))])
    said = places[rows.answer]
    if (said < 0).any():
        strange = frame["answer"].iloc[int((said < 0).argmax())]
        raise InputError(f"judgments: {strange!r} is not among the answers that the model learned from")
    return AskedPairs(
        judges=rows.judges.tolist(),
        people=rows.people.tolist(),
        judge=rows.judge[representative],
        first=rows.first[representative],
        second=rows.second[representative],
        check=check[representative],
        rows=SaidRows(rows.judge, pair, said, _pace(frame, pace), len(scale.answers)),
        row=frame.index.to_numpy(dtype=np.int64),
        weight=_design_weights(frame),
    )


def log_seconds(frame: pd.DataFrame) -> Floats:
    """Return the logarithms of how long answers took, NaN where nobody knows."""
    if "seconds" not in frame:
        return np.full(len(frame), np.nan)
    logs: Floats = np.log(np.maximum(frame["seconds"].to_numpy(dtype=np.float64), _QUICKEST))
    return logs


def usual_pace(judgments: Judgments) -> tuple[float, float]:
    """Return mean and standard deviation of the logarithm of seconds."""
    logs = log_seconds(asked_only(judgments.frame))
    logs = logs[~np.isnan(logs)]
    return (float(logs.mean()), float(logs.std()) or 1.0) if logs.size else (0.0, 1.0)


def _pace(frame: pd.DataFrame, usual: tuple[float, float] | None) -> Floats:
    mean, spread = usual or (0.0, 1.0)
    return np.clip(np.nan_to_num((log_seconds(frame) - mean) / spread), -3, 3)


def _design_weights(frame: pd.DataFrame) -> Floats:
    """Return 1 / selection_probability, of each design 1 on average; 1 where no probability is known."""
    if "selection_probability" not in frame:
        return np.ones(len(frame))
    weight = 1 / frame["selection_probability"]
    return (
        (weight / weight.groupby(frame["design"].to_numpy()).transform("mean")).fillna(1.0).to_numpy(dtype=np.float64)
    )


@dataclass(frozen=True, eq=False)
class WantedPairs:
    """Pairs to predict answers about: places of judges, -1 for somebody new, and of people."""

    judge: Ints
    left: Ints
    right: Ints
    index: pd.Index
    """Of the table they came in."""


def read_pairs(pairs: object, judges: Sequence[object], people: pd.Index) -> WantedPairs:
    """Check a table with columns judge, a and b; judges whom nobody knows are new members of the panel."""
    frame = to_pandas(pairs)
    if not isinstance(frame, pd.DataFrame):
        try:
            frame = pd.DataFrame(frame)
        except (ValueError, TypeError) as error:
            raise InputError("pairs: not a table; allowed: a DataFrame with the columns judge, a and b") from error
    missing = [name for name in ("judge", "a", "b") if name not in frame.columns]
    if missing:
        raise InputError(f"pairs: without {some(missing)}; needed: the columns judge, a and b (any other is ignored)")
    ids = PeopleIds(people)
    sides = []
    for side in ("a", "b"):
        codes, texts = encode(frame[side])
        place = np.append(ids.positions(texts), -1)[codes]
        if (place < 0).any():
            row = int((place < 0).argmax())
            who = "empty, which" if codes[row] < 0 else some([frame[side].iloc[row]])
            raise InputError(
                f"pairs, row {row + 1}, column {side}: {who} is nobody in people; to predict answers about "
                "others, give their rows: people=…"
            )
        sides.append(place.astype(np.int64))
    nobody = frame["judge"].isna().to_numpy()
    if nobody.any():
        raise InputError(
            f"pairs, row {int(nobody.argmax()) + 1}, column judge: empty; needed: a judge's name, or any other for "
            "somebody new"
        )
    codes, texts = encode(frame["judge"])
    known = PeopleIds(pd.Index(judges, dtype=object)).positions(texts)
    return WantedPairs(
        judge=np.append(known, -1)[codes].astype(np.int64),
        left=sides[0],
        right=sides[1],
        index=frame.index if has_ids(frame) else pd.RangeIndex(len(frame)),
    )


def people_of(judgments: Judgments) -> pd.DataFrame:
    """Return the judged people, by the ids (or positions) that the judgments name them with."""
    if not isinstance(judgments, Judgments):
        raise InputError(f"judgments: Judgments are needed, not {type(judgments).__name__}")
    if judgments.people is None:
        raise JudgmentsError(
            "judgments: made without people=, so nobody's features are known; see judgments.about(people)"
        )
    ids = pd.Index(pd.unique(np.concatenate([judgments.frame[side].to_numpy() for side in ("a", "b")])))
    return pd.DataFrame(judgments.people_rows(ids)).set_axis(ids, axis="index")


def people_table(people: object, by: By) -> pd.DataFrame:
    """Return whom pairs name, by id or position: everybody in a table, or those whom judgments are about."""
    if isinstance(people, Judgments):
        return people_of(people)
    table = to_pandas(people)
    if by == "position":
        if not isinstance(table, pd.DataFrame | np.ndarray):
            raise InputError(f"people: a DataFrame or an array is needed, not {type(people).__name__}")
        return pd.DataFrame(table).reset_index(drop=True)
    if not isinstance(table, pd.DataFrame) or not has_ids(table):
        kind = make_of(people) if isinstance(table, pd.DataFrame) else type(people).__name__
        raise InputError(f"people: a pandas DataFrame with ids in its index is needed, not {kind}")
    return table
