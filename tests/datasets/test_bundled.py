import bz2
import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from fairwise.datasets import bundled, card, load_compas, load_german_credit
from fairwise.errors import FairwiseError

NAMES = ["compas", "german_credit"]


def bundled_bytes(name: str) -> bytes:
    return bundled.data_folder().joinpath(card(name).file).read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_the_bundled_file_is_small_and_has_the_checksum_on_its_card(name: str) -> None:
    content = bundled_bytes(name)
    assert hashlib.sha256(content).hexdigest() == card(name).sha256
    assert len(content) < 30_000


@pytest.mark.parametrize("name", NAMES)
def test_the_bundled_file_holds_nothing_but_the_columns_on_its_card(name: str) -> None:
    header = bz2.decompress(bundled_bytes(name)).decode().splitlines()[0].split(",")
    assert header == ["id", *(column.name for column in card(name).columns), card(name).outcome.name]


@pytest.mark.parametrize(("name", "load"), [("compas", load_compas), ("german_credit", load_german_credit)])
def test_a_changed_file_is_refused(
    name: str, load: Callable[[], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = bz2.decompress(bundled_bytes(name)).replace(b",1\n", b",0\n", 1)
    (tmp_path / card(name).file).write_bytes(bz2.compress(text))
    monkeypatch.setattr(bundled, "data_folder", lambda: tmp_path)
    with pytest.raises(FairwiseError, match=rf"{card(name).file} is not the original.*install fairwise again"):
        load()


def test_a_missing_file_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundled, "data_folder", lambda: tmp_path)
    with pytest.raises(FairwiseError, match=r"compas\.csv\.bz2 is missing; install fairwise again"):
        load_compas()


def test_the_message_names_both_checksums() -> None:
    other = replace(card("compas"), sha256="0" * 64)
    with pytest.raises(FairwiseError, match=f"{card('compas').sha256}, expected {'0' * 64}"):
        bundled.read_people_and_outcome(other)
