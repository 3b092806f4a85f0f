"""Data of a fit, read once when it begins: answers that come later are for a later fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
from sqlalchemy import Connection

from fairwise.errors import InputError
from fairwise.judgments import Judgments
from fairwise.judgments.validation import AFFECTED, SIMULATED
from fairwise.store.export import (
    SecondRound,
    finished_second_round,
    judge_name,
    judges,
    judgments,
    silent_arm,
    who_answered,
)
from fairwise.store.jobs import Job, note_participants
from fairwise.store.participants import QUESTION_PREFIX
from fairwise.store.store import Store
from fairwise.study.design import Amount, Arm, Decision, OutcomeWords
from fairwise.study.fit_choices import FitChoices
from fairwise.study.folder import StudyFolder
from fairwise.study.settings import StudySettings
from fairwise.tables.files import read_parquet, with_dates
from fairwise.tables.output import write_whole
from fairwise.tables.rows import text_of

MEANT = "meant.parquet"
"""Answers as a fit uses them where it also uses what people mean: with weights, and with predicted ones."""

_ANSWERS, _RELATIONS, _ARMS, _REASONS = "judgments.parquet", "judges.parquet", "arms.parquet", "reasons.parquet"
_NO_ANSWER = "There is no answer yet that a model could follow."
_NOBODY_LEFT = "Everyone whose answers it was made from has withdrawn, was erased or excluded. Make a new model."


@dataclass(frozen=True, eq=False)
class FitData:
    """Sent whole to whichever machine works on it, which needs neither the study's folder nor its database."""

    settings: FitChoices
    people: pd.DataFrame
    outcome: pd.Series[Any]
    judgments: Judgments
    begun: datetime
    title: str
    question: str
    labels: Mapping[str, str]
    """Words that participants read instead of the columns' names."""

    decisions: tuple[Decision, ...] = ()
    """Possible decisions, where there are more than two."""

    second_round: SecondRound | None = None
    """Answers of a second round that is over, after people were shown what others said."""

    amount: Amount | None = None
    """Range of the amounts, where the decision is one."""

    outcome_words: OutcomeWords | None = None
    """Words for both outcomes, where one of two things is decided."""

    @property
    def favorable_label(self) -> Any:
        """The good outcome as it is in the data; None of several decisions and of amounts."""
        if self.settings.favorable_label is None:
            return None
        labels = {text_of(label): label for label in self.outcome.unique().tolist()}
        return labels[self.settings.favorable_label]

    @property
    def label_values(self) -> dict[Any, float] | None:
        """Value of each of several decisions."""
        return {one.label: one.value for one in self.decisions} or None

    @property
    def label_words(self) -> dict[Any, str] | None:
        """Words for the outcomes; those without any are called by what stands in their column, as ``hired = 1``."""
        if self.decisions or self.amount is not None:
            return {one.label: one.words for one in self.decisions} or None
        if self.outcome_words is not None:
            return self.outcome_words.by_label(self.outcome.unique().tolist(), self.favorable_label)
        numbers = [label for label in self.outcome.unique().tolist() if not isinstance(label, str)]
        return {label: f"{self.outcome.name} = {text_of(label)}" for label in numbers}

    @property
    def uses_meaning(self) -> bool:
        """Whether it is to be learned first what people mean."""
        return self.settings.predicted > 0 or self.settings.weighted

    def with_answers(self, file: Path) -> FitData:
        """Return the data with answers from a file, of the same participants about the same people."""
        attributes = self.judgments.judge_attributes
        return replace(self, judgments=Judgments.read(file, people=self.people, judge_attributes=attributes))

    @property
    def groups(self) -> pd.DataFrame | None:
        """Group of each person, where there are rules for groups."""
        if not self.settings.group_rules:
            return None
        values = self.people[[self.settings.group_rules[0].column]].astype(object)
        return values.where(values.notna(), "not known").astype(str)


def read_fit_data(job: Job, folder: Path, store: Store, kept: Path) -> FitData:
    """Check what is asked and read what it needs; `kept` holds the answers with which the job was first begun."""
    study = StudyFolder.open(folder)
    settings, about = FitChoices.of_job(job.settings, study), study.settings
    talks = about.deliberation
    second_round = None
    if talks.on or talks.rooms:
        second_round = partial(finished_second_round, arms=about.arms, rooms=talks.rooms)
    if not (kept / _RELATIONS).exists():
        # Of a job that is made again only those are taken who were in it before.
        with_simulated = settings.include_simulated or about.simulated or job.restarts > 0
        who = who_answered(finished_only=settings.finished_only, with_simulated=with_simulated)
        numbers = store.change_now(partial(note_participants, job=job, who=who))
        if not numbers:
            raise InputError(_NOBODY_LEFT if job.restarts else _NO_ANSWER)
        names = set(map(judge_name, numbers))
        store.read_now(lambda connection: _keep(connection, settings, about, names, kept, second_round))
    people = with_dates(study.people())  # as `fairwise fit` reads them
    words = {relation.name: relation.words for relation in about.relations}
    relations = read_parquet(kept / _RELATIONS).to_pandas().set_index("judge").replace({"relation": words})
    questions = {f"{QUESTION_PREFIX}{question.name}": question.words for question in about.questions}
    relations = relations.rename(columns={"relation": about.relation_question} | questions)
    answers = Judgments.read(kept / _ANSWERS, people=people, judge_attributes=relations)
    assert job.started_at is not None
    return FitData(
        settings,
        people,
        study.outcome(),
        answers,
        job.started_at,
        about.title,
        about.question,
        {column.name: column.label for column in about.columns},
        about.decisions,
        None if second_round is None else _kept_second_round(about.arms, kept),
        about.amount,
        about.outcome_words,
    )


def _kept_second_round(arms: Sequence[Arm], kept: Path) -> SecondRound | None:
    """Return the second round as it was when the job first began."""
    if not (kept / _ARMS).exists():
        return None
    arms_drawn = read_parquet(kept / _ARMS).to_pandas().set_index("judge")
    reasons = read_parquet(kept / _REASONS).to_pandas() if (kept / _REASONS).exists() else None
    return SecondRound(arms_drawn, reasons, silent_arm(arms))


FEWEST = 5
"""Least number of participants with the same answer to a question of the study, to be reported apart."""


def _keep(
    connection: Connection,
    settings: FitChoices,
    study: StudySettings,
    names: set[str],
    kept: Path,
    second_round: Callable[[Connection], SecondRound | None] | None,
) -> None:
    answers = judgments(connection, finished_only=settings.finished_only)
    answers = answers.select(judge for judge in answers.judges if judge in names)  # of whom it is written down
    if not len(answers.counted()):
        raise InputError(_NO_ANSWER)
    answers.write(kept / _ANSWERS)
    everyone = judges(connection, study)
    about = everyone[everyone["judge"].isin(answers.judges)]
    # A program is nothing to the decision, whatever it said.
    simulated = (about[SIMULATED] == "yes") & about["relation"].notna()
    about = about.assign(relation=about["relation"].mask(simulated, about["relation"] + " (simulated)"))
    attributes = [name for name in ("relation", SIMULATED, AFFECTED) if name in about and about[name].notna().any()]
    about = _without_few(about)
    questions = [name for name in about if str(name).startswith(QUESTION_PREFIX) and len(set(about[name].dropna())) > 1]
    about = about[["judge", *attributes, *questions]]
    second = None if second_round is None else second_round(connection)
    if second is not None:
        arms, reasons = second.arms.rename_axis("judge").reset_index(), second.reasons
        write_whole(kept / _ARMS, lambda draft: arms.to_parquet(draft, index=False))
        if reasons is not None:
            write_whole(kept / _REASONS, lambda draft: reasons.to_parquet(draft, index=False))
    write_whole(kept / _RELATIONS, lambda draft: about.to_parquet(draft, index=False))  # comes last: then all is there


def _without_few(about: pd.DataFrame) -> pd.DataFrame:
    """Remove answers to a question that fewer than five gave: they would tell who these are."""
    answers = {str(name): about[name] for name in about if str(name).startswith(QUESTION_PREFIX)}
    return about.assign(
        **{name: cells.where(cells.map(cells.value_counts()) >= FEWEST) for name, cells in answers.items()}
    )
