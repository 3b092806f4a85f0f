"""``fairwise bots``: simulated people take part in a running study."""

from pathlib import Path
from typing import Annotated, Literal

from typer import Argument, Option

from fairwise.cli.terminal import Json, echo, print_json, progress_bar
from fairwise.numbers import counted


def bots(
    folder: Annotated[Path, Argument(metavar="DIR", help="The study that is served.")],
    url: Annotated[str, Option("--url", help="Where it is served.", metavar="URL")] = "http://127.0.0.1:8000",
    count: Annotated[int, Option("--count", help="How many simulated people take part.", min=1)] = 43,
    seed: Annotated[int, Option("--seed", help="Decides who they are.", min=0)] = 0,
    speed: Annotated[
        Literal["full", "human"], Option("--speed", help="human: a few seconds of thinking about every page.")
    ] = "full",
    concurrency: Annotated[
        int, Option("--concurrency", help="How many take part at the same time.", min=1, max=1000)
    ] = 50,
    room: Annotated[str | None, Option("--room", help="Come into a room by its code.", metavar="CODE")] = None,
    allow_remote: Annotated[
        bool, Option("--allow-remote", help="Also go to a study that is not on this machine.")
    ] = False,
    force: Annotated[
        bool, Option("--force", help="Also among the answers of real people; they are marked as simulated.")
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
    from fairwise.simulation import draw_respondents
    from fairwise.study.folder import StudyFolder

    site = checked_address(url, allow_remote=allow_remote)
    study = StudyFolder.open(folder)
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
    if as_json:
        print_json(
            {
                "url": str(site),
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
    if not study.settings.simulated:
        echo("\nReports on this study do not say that these people are simulated: set simulated = true in study.toml.")
