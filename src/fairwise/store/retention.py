"""What is kept for so many days only: texts that people wrote, and who they are to a panel or to the operator."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import sqlalchemy as sa

from fairwise.store.erasure import note_deletion
from fairwise.store.study_state import standing
from fairwise.store.tables import answers, appearances, closings, invitations, panel_ids, participants

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection


def forget_old(connection: Connection, days: int, now: datetime) -> int:
    """Delete what is older than so many days; returns how many rows had something to delete.

    Days count from when someone finished, or agreed, if they did not finish; for those who never began, or withdrew,
    from when their link was made. Who they are goes only once the study is closed: until then the same person would be
    let in twice. Their judgments stay.
    """
    limit = now - timedelta(days=days)
    ended = sa.func.coalesce(participants.c.finished_at, participants.c.consented_at)
    old = sa.select(participants.c.id).where(ended < limit)
    theirs = sa.select(appearances.c.id).where(appearances.c.participant_id.in_(old))
    texts = dict.fromkeys(("rules", "expressible", "comments"), "")
    wrote = sa.or_(*(closings.c[name] != "" for name in texts))
    changes: list[sa.Update | sa.Delete] = [
        sa.update(answers).where(answers.c.appearance_id.in_(theirs), answers.c.why != "").values(why=""),
        sa.update(closings).where(closings.c.participant_id.in_(old), wrote).values(texts),
    ]
    if standing(connection).state == "closed":
        links, of_old = sa.select(participants.c.token_hash), participants.c.id.in_(old)
        theirs_or_nobodys = invitations.c.token_hash.in_(links.where(of_old)) | (
            invitations.c.token_hash.not_in(links) & (invitations.c.made_at < limit)
        )
        known = sa.or_(participants.c.panel_id.is_not(None), participants.c.panel_session.is_not(None))
        changes += [
            sa.update(participants).where(of_old, known).values(panel_id=None, panel_session=None),
            sa.update(invitations).where(theirs_or_nobodys, invitations.c.name != "").values(name=""),
            sa.delete(panel_ids).where(panel_ids.c.added_at < limit),
        ]
    gone = sum(connection.execute(change).rowcount for change in changes)
    if gone:
        note_deletion(connection)
    return gone
