"""From values to the console's HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from fairwise.web.shared.static_files import read_static_files, version_of

if TYPE_CHECKING:
    from datetime import datetime

# Words for ``?done=``: what was just done, said at the top of the page one comes to.
DONE = {
    "saved": "Saved.",
    "fit-started": "The fit was put in the queue.",
    "model-chosen": "The model was chosen. Participants see nothing of it yet.",
    "result-shown": "Participants can see the result now.",
    "result-hidden": "Participants no longer see the result.",
    "another-chosen": "Another model has been chosen in the meantime, so nothing was changed.",
    "made": "The study was made. It is paused: complete its texts, look through it, then open it on the overview.",
    "discarded": "The file was deleted.",
    "opened": "The study is open: people can take part now.",
    "paused": "The study is paused: nobody can answer until you open it again.",
    "closed": "The study is closed, for good.",
    "not-sure": "Nothing was changed: tick the box beside the button first.",
    "state-known": "Nothing was changed: somebody else has paused, opened or closed the study in the meantime.",
    "account-added": "The account was made.",
    "account-removed": "The account was removed, and its sessions ended.",
    "excluded": "This participant is left out from now on.",
    "included": "This participant is back in.",
    "erased": "The participant was erased.",
    "erased-later": "The participant was erased. The files of the database were in use, so that deleted answers may "
    "still be read from them by someone who has the files. The server tries again within the hour.",
    "ids-listed": "The list was changed: only these ids are let in.",
    "ids-deleted": "The list was deleted: any id is let in.",
    "link-revoked": "The link was revoked: nobody can begin by it any more.",
    "room-opened": "The room is open.",
    "room-closed": "The room is closed. Whoever is in can go on.",
    "password-changed": "The password was changed. All other sessions of this account ended.",
}

# Path, words, and whether only owners may go there.
MENU = (
    ("", "Overview", False),
    ("/participants", "Participants", False),
    ("/coming", "Links and rooms", True),
    ("/study", "Study", True),
    ("/fits", "Fits", False),
    ("/results", "Results", False),
    ("/downloads", "Downloads", True),
    ("/accounts", "Accounts", True),
)


class Rendering:
    """All templates of the console."""

    def __init__(self, prefix: str) -> None:
        self._environment = Environment(
            loader=PackageLoader("fairwise.web.console"),
            autoescape=True,
            undefined=StrictUndefined,
            auto_reload=False,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        static = read_static_files()
        self._environment.globals |= {
            "prefix": prefix,
            "admin": f"{prefix}/admin",
            "said_done": DONE,
            "menu": MENU,
            "static": {
                name: f"{prefix}/static/{name}?v={version_of(content)}" for name, (content, _) in static.items()
            },
        }
        self._environment.filters |= {"moment": moment, "percent": percent}

    def page(self, template: str, **values: Any) -> str:
        """Return a page; its template is a file under ``templates/``, without its ending."""
        return self._environment.get_template(f"{template}.html").render(**values)


def moment(at: datetime | None) -> str:
    """Return a moment as text.

    >>> from datetime import UTC, datetime
    >>> moment(datetime(2026, 3, 9, 14, 5, tzinfo=UTC))
    '9 Mar 2026, 14:05 UTC'
    """
    if at is None:
        return "–"
    return f"{at.day} {at:%b %Y, %H:%M} UTC"


def percent(share: float | None) -> str:
    """Return a share as text.

    >>> percent(0.254), percent(None)
    ('25 %', '–')
    """
    return "–" if share is None else f"{100 * share:.0f} %"
