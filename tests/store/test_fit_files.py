"""What a fit left behind, as it is read."""

from __future__ import annotations

from pathlib import Path

from tests.support.fits import write_fit

from fairwise.store.fit_files import FRONTIER, SUMMARY, Fitted, job_folder


def test_the_words_of_older_files_are_translated(tmp_path: Path) -> None:
    """Version 0.1 wrote "honoured" and "given_up" into the files of a fit."""
    people = {f"person {k}": k / 12 for k in range(12)}
    for job_id in (1, 2):
        write_fit(tmp_path, job_id, people, not_followed=4)
    for name in (SUMMARY, FRONTIER):
        file = job_folder(tmp_path, 1) / name
        text = file.read_text(encoding="utf-8")
        file.write_text(text.replace('"followed"', '"honoured"').replace('"not_followed"', '"given_up"'), "utf-8")
        assert '"given_up"' in file.read_text(encoding="utf-8")
    old, new = Fitted.of(tmp_path, 1), Fitted.of(tmp_path, 2)
    assert old is not None
    assert new is not None
    assert old.summary == new.summary
    assert (old.summary.followed, old.summary.not_followed) == (40, 4)
    assert old.frontier == new.frontier
