"""The way of a study from its texts to its result, as a list of steps of which the first open one is next."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection

from fairwise.store.answers import anyone_answered
from fairwise.store.fit_files import Fitted
from fairwise.store.jobs import all_jobs
from fairwise.store.study_state import Standing
from fairwise.store.trail import was_done
from fairwise.study.folder import OUTCOME, StudyFolder
from fairwise.study.languages import marked
from fairwise.study.stages import StudyState
from fairwise.web.console.study_pages import has_begun
from fairwise.web.console.trial import TRIED


@dataclass(frozen=True)
class Step:
    """Something to do, where it is done, and whether it has been done."""

    name: str
    title: str
    about: str
    button: str
    path: str
    done: bool


def checklist(connection: Connection, study: StudyFolder, stands: Standing) -> list[Step]:
    """Every step of this study in its order; where there are no outcomes, no model can be learned."""
    begun, open_or_closed = has_begun(connection), stands.state != StudyState.PAUSED
    steps = [
        Step(
            "texts",
            marked("Complete the texts"),
            marked("The consent text says who you are, who sees the answers, and how long they are kept."),
            marked("Complete the texts"),
            "/study",
            done=not study.unfinished,
        ),
        Step(
            "try",
            marked("Try it"),
            marked("Walk through the study as a participant. Nothing of it is kept."),
            marked("Try it"),
            "/try",
            done=was_done(connection, TRIED) or begun,
        ),
        Step(
            "open",
            marked("Open it"),
            marked("From then on people can begin and answer."),
            marked("Open the study"),
            "#stands",
            done=open_or_closed or begun,
        ),
        Step(
            "invite",
            marked("Invite people"),
            marked("By one link for everyone, by personal links with letters, in a room or from a panel."),
            marked("Invite people"),
            "/coming",
            done=begun,
        ),
        Step(
            "close",
            marked("Close it"),
            marked("When enough have answered. A closed study cannot be opened again."),
            marked("Close it"),
            "#close",
            done=stands.state == StudyState.CLOSED,
        ),
    ]
    if not (study.path / OUTCOME).exists():
        return steps
    learned = any(job.state == "done" and Fitted.of(study.path, job.id) for job in all_jobs(connection))
    return [
        *steps,
        Step(
            "learn",
            marked("Learn a model"),
            marked("It follows what people asked for, and you see what that costs."),
            marked("Learn a model"),
            "/fits/new" if anyone_answered(connection) else "/fits",
            done=learned,
        ),
        Step(
            "choose",
            marked("Choose a model"),
            marked("Compare what each degree of following costs, read the report, and choose."),
            marked("Choose a model"),
            "/fits",
            done=stands.chosen_job_id is not None,
        ),
        Step(
            "show",
            marked("Show the result"),
            marked("Participants then see what the model does with their own pairs."),
            marked("Show the result"),
            "/results",
            done=stands.result_shown,
        ),
    ]
