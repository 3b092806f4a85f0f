"""An operator who edits a study in the console, without JavaScript."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from httpx2 import Response
    from tests.support.operating import Operating

    from fairwise.study.folder import StudyFolder


def fields(page: Response) -> dict[str, str]:
    """What a browser would send from the form in the middle of a page."""
    form = page.text.partition("<main")[2]
    found = {}
    for tag in re.findall(r"<input [^>]*>", form):
        said = dict(re.findall(r'([\w-]+)="([^"]*)"', tag))
        skipped = " disabled" in tag or (said.get("type") == "checkbox" and " checked" not in tag)
        if "name" in said and not skipped:
            found[said["name"]] = unescape(said.get("value", ""))
    for tag, name, text in re.findall(r'(<textarea [^>]*name="([^"]*)"[^>]*>)\n(.*?)</textarea>', form, re.DOTALL):
        found |= {} if " disabled" in tag else {name: unescape(text)}
    for tag, name, options in re.findall(r'(<select[^>]*name="([^"]*)"[^>]*>)(.*?)</select>', form, re.DOTALL):
        if " disabled" in tag:
            continue
        found[name] = (re.findall(r'value="([^"]*)" selected', options) or re.findall(r'value="([^"]*)"', options))[0]
    return found


def change(console: Operating, part: str, **new: str | None) -> Response:
    """Open a part, change some fields (None takes a tick away), save."""
    sent = fields(console.get(f"/study/{part}")) | {name: value for name, value in new.items() if value is not None}
    for name, value in new.items():
        if value is None:
            sent.pop(name, None)
    return console.client.post(f"/admin/study/{part}", data=sent)


def served(console: Operating) -> StudyFolder:
    console.site.host.look_again()
    console.client.get("/health")
    assert console.site.host.study is not None
    return console.site.host.study
