"""What is needed to do it all again: settings, versions, checksums."""

from __future__ import annotations

import hashlib
import platform
import tempfile
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from fairwise.judgments import Judgments
    from fairwise.learning.estimator import PairwiseFairClassifier

_PACKAGES = ("fairwise", "numpy", "pandas", "scipy", "scikit-learn", "highspy", "fairlearn")


@dataclass(frozen=True)
class Recipe:
    """Names and values, ready to be shown; a checksum is the SHA-256 of the table as a CSV file."""

    settings: tuple[tuple[str, str], ...]
    versions: tuple[tuple[str, str], ...]
    judgments_checksum: str
    people_checksum: str

    @classmethod
    def of(cls, model: PairwiseFairClassifier, judgments: Judgments, people: pd.DataFrame) -> Recipe:
        settings = model.get_params(deep=False)
        return cls(
            settings=tuple((name, repr(value)) for name, value in sorted(settings.items())),
            versions=(("Python", platform.python_version()), *((name, version(name)) for name in _PACKAGES)),
            judgments_checksum=_checksum_as_written(judgments),
            people_checksum=hashlib.sha256(people.to_csv(lineterminator="\n").encode()).hexdigest(),
        )


def _checksum_as_written(judgments: Judgments) -> str:
    """Of the very file that ``judgments.write("judgments.csv")`` makes, so that anyone can compare it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "judgments.csv"
        judgments.write(path)
        return hashlib.sha256(path.read_bytes()).hexdigest()
