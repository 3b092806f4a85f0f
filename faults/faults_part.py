"""The part of the report about faults."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

from benchmarks import machine
from benchmarks.row import table

from faults import several
from faults.phases import PHASES
from faults.run import THINKING, run

if TYPE_CHECKING:
    from faults.run import Found
    from faults.several import Together

PEOPLE = 200
_KILLS_OF_SEVERAL = 4
_OPENING = f"""
{PEOPLE} participants at the same time, each with about {THINKING:.0f} s of thinking about every page, followed by
others when they finish. They keep a ledger of every answer that was acknowledged, send a form again until it is, and
look at every page for a traceback, or for a failure without a page of ours. After each fault everyone sits still, and
the ledgers are compared with the database itself. *Lost*: acknowledged and not there. *Doubled*: there, and given by
nobody, or once and there twice. Beside both, the last acknowledged answer to every pair must be the current one, and
participants and ends must be those that were told. In between, with one answer in thirty, somebody clicks twice, sends
an old form, changes their mind, or answers out of order.
"""
_HEADER = ["database", "fault", "times", "s", "acknowledged so far", "lost", "doubled"]
_HEADER += ["longest silence", "refused with a page", "cut", "finished so far"]


def measured() -> tuple[str, bool]:
    """Everything, on both databases; the text, and whether nothing was lost, doubled or strange."""
    start, on = perf_counter(), machine.description()
    found = [each for database in ("SQLite", "PostgreSQL") for each in run(database, people=PEOPLE)]
    together = [several.run(what, people=PEOPLE // 2, kills=_KILLS_OF_SEVERAL) for what in several.SETTINGS]
    whole = all(each.whole for each in found) and all(each.compared.whole for each in together)
    minutes = (perf_counter() - start) / 60
    lines = [*map(_line, found), *map(_line_of_several, together)]
    what = "\n".join(f"- **{name}**: {' '.join((phase.__doc__ or '').split())}" for name, phase in PHASES.items())
    bad_pages = sum(each.seen.tracebacks + each.seen.strange_pages for each in found)
    end = f"{minutes:.0f} minutes. Pages with a traceback, or failures without a page of ours: {bad_pages}. "
    end += "At the end a bundle of each study was exported and verified. "
    end += "**Nothing was lost or doubled.**" if whole else "**Something was lost, doubled or strange.**"
    return "\n\n".join([on, _OPENING.strip(), table(_HEADER, lines), end, what]), whole


def _line(found: Found) -> list[str]:
    silence = f"{found.seen.longest_silence:.1f} s"
    first = [found.database, found.phase, str(found.times or "–"), f"{found.seconds:.0f}"]
    return [*first, *_compared(found), silence, str(found.seen.refused), str(found.seen.cut), str(found.finished)]


def _line_of_several(found: Together) -> list[str]:
    first = ["SQLite" if "SQLite" in found.what else "PostgreSQL", f"{found.what}, one killed", str(found.kills)]
    silence = f"{found.seen.longest_silence:.1f} s"
    rest = [silence, str(found.seen.refused), str(found.seen.cut), str(found.finished)]
    return [*first, f"{found.seconds:.0f}", *_compared(found), *rest]


def _compared(found: Found | Together) -> list[str]:
    return [str(found.compared.acknowledged), str(found.compared.lost), str(found.compared.doubled)]
