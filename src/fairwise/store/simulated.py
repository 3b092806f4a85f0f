"""Simulated people who take part in a study without its pages, so that a sample study has answers at once."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import numpy as np
from sqlalchemy import Connection

from fairwise.simulation.respondent import PACE_SPREAD, THOUGHT_SPREAD, USUAL_SECONDS, Respondent
from fairwise.store import answers, participants, recording
from fairwise.store.participants import Consent, ConsentText
from fairwise.store.quotas import Quotas
from fairwise.study.folder import StudyFolder
from fairwise.study.recruitment import Keys
from fairwise.study.settings import Stage, first_stage, stage_after

# One begins so long after the other, and all so long ago that they could have finished by now.
_APART, _AGO = timedelta(minutes=3), timedelta(hours=1)


def take_part(
    connection: Connection, study: StudyFolder, respondents: Sequence[Respondent], *, at: datetime, seed: int = 0
) -> None:
    """Let each agree, answer every pair that the study lays out for them, and finish before the moment `at`.

    For studies without active pairs, and without questions about relations; the same seed gives the same answers.
    """
    people = study.people()
    for number, respondent in enumerate(respondents):
        luck = np.random.default_rng([seed, number])
        token = Keys.hashed(Keys.new())
        now = at - _AGO - _APART * (len(respondents) - 1 - number)
        _agree(connection, study, token, now)
        shown = answers.appearances_of(connection, token)
        pairs = [(pair.a, pair.b) for pair in shown]
        chosen = respondent.answers(people, pairs, luck, scale=study.settings.answers)
        usual = USUAL_SECONDS * luck.lognormal(0.0, PACE_SPREAD)
        thoughts = usual * luck.lognormal(0.0, THOUGHT_SPREAD, len(shown))
        for pair, answer, seconds in zip(shown, chosen, thoughts.round(3).tolist(), strict=True):
            now = min(at, now + timedelta(seconds=seconds))
            new = recording.NewAnswer(pair.key, Keys.new(), answer, "", None, seconds, now)
            recording.record(connection, token, new)
        written = respondent.closing_words()
        participants.finish(
            connection,
            token,
            rules=written["rules"],
            expressible=written["expressible"],
            comments=written["comments"],
            at=now,
            arms=study.arms_at_end,
        )


def _agree(connection: Connection, study: StudyFolder, token_hash: bytes, at: datetime) -> None:
    """Agree to the text in the study's first language, and go on to the first pair."""
    settings, text, quotas = study.settings, study.first, Quotas.of(study.settings)
    stage = first_stage(settings)
    consent = Consent(
        token_hash=token_hash,
        version=text.consent_version,
        at=at,
        first_stage=stage,
        lease=quotas.lease,
        hold=quotas.hold,
        language=text.language.code,
        text=ConsentText(text.consent_language, text.consent_text),
        simulated=True,
    )
    participants.start(connection, consent, study.places, Keys.new, study.arms_at_start)
    while stage != Stage.PAIRS:
        if stage == Stage.CHECK:
            participants.count_try(connection, token_hash, before=0)
        leaving, stage = stage, stage_after(stage, settings)
        participants.move_on(connection, token_hash, leaving, stage)
