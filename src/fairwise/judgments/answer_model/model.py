"""AnswerModel: what judges mean, learned from their answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairwise.errors import InputError, some
from fairwise.judgments.answer import Answer, PairDesign
from fairwise.judgments.answer_model.encoding import (
    EncodedPeople,
    Floats,
    PeopleEncoder,
    WantedPairs,
    answered_pairs,
    people_of,
    people_table,
    read_pairs,
    usual_pace,
    which_answers,
)
from fairwise.judgments.answer_model.hierarchy import HeldOutAnswers, Hierarchy, attribute_design
from fairwise.judgments.table import Judgments
from fairwise.judgments.validation import People
from fairwise.numbers import counted

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame

    from fairwise.judgments.table import Judgments
    from fairwise.judgments.validation import People


def drivers(learned: Hierarchy, encoder: PeopleEncoder) -> pd.DataFrame:
    """Return for every judge and column of people its share in the judge's answers, and what it favours.

    A column's part is the sum over blocks of coefficients of the standard deviation, over all pairs asked, of what the
    column adds to the block's score; shares add up to 1. It favours more of a number if more of it moves the answer
    towards its bearer being treated at least as well; of categories the one that does so most.
    """
    pairs, scale = learned.pairs, learned.scale
    blocks = scale.blocks(learned.people, pairs.first, pairs.second)
    ordered = Answer.A_AT_LEAST_B in scale.answers
    names = [encoder.merit_columns] if ordered else []
    names += [encoder.distance_columns] * (len(scale.signs) - len(names))
    ends = np.cumsum([block.shape[1] for block in blocks])
    parts = np.zeros((len(pairs.judges), len(encoder.columns)))
    for block, columns, end in zip(blocks, names, ends, strict=True):
        coefficients = learned.beliefs.mean[:, end - block.shape[1] : end]
        for place, name in enumerate(encoder.columns):
            own = _places(columns, name)
            spread = np.cov(block[:, own].T).reshape(len(own), len(own)) if len(block) > 1 else np.eye(len(own))
            variance = np.einsum("jf,fg,jg->j", coefficients[:, own], spread, coefficients[:, own])
            parts[:, place] += np.sqrt(np.maximum(variance, 0))
    total = parts.sum(axis=1, keepdims=True)
    shares = np.divide(parts, total, out=np.zeros_like(parts), where=total > 0)
    index = pd.MultiIndex.from_product([pairs.judges, encoder.columns], names=["judge", "column"])
    favours = [
        _favoured(name, coefficients, learned.people, encoder) if ordered else None
        for coefficients in learned.beliefs.mean
        for name in encoder.columns
    ]
    return pd.DataFrame({"share": shares.ravel(), "favours": pd.array(favours, dtype=object)}, index=index)


def _places(columns: list[object], name: object) -> list[int]:
    return [place for place, column in enumerate(columns) if column is not None and column == name]


def _favoured(name: object, coefficients: Floats, people: EncodedPeople, encoder: PeopleEncoder) -> object:
    """Return what a judge favours in a column: "more" or "less" of a number, or a category."""
    own = _places(encoder.merit_columns, name)
    numbers = [column.name for column in encoder.numbers]
    if name in numbers:
        slope = (people.merits[:, own] @ coefficients[own]) @ people.numbers[:, numbers.index(name)]
        return "more" if slope > 0 else "less"
    category = next(column for column in encoder.categories if column.name == name)
    best = int(np.argmax(coefficients[own]))
    values = [value for value, code in category.codes.items() if code == best]
    return "missing" if values[0] == ("missing",) else values[0] if len(values) == 1 else "other"


# Candidates for each requested row, before the search ends.
_CANDIDATES_PER_ROW = 40
_AT_ONCE = 20_000


def predicted_rows(
    model: AnswerModel,
    judgments: Judgments,
    table: People | None,
    n_pairs: int,
    coverage: float,
    random_state: int,
) -> pd.DataFrame:
    """Return up to `n_pairs` rows, each for a judge and a pair of people that this judge was not asked about.

    They are drawn from `table`, or from those whom the judgments are about.
    """
    source = judgments if table is None else table
    people = people_table(source, judgments.by)
    if isinstance(n_pairs, bool) or not isinstance(n_pairs, Integral) or n_pairs < 1:
        raise InputError(f"n_pairs={n_pairs!r}; allowed: a whole number, 1 or more")
    if len(people) < 2:
        raise InputError("people: two or more are needed to make pairs of")
    check_seed(random_state)
    _check_coverage(judgments, model.judges_, people.index)
    rng = np.random.default_rng(random_state)
    ours = set(judgments.frame["judge"])
    judges = pd.Series([judge for judge in model.judges_ if judge in ours], dtype=object)
    present = _present_pairs(judgments, judges, people.index)
    kept: list[pd.DataFrame] = []
    n_rows, n_candidates = 0, 0
    while n_rows < n_pairs and n_candidates < _CANDIDATES_PER_ROW * n_pairs:
        judge, left, right = _candidates(rng, len(judges), len(people), present)
        n_candidates += _AT_ONCE
        pairs = pd.DataFrame(
            {"judge": judges.take(judge).to_numpy(), "a": people.index.take(left), "b": people.index.take(right)}
        )
        sure = _sure(model, pairs, source, coverage).head(n_pairs - n_rows)
        kept.append(sure)
        n_rows += len(sure)
        if not len(judge):
            break
    if not n_rows:
        raise InputError(
            f"extended: at coverage {coverage:g} no pair has a set of one answer, so nothing can be predicted; a lower "
            "coverage, or more answers to learn from, may help"
        )
    rows = pd.concat(kept, ignore_index=True)
    same_type = rows["judge"].astype(judgments.frame["judge"].dtype)
    return rows.assign(
        judge=same_type, design=str(PairDesign.PREDICTED), round=1, error_bound=model.error_bound(coverage)
    )


def check_seed(seed: object) -> None:
    """Refuse what cannot seed a draw."""
    if isinstance(seed, bool) or not isinstance(seed, Integral) or int(seed) < 0:
        raise InputError(f"random_state={seed!r}; allowed: a whole number, 0 or more")


def _check_coverage(judgments: Judgments, judges: list[object], people: pd.Index) -> None:
    """Refuse judges that the model was not fitted to, and people without a row."""
    frame = judgments.frame
    strangers = frame["judge"][~frame["judge"].isin(judges)].unique()
    if len(strangers):
        raise InputError(
            f"extended: the model has learned nothing from {some(strangers)}; fit it to these judgments, or to "
            "others of the same judges"
        )
    missing = judgments.person_ids().difference(people, sort=False)
    if len(missing):
        raise InputError(f"people: without {some(missing)}, whom judgments are about; give the rows of everybody")


def _present_pairs(judgments: Judgments, judges: pd.Series, people: pd.Index) -> set[tuple[int, int, int]]:
    """Return what was asked or predicted already, as places of judge and people, the lower first."""
    frame = judgments.frame
    places = [
        pd.Index(judges).get_indexer(pd.Index(frame["judge"])),
        *(people.get_indexer(pd.Index(frame[side])) for side in "ab"),
    ]
    return {(int(j), min(int(a), int(b)), max(int(a), int(b))) for j, a, b in zip(*places, strict=True)}


def _candidates(
    rng: np.random.Generator, n_judges: int, n_people: int, present: set[tuple[int, int, int]]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return judges and pairs that are new, each once, and note them as taken."""
    draws = np.stack([rng.integers(n_judges, size=_AT_ONCE), *rng.integers(n_people, size=(2, _AT_ONCE))])
    new = []
    for judge, left, right in draws[:, draws[1] != draws[2]].T.tolist():
        key = (judge, min(left, right), max(left, right))
        if key not in present:
            present.add(key)
            new.append((judge, left, right))
    judge, left, right = np.array(new, dtype=np.int64).reshape(-1, 3).T
    return judge, left, right


def _sure(model: AnswerModel, pairs: pd.DataFrame, people: Any, coverage: float) -> pd.DataFrame:
    """Return the pairs whose set has one answer, with it and its probability."""
    if not len(pairs):
        return pairs.assign(answer=pd.Series(dtype=str), weight=pd.Series(dtype=np.float64))
    sets = model.predict_sets(pairs, coverage, people=people).to_numpy(dtype=bool)
    chance = model.predict_proba(pairs, people=people).to_numpy()
    single = sets.sum(axis=1) == 1
    which = sets[single].argmax(axis=1)
    answers = np.array([str(answer) for answer in Answer], dtype=object)[which]
    sure: pd.DataFrame = pairs[single].assign(answer=answers, weight=chance[single, which]).reset_index(drop=True)
    return sure


COLUMNS = [str(answer) for answer in Answer]


class AnswerModel:
    """One hierarchical model of a panel's answers: what judges share, how each differs, how steady each is.

    What someone means about two people follows from how far they are apart, where they stand, and who is ahead, with
    coefficients of the judge's own (`answer_model/choices.py: Scale` has the formula). These are spread about what all
    judges share and what attributes of judges explain; how far is learned from the panel (`panel.py`). What someone
    presses is what they mean, or now and then any answer; how often follows from pairs that were asked again, checks,
    and how quickly they answered (`lapses.py`). Changing the sides of a pair exchanges the two ordered answers and
    nothing else.

    Parameters
    ----------
    answers : answers, optional
        Which could be given; by default those that were.
    columns : columns of people, optional
        Which to look at, by default all.
    random_state : int
        Which answers are held out together to calibrate sets.

    Attributes
    ----------
    judges_ : list
        The panel it learned from.
    answers_ : tuple of Answer
        Which can be given.
    reliability_ : DataFrame by judge
        The ``probability`` of the same answer if asked again, ``low`` and ``high`` (95 %), and from how many pairs
        ``asked_again`` and ``checks`` that is known.
    drivers_ : DataFrame by judge and column of people
        The ``share`` of the column in the judge's answers; and what it ``favours``: ``"more"`` or ``"less"`` of a
        number, or a category.
    notes_ : list of str
        What to know about these judgments, a sentence each.

    Examples
    --------
    >>> from fairwise import AnswerModel, datasets
    >>> from fairwise.simulation import simulate_panel
    >>> people, _ = datasets.load_compas()
    >>> said = simulate_panel(people.head(200), 10, 20, answers="four")
    >>> AnswerModel().fit(said).predict_proba(said.frame.head(1)).columns.tolist()
    ['same', 'a_at_least_b', 'b_at_least_a', 'no_constraint']
    """

    def __init__(
        self,
        *,
        answers: Sequence[str] | None = None,
        columns: Iterable[object] | None = None,
        random_state: int = 0,
    ) -> None:
        self.answers = answers
        self.columns = columns
        self.random_state = random_state

    def fit(self, judgments: Judgments) -> AnswerModel:
        """Learn from all rounds and designs, repeats and checks included: they tell how steady a judge is."""
        check_seed(self.random_state)
        people = people_of(judgments)
        self._by = judgments.by
        scale = which_answers(judgments, self.answers)
        self._pace = usual_pace(judgments)
        answered = answered_pairs(judgments, scale, self._pace)
        self._people = people.loc[answered.people]
        self._encoder = PeopleEncoder.learn(self._chosen(self._people))
        encoded = self._encoder.encode(self._people)
        attributes = judgments.judge_attributes.loc[answered.judges]
        self._learned = Hierarchy.learn(scale, encoded, answered, attribute_design(attributes))
        for calibration in ("_held_out", "_held_out_judges"):
            self.__dict__.pop(calibration, None)
        self.judges_ = answered.judges
        self.answers_ = tuple(answer for answer in Answer if answer in scale.answers)
        self.reliability_ = self._reliability()
        self.drivers_ = drivers(self._learned, self._encoder)
        self.notes_ = self._notes()
        return self

    def predict_proba(
        self, pairs: object, *, people: pd.DataFrame | IntoDataFrame | Judgments | None = None
    ) -> pd.DataFrame:
        """Return how probable each answer is to be said: a row for each pair, columns in the order of `Answer`.

        Parameters
        ----------
        pairs : DataFrame
            Columns judge, a and b. A judge whom the model does not know is a new member of the panel.
        people : DataFrame or Judgments, optional
            Whom a and b name, ids in the index; by default those whom the model learned from. Frames of polars and
            pyarrow have no index and are refused, unless the judgments name people by position. Or Judgments, for those
            whom they are about.

        Rows have the index of `pairs`.
        """
        wanted, encoded = self._read(pairs, people)
        return self._in_four(self._answer_probabilities(wanted, encoded), wanted)

    def predict_sets(
        self, pairs: object, coverage: float = 0.9, *, people: pd.DataFrame | IntoDataFrame | Judgments | None = None
    ) -> pd.DataFrame:
        """Return which answers are in a set that holds the judge's real answer with probability `coverage`.

        Conformal: a threshold for each judge that was right for answers held out in ten folds (for new judges: for
        judges held out), each weighted by one over its `selection_probability` where that is known. A set may be empty:
        then even the most probable answer is less so than usual.
        """
        wanted, encoded = self._read(pairs, people)
        probabilities = self._answer_probabilities(wanted, encoded)
        sets = np.zeros(probabilities.shape, dtype=bool)
        for known, calibration in ((True, "_held_out"), (False, "_held_out_judges")):
            rows = (wanted.judge >= 0) == known
            if rows.any():
                held_out: HeldOutAnswers = getattr(self, calibration)
                sets[rows] = held_out.sets(probabilities[rows], wanted.judge[rows], coverage)
        return self._in_four(sets, wanted).astype(bool)

    def error_bound(self, coverage: float = 0.9) -> float:
        """Return the share of wrong answers among sets of a single one, for judges of this panel, at most (95 %)."""
        self._check_fitted()
        return self._held_out.error_bound(coverage)

    def meant(self, judgments: Judgments) -> pd.Series:
        """Return for each asked row of a table the probability that what was said is what was meant.

        Indexed by the rows of ``judgments.frame``; what the judge said of the same pair at other times counts too.
        """
        self._check_fitted()
        learned = self._learned
        answered = answered_pairs(judgments, learned.scale, self._pace)
        pairs = pd.DataFrame({"judge": pd.Series(answered.judges, dtype=object).take(answered.judge).to_numpy()})
        for side, place in (("a", answered.first), ("b", answered.second)):
            pairs[side] = pd.Series(answered.people, dtype=object).take(place).to_numpy()
        wanted, encoded = self._read(pairs, judgments)
        prior = learned.intended_probabilities(encoded, wanted.judge, wanted.left, wanted.right)
        if answered.check.any():  # two identical people are surely the same
            prior[answered.check] = np.eye(len(learned.scale.answers))[learned.scale.places[Answer.SAME]]
        rows = replace(answered.rows, judge=wanted.judge[answered.rows.pair])
        joint = prior * replace(learned.lapses, part=1.0).evidence(rows, len(prior))
        share = joint / joint.sum(axis=1, keepdims=True)
        return pd.Series(share[rows.pair, rows.answer], index=answered.row, name="meant")

    def predicted_rows(
        self,
        judgments: Judgments,
        n_pairs: int = 2000,
        coverage: float = 0.9,
        *,
        people: People | None = None,
        random_state: int = 0,
    ) -> pd.DataFrame:
        """Return the rows that :meth:`Judgments.extended` adds."""
        self._check_fitted()
        return predicted_rows(self, judgments, people, n_pairs, coverage, random_state)

    def __repr__(self) -> str:
        if not hasattr(self, "judges_"):
            return "AnswerModel: not fitted"
        answers = counted(len(self._learned.pairs.row), "answer")
        return f"AnswerModel: {answers} of {counted(len(self.judges_), 'judge')}"

    @cached_property
    def _held_out(self) -> HeldOutAnswers:
        return self._learned.held_out(self.random_state)

    @cached_property
    def _held_out_judges(self) -> HeldOutAnswers:
        if len(self.judges_) < 2:
            raise InputError("predict_sets: sets for new judges need a panel of two or more to be calibrated with")
        return self._learned.held_out_judges(self.random_state)

    def _check_fitted(self) -> None:
        if not hasattr(self, "judges_"):
            raise InputError("AnswerModel: not fitted; call fit(judgments) first")

    def _chosen(self, people: pd.DataFrame) -> pd.DataFrame:
        if self.columns is None:
            return people
        names = list(self.columns)
        unknown = [name for name in names if name not in people.columns]
        if unknown:
            raise InputError(f"columns: not in people: {some(unknown)}; there are {some(people.columns)}")
        return people[names]

    def _read(
        self, pairs: object, people: pd.DataFrame | IntoDataFrame | Judgments | None
    ) -> tuple[WantedPairs, EncodedPeople]:
        self._check_fitted()
        if people is None:
            return read_pairs(pairs, self.judges_, self._people.index), self._learned.people
        table = people_table(people, self._by)
        wanted = read_pairs(pairs, self.judges_, table.index)
        # Only those who are compared: encoding a million people would take longer than predicting.
        needed, place = np.unique(np.stack([wanted.left, wanted.right]), return_inverse=True)
        left, right = place.reshape(2, -1)
        return replace(wanted, left=left, right=right), self._encoder.encode(table.iloc[needed])

    def _answer_probabilities(self, wanted: WantedPairs, encoded: EncodedPeople) -> Floats:
        return self._learned.answer_probabilities(encoded, wanted.judge, wanted.left, wanted.right)

    def _in_four(self, values: np.ndarray, wanted: WantedPairs) -> pd.DataFrame:
        return pd.DataFrame(self._learned.scale.in_four(values), columns=COLUMNS, index=wanted.index)

    def _reliability(self) -> pd.DataFrame:
        answered, learned = self._learned.pairs, self._learned
        again = learned.lapses.reliability(answered.rows)
        table = pd.DataFrame(again, columns=["probability", "low", "high"], index=pd.Index(self.judges_, name="judge"))
        for name, pairs in (("asked_again", answered.is_repeated & ~answered.check), ("checks", answered.check)):
            table[name] = np.bincount(answered.judge[pairs], minlength=len(self.judges_))
        return table

    def _notes(self) -> list[str]:
        answered = self._learned.pairs
        notes = []
        if not (answered.is_repeated.any() or answered.check.any()):
            notes.append(
                "No pair was asked twice and no check was shown, so how steady judges are is not known from these "
                "answers; reliability_ says what is usual."
            )
        never = [str(answer) for answer in Answer if answer not in self.answers_]
        if never:
            notes.append(f"Nobody answered {' or '.join(never)}, so it is never predicted.")
        few = int((np.bincount(answered.judge, minlength=len(self.judges_)) < 5).sum())
        if few:
            notes.append(f"{counted(few, 'judge')} answered fewer than 5 pairs; they are mostly taken for the others.")
        return notes
