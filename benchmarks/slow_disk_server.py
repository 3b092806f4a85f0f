"""``fairwise serve`` on a disk whose sync takes 10 ms longer: every commit of the writer waits before it is made."""

from __future__ import annotations

import time

import sqlalchemy as sa

from fairwise.cli import main as fairwise

SECONDS = 0.01


def main() -> None:
    sa.event.listen(sa.Engine, "commit", lambda _: time.sleep(SECONDS))
    fairwise()
