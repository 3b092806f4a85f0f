"""``fairwise serve`` and ``fairwise bots``: the web app of a study, and simulated people who take part in it."""

import re
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from typer import Argument, Option

from fairwise.cli.options import NewDatabaseOption, fraction
from fairwise.cli.terminal import Json, check_target, echo, note, print_json, progress_bar, write_output
from fairwise.cli.training import warn_without_tls
from fairwise.errors import InputError
from fairwise.numbers import counted

if TYPE_CHECKING:
    from fairwise.bots.participant import BotRun
    from fairwise.bots.return_visits import BotReturn, BotVotes


def serve(
    folder: Annotated[
        Path,
        Argument(metavar="DIR", help="The study; or a new folder, to make one in the console; or one with --several."),
    ],
    database: NewDatabaseOption = None,
    host: Annotated[str, Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, Option(help="Port to listen on; 0 for any that is free.", min=0, max=65535)] = 8000,
    workers: Annotated[int, Option(help="Processes; more than one needs PostgreSQL.", min=1)] = 1,
    prefix: Annotated[str, Option(help="Path under which a proxy shows the study: /study.", metavar="PATH")] = "",
    dask: Annotated[
        str | None,
        Option(help="Scheduler of a dask cluster that makes the models: tls://host:8786.", metavar="ADDRESS"),
    ] = None,
    several: Annotated[
        bool, Option("--several", help="DIR holds several studies, each a folder: the study DIR/loans is at /loans/.")
    ] = False,
    no_jobs: Annotated[bool, Option("--no-jobs", help="Make no models here; those asked for wait.")] = False,
) -> None:
    """Ask people: serve the pages of a study, and the console of those who run it, until stopped with Ctrl-C.

    Example:

    fairwise serve my-study --port 8000
    """
    if workers > 1 and (database is None or database.startswith("sqlite")):
        raise InputError("--workers: SQLite has one writer, so several processes need --database postgresql://…")
    if prefix and not re.fullmatch(r"(/[A-Za-z0-9._~-]+)+", prefix):
        raise InputError(f"--prefix: {prefix!r} must be a path of letters, digits and - . _ ~, such as /study")
    if dask is not None:
        warn_without_tls(dask)
    from fairwise.jobs.runner import jobs_beside
    from fairwise.store.places import database_of
    from fairwise.web.server import run_server

    where = (database or "") if several else database_of(folder, database)
    run_server(
        folder,
        database,
        host=host,
        port=port,
        workers=workers,
        prefix=prefix,
        announce=note,
        beside=nullcontext() if no_jobs else jobs_beside(folder, where, dask, several=several),
        several=several,
    )


_AGAIN = "Second round"


def bots(
    folder: Annotated[Path, Argument(metavar="DIR", help="The study that is served.")],
    url: Annotated[str, Option(help="Where it is served.", metavar="URL")] = "http://127.0.0.1:8000",
    count: Annotated[int, Option(help="How many simulated people take part.", min=1)] = 43,
    seed: Annotated[int, Option(help="Decides who they are.", min=0)] = 0,
    speed: Annotated[
        Literal["full", "human"], Option(help="human: a few seconds of thinking about every page.")
    ] = "full",
    concurrency: Annotated[int, Option(help="How many take part at the same time.", min=1, max=1000)] = 50,
    room: Annotated[str | None, Option(help="Come into a room by its code.", metavar="CODE")] = None,
    allow_remote: Annotated[
        bool, Option("--allow-remote", help="Also go to a study that is not on this machine.")
    ] = False,
    force: Annotated[
        bool, Option("--force", help="Also among the answers of real people; they are marked as simulated.")
    ] = False,
    links: Annotated[
        Path | None,
        Option(help="Own links: written in round 1, read in round 2.", metavar="FILE", rich_help_panel=_AGAIN),
    ] = None,
    turn: Annotated[int, Option("--round", help="2: come back by --links.", min=1, max=2, rich_help_panel=_AGAIN)] = 1,
    persuasion: Annotated[
        float, Option(help="Chance to follow a reason that is shown.", parser=fraction, rich_help_panel=_AGAIN)
    ] = 0.0,
    conformity: Annotated[
        float, Option(help="Chance to follow most others, where shown.", parser=fraction, rich_help_panel=_AGAIN)
    ] = 0.0,
    stubbornness: Annotated[
        float, Option(help="Chance of never changing.", parser=fraction, rich_help_panel=_AGAIN)
    ] = 0.0,
    wavering: Annotated[
        float, Option(help="Chance to change without any reason.", parser=fraction, rich_help_panel=_AGAIN)
    ] = 0.1,
    votes: Annotated[
        bool, Option("--vote", help="Come back by --links only to vote on the trade-off.", rich_help_panel=_AGAIN)
    ] = False,
    as_json: Json = False,
) -> None:
    """Let simulated people answer a running study over HTTP, from consent to receipt.

    Example:

    fairwise bots my-study --url http://127.0.0.1:8000 --count 43
    """
    import asyncio

    from fairwise.bots.browser import checked_address
    from fairwise.bots.participant import play
    from fairwise.bots.return_visits import come_back, read_links, vote, write_links
    from fairwise.simulation import SecondThoughts, draw_respondents
    from fairwise.study.folder import StudyFolder

    site = checked_address(url, allow_remote=allow_remote)
    study = StudyFolder.open(folder)
    if votes or turn == 2:
        if links is None:
            why = "--vote" if votes else "--round 2"
            raise InputError(f"{why}: who comes back needs their own link; give --links, as written in round 1")
        known = dict(list(read_links(links).items())[:count])
    if votes:
        with progress_bar("Simulated votes") as progress:
            cast = asyncio.run(vote(site, known, seed=seed, concurrency=concurrency, progress=progress, force=force))
        _show_votes(str(site), cast, as_json=as_json)
        return
    if turn == 2:
        thoughts = SecondThoughts(persuasion, conformity, stubbornness, wavering)
        with progress_bar("Simulated people who come back") as progress:
            returned = asyncio.run(
                come_back(
                    study.settings,
                    site,
                    known,
                    thoughts,
                    seed=seed,
                    thinking=speed == "human",
                    concurrency=concurrency,
                    progress=progress,
                    force=force,
                )
            )
        _show_return(str(site), returned, as_json=as_json)
        return
    if links is not None:
        check_target(links, (".json",), ())
    respondents = draw_respondents(study.people(), count, seed=seed)
    with progress_bar("Simulated answers") as progress:
        run = asyncio.run(
            play(
                study,
                site,
                respondents,
                seed=seed,
                thinking=speed == "human",
                concurrency=concurrency,
                progress=progress,
                room_code=room,
                force=force,
            )
        )
    if links is not None:
        write_output(links, lambda draft: write_links(draft, run.links), private=True)
    _show(str(site), run, as_json=as_json)


def _show(site: str, run: "BotRun", *, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "url": site,
                "finished": len(run.receipts),
                "sent_away": run.sent_away,
                "answers": run.answers,
                "seconds": run.seconds,
                "answers_per_second": run.answers_per_second,
                "receipts": run.receipts,
            }
        )
        return
    echo(
        f"{counted(len(run.receipts), 'simulated person', 'simulated people')} finished with "
        f"{counted(run.answers, 'answer')} in {run.seconds:.1f} s "
        f"({run.answers_per_second:.0f} a second). Their receipts:\n"
    )
    if run.sent_away:
        echo(f"{run.sent_away} were screened out, or came when there were enough.")
    for name, receipt in run.receipts.items():
        echo(f"{name}  {receipt}")


def _show_return(site: str, returned: "BotReturn", *, as_json: bool) -> None:
    if as_json:
        print_json({"url": site, **vars(returned)})
        return
    echo(
        f"{counted(returned.came_back, 'simulated person', 'simulated people')} came back in {returned.seconds:.1f} s: "
        f"{counted(returned.kept, 'answer')} kept, {returned.changed} changed."
    )
    if returned.not_asked:
        echo(f"{returned.not_asked} had nothing to answer again.")


def _show_votes(site: str, cast: "BotVotes", *, as_json: bool) -> None:
    if as_json:
        print_json({"url": site, **vars(cast)})
        return
    echo(f"{counted(cast.voted, 'simulated person', 'simulated people')} voted in {cast.seconds:.1f} s.")
    if cast.not_asked:
        echo(f"{cast.not_asked} found no vote under their link.")
