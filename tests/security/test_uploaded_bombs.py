"""Small files that would fill the memory are sent to a server of several studies, six at once."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from tests.security.uploaded_bombs import AT_ONCE, bombardment

from fairwise.web.console.scoring import MOST_WAITING

if TYPE_CHECKING:
    from pathlib import Path

_ONE, _SIX = 400, 1000
"""Megabytes above what the server had before."""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc, and limits for memory")
def test_uploads_that_swell_take_little_memory_and_hold_up_no_other_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAIRWISE_READ_SECONDS", "10")
    kinds = [
        "blank cells.xlsx",
        "one text often.parquet",
        "lists.parquet",
        "long text.xlsx",
        "wide.csv",
        "far row.xlsx",
    ]
    with bombardment(tmp_path) as attack:
        one = attack.of(["blank texts.xlsx"])
        six = attack.of(kinds)
    assert (one.megabytes < _ONE, six.megabytes < _SIX) == (True, True), (one.megabytes, six.megabytes)
    for found in (one, six):
        assert {status for status, _ in found.visits} == {200}
        assert {status for status, _ in found.replies} == {422}
    busy = [text for _, text in six.replies if "is computing for other people" in text]
    assert len(busy) <= AT_ONCE - MOST_WAITING  # a file that is refused at once leaves its place to another
    assert not [file for folder in attack.folders for file in (folder / ".uploads").iterdir()]
