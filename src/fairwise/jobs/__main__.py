"""``python -m fairwise.jobs DIR``: does the jobs of a study, or of several in a folder, until its standard input ends.

Whoever starts it holds the other end of its standard input. If they end, in whatever way, this ends with them. The
database, which may have a password, comes by the environment, as everyone on a machine can read commands.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path
from threading import Event, Thread

from fairwise.errors import InputError
from fairwise.jobs.runner import DATABASE, Runner, SeveralRunners
from fairwise.store.logs import name_studies
from fairwise.store.store import Store

_TIMEOUT_SECONDS = 6.0


def main() -> None:
    """Work until told to stop."""
    parser = argparse.ArgumentParser(prog="python -m fairwise.jobs", description=__doc__)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--dask", metavar="ADDRESS", help="of a scheduler; without it one process on this machine")
    parser.add_argument("--several", action="store_true", help="DIR holds several studies, each a folder")
    parser.add_argument("--equal", action="store_true", help="do not let everything else on this machine come first")
    options = parser.parse_args()
    stopping = Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    Thread(target=_stop_at_end_of_input, args=(stopping,), daemon=True).start()
    database = os.environ[DATABASE]
    if options.several:
        name_studies("fairwise", "fairwise.jobs")
        SeveralRunners(options.folder, database or None, stopping, options.dask, equal=options.equal).work()
        return
    try:
        store = Store.open(database if "://" in database else Path(database), None, options.folder)
    except InputError as error:
        sys.exit(str(error))
    Runner(options.folder, store, stopping, options.dask, equal=options.equal).work()
    store.close()


def _stop_at_end_of_input(stopping: Event) -> None:
    while os.read(0, 4096):
        pass
    stopping.set()
    # Whatever hangs then: nothing is left behind.
    Event().wait(_TIMEOUT_SECONDS)
    os._exit(1)


if __name__ == "__main__":
    main()
