"""Judgments: what people said, validated, and the people they said it about."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
import pandas as pd
from narwhals.typing import IntoDataFrame
from numpy.typing import NDArray

from fairwise import notebook
from fairwise.errors import JudgmentsError, some
from fairwise.judgments.aggregation import PANEL, SIMULATED_PANEL, Rule, aggregate
from fairwise.judgments.answer import Answer, PairDesign
from fairwise.judgments.files import (
    check_answer_map,
    check_column_map,
    read_judgments,
    translate_answers,
    write_judgments,
)
from fairwise.judgments.validation import (
    AFFECTED,
    REQUIRED,
    SIMULATED,
    YES_OR_NO,
    By,
    CheckedTable,
    JudgeAttributes,
    People,
    Reading,
    Rounds,
    as_judgments_error,
    as_people,
    check,
    need_method,
    rows_of,
    sides,
)
from fairwise.numbers import counted
from fairwise.tables.columns import has_ids, to_pandas
from fairwise.tables.rows import Source, encode, text_of

if TYPE_CHECKING:
    from fairwise.judgments.answer_model import AnswerModel

Records: TypeAlias = pd.DataFrame | IntoDataFrame | Sequence[Mapping[str, Any]] | Mapping[str, Sequence[Any]]

MEASURED_ONLY = (PairDesign.REPEAT.value, PairDesign.CHECK.value)


class Judgments:
    """Answers of judges about pairs of people: one row per judge, unordered pair, round and design.

    Parameters
    ----------
    answers : DataFrame (of pandas, polars, pyarrow …), records or columns
        Columns judge, a, b and answer; optionally weight (default 1), round (default 1), design (default
        ``"uniform"``), seconds, answered_at and selection_probability. Any further column is kept and written
        again, but not interpreted.
    people : DataFrame or array, optional
        Whom the judgments are about; the judged rows travel along. With ``by="id"`` a DataFrame whose index
        holds the ids; ids that are not there are refused.
    id : str, optional
        The column of ``people`` that holds the ids, where they are not in an index. Frames of polars and pyarrow
        have none, so these need it, unless ``by="position"``.
    by : {"id", "position"}
        Whether a and b are ids or row positions.
    measured_only : designs, default ("repeat", "check")
        Rows of these designs measure reliability and do not count.
    rounds : {"last", "all"}
        Of several rounds in which a judge answered about a pair, which count.
    judge_attributes : DataFrame indexed by judge, or mapping judge to mapping, optional
        What is known about the judges, such as their relation to the decision. Judges without a row get
        missing values; a row for somebody who gave no answer is refused.

    Notes
    -----
    Without people, ids (like judges) are integers if all of them are written as integers, else strings. There
    is no length, shape or item on purpose: scikit-learn then passes the object through whole.

    Examples
    --------
    >>> Judgments([{"judge": "ann", "a": 1, "b": 2, "answer": "same"}])
    Judgments: 1 judge, 1 answer (1 same) about 2 people
    """

    __slots__ = ("_checked",)

    def __init__(
        self,
        answers: Records | CheckedTable,
        *,
        people: People | IntoDataFrame | None = None,
        id: str | None = None,  # noqa: A002
        by: By = "id",
        measured_only: Iterable[str] = MEASURED_ONLY,
        rounds: Rounds = "last",
        judge_attributes: JudgeAttributes | None = None,
    ) -> None:
        if not isinstance(answers, CheckedTable):
            how = Reading(by, measured_only, rounds)
            frame = _as_frame(answers)
            answers = check(
                frame,
                Source(labels=frame.index if has_ids(frame) else None),
                as_people(people, id, by),
                how,
                judge_attributes,
            )
        self._checked = answers

    @classmethod
    def read(
        cls,
        path: str | PathLike[str],
        *,
        people: People | IntoDataFrame | None = None,
        id: str | None = None,  # noqa: A002
        by: By = "id",
        measured_only: Iterable[str] = MEASURED_ONLY,
        rounds: Rounds = "last",
        judge_attributes: JudgeAttributes | None = None,
        columns: Mapping[str, str] | None = None,
        answers: Mapping[Any, str] | None = None,
        sep: str | None = None,
    ) -> Self:
        """Read a ``.csv``, ``.tsv`` (UTF-8), ``.parquet`` or ``.xlsx`` file; errors name the file and the line.

        Files of other tools: ``columns={"judge": "rater", "a": "left"}`` says what the file calls our columns,
        ``answers={"L": "a_at_least_b", 0: "same", "": "skip"}`` what its words mean, ``"skip"`` leaving a row out.
        ``sep`` separates the cells of a CSV file; without it a comma, semicolon or tab is recognised. Of a workbook
        (``.xlsx``) the first sheet is read.
        """
        if not isinstance(path, str | PathLike):
            kind = type(path).__name__
            raise JudgmentsError(f"judgments: read needs the name of a file, not {kind}; for a table: Judgments(table)")
        how = Reading(by, measured_only, rounds)
        check_column_map(columns or {})
        words = check_answer_map(answers or {})
        frame, source = read_judgments(Path(path), sep)
        if columns or words:
            with as_judgments_error():
                frame, source, _ = translate_answers(frame, source, columns or {}, words, {})
        return cls(check(frame, source, as_people(people, id, by), how, judge_attributes))

    def write(self, path: str | PathLike[str]) -> None:
        """Write the answers to a ``.csv`` or ``.parquet`` file; reading it gives the same judgments again."""
        write_judgments(self._checked.frame, Path(path))

    @property
    def frame(self) -> pd.DataFrame:
        """A copy of the validated table, every interpreted column in one type, every row in its place."""
        return self._checked.frame.copy()

    @property
    def by(self) -> By:
        """Whether a and b are ids or row positions."""
        return self._checked.how.by

    @property
    def people(self) -> People | None:
        """A copy of the judged rows of people, in the type and order they were given, or None."""
        return None if self._checked.people is None else self._checked.people.copy()

    @property
    def judges(self) -> list[Any]:
        """All judges, sorted, also those of whose answers none counts."""
        return list(self._checked.judge_attributes.index.tolist())

    @property
    def n_judges(self) -> int:
        """Number of judges."""
        return len(self.judges)

    @property
    def judge_attributes(self) -> pd.DataFrame:
        """A copy of what is known about the judges: a row for each, sorted, perhaps without any column."""
        return self._checked.judge_attributes.copy()

    @property
    def panel_attributes(self) -> pd.DataFrame | None:
        """A copy of the judge attributes of the whole panel, if these judgments are a part of it, else None."""
        return None if self._checked.panel is None else self._checked.panel.copy()

    @property
    def simulated(self) -> frozenset[Any]:
        """Judges that are programs: their names begin with ``simulated``, or their attribute ``simulated`` is yes."""
        marked = self._marks(SIMULATED)
        return frozenset(judge for judge in self.judges if marked.get(judge) or are_simulated([judge]))

    @property
    def all_simulated(self) -> bool:
        """Whether there are judges, and no real person is among them."""
        return 0 < self.n_judges == len(self.simulated)

    @property
    def affected(self) -> dict[Any, bool | None]:
        """Whether such decisions affect each judge, by the attribute ``affected``: yes, no, or None for not known.

        Nothing affects a simulated judge, of whom it is not said.
        """
        marked, simulated = self._marks(AFFECTED), self.simulated
        return {judge: marked.get(judge) for judge in self.judges if judge not in simulated}

    def _marks(self, attribute: str) -> dict[Any, bool | None]:
        attributes = self._checked.judge_attributes
        cells = attributes[attribute].dropna() if attribute in attributes else pd.Series(dtype=object)
        return {judge: YES_OR_NO.get(text_of(cell).casefold()) for judge, cell in cells.items()}

    @property
    def has_ordered(self) -> bool:
        """Whether any answer that counts is an ordered one, for which the favourable label must be known."""
        ordered = [str(answer) for answer in Answer if answer.ordered]
        return bool(self._counted_rows()["answer"].isin(ordered).any())

    def counted(self) -> pd.DataFrame:
        """Return the rows that count: judge, a, b, answer, weight, and `row`, their position in `frame`.

        Where some are predicted, also whether this one is, and its error_bound.
        """
        which, predicted = np.flatnonzero(self._checked.counted), self._checked.predicted
        extra = {"predicted": predicted[which]} if predicted.any() else {}
        names = [*REQUIRED, "weight", *["error_bound"] * bool(extra)]
        columns = {name: self._checked.frame[name].array[which] for name in names}
        return pd.DataFrame({**columns, "row": which, **extra}, copy=False)

    def person_ids(self) -> pd.Index:
        """Return everyone in a row that counts, once, in the order of first appearance (a before b)."""
        ids: pd.Index = pd.Index(sides(self._counted_rows()).unique())
        return ids

    def people_rows(self, ids: Iterable[object]) -> People:
        """Return the rows of `people` for these ids (or positions), in this order."""
        if self._checked.people is None or self._checked.people_ids is None:
            raise JudgmentsError("judgments: made without people=, so nobody's row is known")
        wanted = pd.Index(list(ids))
        rows = self._checked.people_ids.get_indexer(wanted)
        if (rows < 0).any():
            raise JudgmentsError(f"judgments: not about these people: {some(wanted[rows < 0])}")
        return rows_of(self._checked.people, rows)

    def select(self, judges: Iterable[object]) -> Self:
        """Return the judgments of these judges only."""
        wanted = {text_of(judge) for judge in judges}
        codes, texts = encode(self._checked.frame["judge"])
        unknown = wanted.difference(texts)
        if unknown:
            raise JudgmentsError(f"judgments: no such judges: {some(sorted(unknown))}; there are {some(self.judges)}")
        return type(self)(self._checked.only(np.isin(texts, list(wanted))[codes]))

    def select_answers(self, chosen: NDArray[np.bool_]) -> Self:
        """Return these of the answers that count, by a mask over the rows of `counted`."""
        rows = self._checked.counted.copy()
        rows[rows] = chosen
        return type(self)(self._checked.only(rows))

    def giving_up(self, pairs: Iterable[tuple[object, object]]) -> Self:
        """Return the same judgments, but whatever was said about these pairs asks for nothing; it was still shown."""
        gone, rows = {frozenset(pair) for pair in pairs}, self._checked.frame[["a", "b", "answer"]].to_numpy(object)
        return self.with_answers(str(Answer.NO_CONSTRAINT) if {a, b} in gone else answer for a, b, answer in rows)

    def with_answers(self, answers: Iterable[str]) -> Self:
        """Return the same rows with other answers, one for each row of `frame`."""
        new = self._checked.frame.assign(answer=[str(Answer(one)) for one in answers])
        return type(self)(replace(self._checked, frame=new))

    @property
    def n_predicted(self) -> int:
        """Number of rows that a model predicted, see :meth:`extended`."""
        return int(self._checked.predicted.sum())

    def asked(self) -> Self:
        """Return what people said, without rows that a model predicted."""
        return type(self)(self._checked.without(self._checked.predicted)) if self.n_predicted else self

    def extended(
        self,
        model: "AnswerModel",
        n_pairs: int = 2000,
        coverage: float = 0.9,
        *,
        people: People | IntoDataFrame | None = None,
        random_state: int = 0,
    ) -> Self:
        """Return these judgments and up to `n_pairs` predicted ones, about pairs that the judge was not asked about.

        They are drawn alike from all such pairs of judges and `people` (by default those judged) for which the fitted
        model's set of this `coverage` has a single answer. Their design is ``"predicted"``, their weight the answer's
        probability, and ``error_bound`` says what share of them is wrong, at most (95 %).
        """
        need_method("extended", model, "predicted_rows")
        checked = self._checked
        table = as_people(people, None, checked.how.by, may_name_id=False)
        rows = model.predicted_rows(self, n_pairs, coverage, people=table, random_state=random_state)
        frame = pd.concat([checked.frame, rows], ignore_index=True)
        if table is not None:
            return self._revalidated(frame, table)
        return type(self)(
            replace(checked, frame=frame, counted=np.append(checked.counted, np.ones(len(rows), dtype=bool)))
        )

    def weighted_by(self, model: "AnswerModel") -> Self:
        """Return the same judgments, each asked row weighted by the probability that it is meant."""
        need_method("weighted_by", model, "meant")
        frame, probabilities = self.frame, model.meant(self)
        frame.loc[probabilities.index, "weight"] *= probabilities
        return type(self)(replace(self._checked, frame=frame))

    def aggregated(self, rule: Rule) -> Self:
        """Return what is in force for the panel as one, by a rule over what its judges said (or are predicted to say).

        One row per pair, of the judge ``"panel"`` (``"simulated-panel"`` of simulated ones). The rules: ``"majority"``,
        ``{"quota": 0.6}``, ``{"veto": {"relation": "affected"}}``, ``{"one_vote_per": "relation"}``.
        """
        return type(self)(aggregate(self._checked, rule, SIMULATED_PANEL if self.all_simulated else PANEL))

    def about(self, people: People | IntoDataFrame, *, id: str | None = None) -> Self:  # noqa: A002
        """Return the same judgments, matched to these people and carrying their rows."""
        return self._revalidated(self._checked.frame, as_people(people, id, self._checked.how.by))

    def _revalidated(self, frame: pd.DataFrame, people: People | None) -> Self:
        known = self._checked
        return type(self)(replace(check(frame, Source(), people, known.how, known.judge_attributes), panel=known.panel))

    def counts(self) -> pd.DataFrame:
        """Return how often each judge (rows) gave each answer (columns), among the rows that count and were asked."""
        rows = self._answered_rows()
        judges = pd.Index(self.judges, name="judge")
        answers = pd.Index([str(answer) for answer in Answer], name="answer")
        return pd.crosstab(rows["judge"], rows["answer"]).reindex(index=judges, columns=answers, fill_value=0)

    def _counted_rows(self) -> pd.DataFrame:
        return self._checked.frame[self._checked.counted]

    def _answered_rows(self) -> pd.DataFrame:
        return self._checked.frame[self._checked.counted & ~self._checked.predicted]

    @property
    def _judge(self) -> str:
        return "simulated judge" if self.all_simulated else "judge"

    def __repr__(self) -> str:
        rows, predicted = self._answered_rows(), self.n_predicted
        counts = rows["answer"].value_counts()
        kinds = ", ".join(f"{counts[answer]} {answer}" for answer in map(str, Answer) if answer in counts)
        aside = _number(int((~self._checked.counted).sum()), "more row")
        return (
            f"Judgments: {_number(self.n_judges, self._judge)}, {_number(len(rows), 'answer')}"
            f"{f' ({kinds})' if kinds else ''} about {_number(sides(rows).nunique(), 'person', 'people')}"
            f"{f', and {predicted} predicted' if predicted else ''}"
            f"{'' if self._checked.counted.all() else f', and {aside} that do not count'}"
        )

    def _repr_html_(self) -> str:
        rows = self._answered_rows()
        counts, whole = rows["answer"].value_counts().to_dict(), max(len(rows), 1)
        shares = [(answer, counts.get(answer, 0)) for answer in map(str, Answer)]
        aside = int((~self._checked.counted).sum())
        known = "Their rows are kept here." if self._checked.people is not None else "Their rows are not kept here."
        return notebook.page(
            notebook.section(
                f"{counted(len(rows), 'judgment')} of {counted(self.n_judges, self._judge)}",
                notebook.table(
                    [(answer, counted(number), f"{number / whole:.0%}") for answer, number in shares],
                    head=("Answer", "Judgments", "Share"),
                    numbers=(1, 2),
                ),
                notebook.paragraph(f"About {counted(sides(rows).nunique(), 'person', 'people')}. {known}"),
                notebook.paragraph(f"And {counted(self.n_predicted, 'judgment')} predicted.")
                if self.n_predicted
                else "",
                notebook.paragraph(f"Not counted: {counted(aside, 'row')} of repeats, checks or earlier rounds.")
                if aside
                else "",
            )
        )


def are_simulated(judges: Iterable[object]) -> bool:
    """Whether there are judges, and all go by names that only simulated people have."""
    names = [str(judge) for judge in judges]
    return bool(names) and all(name.startswith("simulated") for name in names)


def _as_frame(given: Records) -> pd.DataFrame:
    answers = to_pandas(given)
    if isinstance(answers, pd.DataFrame):
        return answers
    if isinstance(answers, str | PathLike):
        raise JudgmentsError(f"judgments: a table is needed; to read a file: Judgments.read({str(answers)!r})")
    try:
        frame = pd.DataFrame(answers)
    except (ValueError, TypeError, AttributeError) as error:
        raise JudgmentsError(f"judgments: not a table: {error}; allowed: DataFrame, records, columns") from error
    # No record at all is a panel that has not said anything yet.
    return frame if len(frame.columns) or len(frame) else pd.DataFrame(columns=pd.Index(REQUIRED))


def _number(count: int, one: str, many: str | None = None) -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"
