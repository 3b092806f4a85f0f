"""How a model treats the pairs that one participant judged: for that participant, and for the console's preview."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection

from fairwise.constraints.violations import Treatment
from fairwise.judgments.table import MEASURED_ONLY
from fairwise.store.answers import current_answers
from fairwise.store.fit_files import Fitted
from fairwise.store.jobs import Job
from fairwise.study.folder import StudyFolder
from fairwise.web.shared.views import PairResult, PanelResult, Result


def result_of(
    connection: Connection,
    study: StudyFolder,
    job: Job,
    number: int,
    language: str,
    finished_at: datetime | None = None,
) -> Result | None:
    """Return what the participant of a number is to see of a fit; None if the fit or their answers are not there."""
    fitted, said = Fitted.of(study.path, job.id), current_answers(connection, number)
    if fitted is None or not said:
        return None
    summary, good, cards = fitted.summary, fitted.good, study.editions[language].cards
    error, gamma = summary.certificate.error, summary.certificate.gamma
    pairs = tuple(
        PairResult(
            number=one.position,
            a=cards[one.a],
            b=cards[one.b],
            treatment=Treatment(one.answer, good[one.a], good[one.b], gamma),
            counts=one.design not in MEASURED_ONLY,
        )
        for one in said
    )
    panel = PanelResult(summary.judges, summary.asked, summary.followed, error, summary.error_without)
    return Result(pairs, panel, gamma, is_newer=_is_newer(finished_at, job))


def _is_newer(finished_at: datetime | None, job: Job) -> bool:
    if finished_at is None or job.started_at is None:
        return False
    return finished_at > job.started_at
