"""Every parser, on files made bad from good ones: it takes them or says in one line what is wrong."""

from __future__ import annotations

import io
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.bombs import workbook
from tests.support.mutations import damaged, damaged_archive, damaged_table, damaged_text
from tests.support.tried import Tried, how_many, rng_of
from tests.support.visits import hidden, visiting

from fairwise import PairwiseFairClassifier
from fairwise.archive.bundle import write_bundle
from fairwise.archive.verify import verify_bundle
from fairwise.errors import InputError
from fairwise.judgments import Judgments
from fairwise.study.fit_choices import FitChoices
from fairwise.study.folder import StudyFolder
from fairwise.study.settings import StudySettings
from fairwise.study.texts import read_text, safe_html
from fairwise.tables.files import PeopleFile

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from random import Random

    Mutation = Callable[[bytes, Random], bytes]

N_PEOPLE = 24


def people() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "person": [f"p{k}" for k in range(N_PEOPLE)],
            "age": rng.integers(18, 60, N_PEOPLE),
            "score": rng.random(N_PEOPLE).round(2),
            "town": rng.choice(["Aa", "Bé"], N_PEOPLE),
            "returned": np.arange(N_PEOPLE) % 2,
        }
    )


def judgments() -> pd.DataFrame:
    answers = ["same", "a_at_least_b", "b_at_least_a", "no_constraint"]
    rows = [(f"j{k % 3}", f"p{k}", f"p{k + 1}", answers[k % 4], 1.5, "uniform") for k in range(12)]
    return pd.DataFrame(rows, columns=["judge", "a", "b", "answer", "weight", "design"])


def as_csv(table: pd.DataFrame, separator: str = ",") -> bytes:
    return table.to_csv(index=False, sep=separator).encode()


def as_parquet(table: pd.DataFrame) -> bytes:
    made = io.BytesIO()
    table.to_parquet(made, index=False)
    return made.getvalue()


def as_excel(table: pd.DataFrame) -> bytes:
    cells = [list(table.columns), *table.astype(str).to_numpy().tolist()]
    texts = [f'<c t="inlineStr"><is><t>{cell}</t></is></c>' for row in cells for cell in row]
    width = len(table.columns)
    rows = ["".join(texts[at : at + width]) for at in range(0, len(texts), width)]
    return workbook("".join(f"<row>{row}</row>" for row in rows), "<si><t>x</t></si>")


@dataclass(frozen=True)
class Target:
    """A valid file, how it is made bad, and what reads it."""

    valid: bytes
    mutation: Mutation
    reader: Callable[[Path], Any]
    suffix: str
    times: int = 300


def read_people(path: Path) -> None:
    found = PeopleFile.read(path, "person")
    found.outcome("returned")
    found.features(outcome="returned")
    found.groups(["town"])


def fit_choices(path: Path) -> None:
    content = json.loads(path.read_bytes())
    if isinstance(content, dict):
        FitChoices.checked(content)


def only_json(data: bytes, rng: Random) -> bytes:
    """Bad settings in good JSON: how it is written down is not the fit's business."""
    content = json.loads(data)
    names = [*content, "other"]
    values: list[Any] = [
        None,
        -1,
        2,
        1e400,
        "",
        "x",
        "nan",
        [],
        {},
        [[]],
        [{"rate": "dp"}],
        True,
        10**400,
        "\x00",
        [1, "a"],
    ]
    for _ in range(rng.choice((1, 2, 3))):
        content[rng.choice(names)] = rng.choice((*values, rng.random() * 3 - 1, str(rng.random())))
    return json.dumps(content).encode()


def harmless(path: Path) -> None:
    """Nothing that acts comes out of a text, whatever goes in."""
    html = safe_html(read_text(path))
    assert not re.search(r"<(script|iframe|img|svg|object|style|form|input)\b", html)
    for tag in re.findall(r"<[^>]*>", html):
        assert not re.search(
            r"\bon\w+\s*=|javascript:|data:", re.sub(r'(title|href)="https?:[^"]*"|title="[^"]*"', "", tag)
        ), tag


TEXT = b"""# Consent

You are *asked* to **compare** [people](https://example.org "title"). <b>Bold</b>

- one
- two

| a | b |
|---|---|
| 1 | 2 |

> Quote ![picture](https://example.org/x.png) `code` [FILL IN: who]
"""

TABLES: dict[str, Target] = {
    "people.csv": Target(as_csv(people()), damaged_table, read_people, ".csv", 400),
    "people.tsv": Target(as_csv(people(), "\t"), lambda d, r: damaged_table(d, r, "\t"), read_people, ".tsv", 200),
    "people.parquet": Target(as_parquet(people()), damaged, read_people, ".parquet"),
    "people.xlsx": Target(as_excel(people()), damaged_archive, read_people, ".xlsx", 400),
    "judgments.csv": Target(as_csv(judgments()), damaged_table, Judgments.read, ".csv", 400),
    "judgments.parquet": Target(as_parquet(judgments()), damaged, Judgments.read, ".parquet"),
    "consent.md": Target(TEXT, damaged_text, harmless, ".md", 300),
    "fit settings": Target(
        json.dumps({"name": "First", "favorable_label": "1", "gamma": 0.1, "eta": 0.0}).encode(),
        only_json,
        fit_choices,
        ".json",
    ),
}


def try_all(tried: Tried, target: str, aim: Target, path: Path) -> None:
    def reader(content: bytes) -> None:
        path.write_bytes(content)
        aim.reader(path)

    reader(aim.valid)
    for number in range(how_many(aim.times)):
        tried.read(aim.mutation(aim.valid, rng_of(target, number)), reader)
        if number % 500 == 0:  # what is good is taken still
            reader(aim.valid)


@pytest.mark.slow
@pytest.mark.parametrize("target", TABLES)
def test_tables_and_texts(tried: Tried, tmp_path: Path, target: str) -> None:
    aim = TABLES[target]
    try_all(tried, target, aim, tmp_path / f"file{aim.suffix}")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "times"), [
    ("study.toml", 300), ("study.de.toml", 60), ("people.parquet", 100), ("outcome.parquet", 60),
    ("scores.parquet", 60), ("secret.key", 10),
])  # fmt: skip
def test_files_of_a_study(tried: Tried, make_study: Callable[..., StudyFolder], name: str, times: int) -> None:
    folder = make_study(
        languages=["en", "de"], relations=[{"name": "a", "words": "A"}, {"name": "b", "words": "B"}]
    ).path
    ids = [f"known-as-{k}" for k in range(12)]
    pd.DataFrame({"id": ids, "score": np.linspace(0, 1, 12)}).to_parquet(folder / "scores.parquet", index=False)

    def reader(_path: Path) -> None:
        if name == "study.toml":  # most of it does not concern the rest of the folder
            StudySettings.read(folder / name)
        found = StudyFolder.open(folder)
        if name == "outcome.parquet":
            found.outcome()

    mutation = damaged_text if name.endswith(".toml") else damaged
    aim = Target((folder / name).read_bytes(), mutation, reader, "", times)
    try_all(tried, name, aim, folder / name)


@pytest.mark.slow
def test_bundles(tried: Tried, make_study: Callable[..., StudyFolder], tmp_path: Path) -> None:
    study, bundle = make_study(ask_why=True), tmp_path / "bundle.zip"
    with visiting(study, tmp_path / "study.sqlite") as visit:
        for answered in (4, 2):
            visit.client.cookies.clear()
            mine = visit.begin()
            for number in range(1, answered + 1):
                visit.answer(mine, number, why='a "reason",\nwith =1+1')
            if answered == 4:
                visit.post(f"{mine}/closing", **hidden(visit.get(f"{mine}/closing")), rules="rules")
        visit.store.read_now(lambda connection: write_bundle(bundle, study, connection))
    aim = Target(bundle.read_bytes(), forged, verify_bundle, ".zip", 60)
    before = sorted(tmp_path.iterdir())
    try_all(tried, "bundle.zip", aim, bundle)
    assert sorted(tmp_path.iterdir()) == before


def forged(data: bytes, rng: Random) -> bytes:
    """Also with checksums made anew, so that what is inside is looked at."""
    from tests.security.forging import with_new_checksums  # noqa: PLC0415

    changed = damaged_archive(data, rng)
    return with_new_checksums(changed) if rng.random() < 0.7 else changed


@pytest.mark.slow
def test_models(tried: Tried, tmp_path: Path) -> None:
    table = people().set_index("person")
    features, outcome = table[["age", "score", "town"]], table["returned"]
    said = Judgments(judgments(), people=features)
    model = PairwiseFairClassifier(estimator="tree", max_depth=1, gamma=0.1, favorable_label=1)
    path = tmp_path / "model.skops"
    model.fit(features, outcome, judgments=said).save(path)
    expected = PairwiseFairClassifier.load(path).predict_proba(features)

    def reader(found: Path) -> None:
        PairwiseFairClassifier.load(found)

    try_all(tried, "model.skops", Target(path.read_bytes(), damaged_archive, reader, ".skops", 60), path)
    path.write_bytes(b"")
    model.save(path)
    assert (PairwiseFairClassifier.load(path).predict_proba(features) == expected).all()


def test_text_that_is_no_text(tmp_path: Path) -> None:
    """Parquet says of a column that it is text; whether it is, only looking at every byte tells."""
    buffers = [None, pa.py_buffer(np.array([0, 4], np.int32)), pa.py_buffer(b"a\xff\xfeb")]
    bad = pa.StringArray.from_buffers(1, buffers[1], buffers[2])
    table = pa.table({"person": pa.array(["x"]), "judge": pa.array(["j"]), "a": bad, "b": bad, "answer": bad})
    pq.write_table(table, tmp_path / "bad.parquet")
    for reader in (lambda path: PeopleFile.read(path, "person"), Judgments.read):
        with pytest.raises(InputError, match="damaged Parquet"):
            reader(tmp_path / "bad.parquet")
