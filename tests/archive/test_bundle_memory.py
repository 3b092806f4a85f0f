"""A bundle's tables are read row by row: a small bundle does not become many times as large as its tables."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from functools import partial
from typing import TYPE_CHECKING

import pytest
from tests.support.bombs import BOMBS
from tests.support.changed_bundles import changed
from tests.support.visits import visiting

from fairwise.archive.bundle import CLOSINGS, PARTICIPANTS, read_bundle, write_bundle
from fairwise.archive.verify import verify_bundle
from fairwise.errors import InputError
from fairwise.tables.guarded import GuardedWork, guarding

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fairwise.study.folder import StudyFolder

_MOST_MEGABYTES = {PARTICIPANTS: 8, CLOSINGS: 22}
"""In memory, for each megabyte of a table: short cells take more, as each needs to be found again."""

_SIZE = 8 << 20
_HEADERS = {
    PARTICIPANTS: b'"number","slot","consent_version","consented_at","stage","check_tries","finished_at"\n',
    CLOSINGS: b"number,rules,expressible,comments\n",
}
_ROWS = {
    PARTICIPANTS: b'"1","0","a","2026-01-31T12:00:00+00:00","pairs","0",""\n',
    CLOSINGS: b"1,,,\n",
}
_VERIFY = """
import re, sys
from pathlib import Path
from fairwise.archive.verify import verify_bundle
from fairwise.errors import InputError
def most(): return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) >> 10
before = most()
try:
    verify_bundle(Path(sys.argv[1]))
except InputError as error:
    print(most() - before, error)
"""


@pytest.fixture(scope="module")
def bundle(make_study: Callable[..., StudyFolder], tmp_path_factory: pytest.TempPathFactory) -> Path:
    tmp_path = tmp_path_factory.mktemp("bundle")
    study = make_study()
    with visiting(study, tmp_path / "study.sqlite") as visit:
        visit.begin()
        visit.store.read_now(lambda connection: write_bundle(tmp_path / "bundle.zip", study, connection))
    return tmp_path / "bundle.zip"


def _with_closings(content: bytes, files: dict[str, bytes]) -> None:
    files[CLOSINGS] = content


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
@pytest.mark.parametrize("name", _HEADERS)
def test_a_table_that_swells_takes_little_memory(bundle: Path, name: str) -> None:
    table = _HEADERS[name] + _ROWS[name] * (_SIZE // len(_ROWS[name]))
    path = changed(bundle, lambda files: files.update({name: table}), forge=True)
    command = [sys.executable, "-c", _VERIFY, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    used = re.match(r"\d+", done.stdout)
    assert used is not None, done.stdout
    assert int(used[0]) < _MOST_MEGABYTES[name] * _SIZE >> 20


def test_a_table_has_few_columns_and_bounded_cells(bundle: Path) -> None:
    for content, told in (
        (",".join(map(str, range(101))).encode(), "101 columns; no table has so many"),
        (b'"number","rules","expressible","comments"\n"1","' + b"x" * ((1 << 26) + 1) + b'","",""\n', "field larger"),
    ):
        path = changed(bundle, partial(_with_closings, content), forge=True)
        with pytest.raises(InputError, match=told):
            read_bundle(path).table(CLOSINGS)


def test_people_of_a_bundle_that_swell_are_refused(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the command line in a process of its own, before the study reads them here."""
    people = BOMBS["one text often.parquet"]()
    path = changed(bundle, lambda files: files.update({"study/people.parquet": people}), forge=True)
    with zipfile.ZipFile(path) as archive:
        assert len(archive.read("study/people.parquet")) < 20_000
    with pytest.raises(InputError, match=r"people\.parquet: more than .* MB when unpacked"):
        verify_bundle(path)
    works = list[str]()
    run = GuardedWork.run

    def noted(work: GuardedWork) -> object:
        works.append(work.file)
        return run(work)

    monkeypatch.setattr(GuardedWork, "run", noted)
    with guarding(), pytest.raises(InputError, match=rf"{path}: study/people.parquet: more than .* MB when unpacked"):
        verify_bundle(path)
    assert [file.rpartition("/")[2] for file in works] == ["people.parquet"]
