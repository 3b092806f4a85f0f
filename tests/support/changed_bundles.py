"""Bundles in which something was changed, by somebody who knows how they are made, or who does not."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from typing import TYPE_CHECKING

import pandas as pd

from fairwise.archive.bundle import MANIFEST

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fairwise.archive.bundle import Bundle


def changed(bundle: Path, change: Callable[[dict[str, bytes]], object], *, forge: bool = False) -> Path:
    """The bundle with something else in it; a forger also corrects the list of checksums."""
    with zipfile.ZipFile(bundle) as old:
        files = {name: old.read(name) for name in old.namelist()}
    change(files)
    if forge:
        manifest = json.loads(files[MANIFEST])
        manifest["files"] = {name: hashlib.sha256(data).hexdigest() for name, data in files.items() if name != MANIFEST}
        files[MANIFEST] = json.dumps(manifest).encode()
    path = bundle.with_name("changed.zip")
    with zipfile.ZipFile(path, "w") as new:
        for name, data in files.items():
            new.writestr(name, data)
    return path


def contents(bundle: Bundle) -> dict[str, bytes]:
    """The content of every file."""
    return {name: b"".join(bundle.pieces(name)) for name in bundle.names}


def in_table(name: str, edit: Callable[[pd.DataFrame], pd.DataFrame]) -> Callable[[dict[str, bytes]], None]:
    def change(files: dict[str, bytes]) -> None:
        table = pd.read_csv(io.BytesIO(files[name]), dtype=str, keep_default_na=False)
        files[name] = edit(table).to_csv(index=False, lineterminator="\n").encode()

    return change


def put(row: int, column: str, value: str) -> Callable[[pd.DataFrame], pd.DataFrame]:
    def edit(table: pd.DataFrame) -> pd.DataFrame:
        table.loc[row, column] = value
        return table

    return edit
