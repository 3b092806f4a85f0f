"""A table read in blocks gives the model that it gives in memory, however it is cut and wherever it comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dask.dataframe
import numpy as np
import pandas as pd
import pytest
from fairlearn.reductions import DemographicParity
from tests.support.crowds import SETTINGS, Crowd

from fairwise import Judgments, LargeTable, PairwiseFairClassifier
from fairwise.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


def same_models(model: PairwiseFairClassifier, other: PairwiseFairClassifier, people: pd.DataFrame) -> None:
    """Label for label: every classifier on every person, and every draw."""
    assert model._encoder == other._encoder
    assert model._encoder is not None
    rows = model._encoder.encode(people)
    assert np.array_equal(model.classifiers_.labels(rows), other.classifiers_.labels(rows))
    assert np.array_equal(model.predict(people), other.predict(people))
    assert model.certificate_.error == pytest.approx(other.certificate_.error, abs=1e-12)
    assert model.certificate_.oracle_bound == pytest.approx(other.certificate_.oracle_bound, abs=1e-9)
    assert model.certificate_.max_violation == other.certificate_.max_violation
    assert np.array_equal(model.classes_, other.classes_)
    assert model.feature_names_in_.tolist() == other.feature_names_in_.tolist()


@pytest.mark.parametrize(
    "settings",
    [
        {"favorable_label": 1},
        {"favorable_label": 0, "gamma": 0.0, "eta": 0.05},
        {"favorable_label": 1, "eta": None, "judge_budgets": 0.1},
    ],
    ids=str,
)
def test_in_blocks_as_in_memory(make_crowd: Callable[..., Crowd], tmp_path: Path, settings: dict[str, Any]) -> None:
    crowd = make_crowd()
    crowd.table.to_parquet(tmp_path / "people.parquet", row_group_size=130)
    model = crowd.in_blocks(tmp_path / "people.parquet", **settings)
    in_memory = crowd.in_memory(**settings)
    same_models(model, in_memory, crowd.people)
    assert len(np.unique(in_memory.predict_proba(crowd.people)[:, 1])) > 10
    prices, expected = model.prices_, in_memory.prices_
    assert prices.drop(columns=["price"]).equals(expected.drop(columns=["price"]))
    assert np.allclose(prices["price"], expected["price"])


def test_every_source_gives_the_same_numbers(make_crowd: Callable[..., Crowd], tmp_path: Path) -> None:
    """Bit for bit, not only label for label: blocks are the same, so are their sums and the order they are added in."""
    crowd = make_crowd()
    table = crowd.table
    table.to_parquet(tmp_path / "one.parquet", row_group_size=1000)
    table.to_parquet(tmp_path / "many.parquet", row_group_size=7)
    table.reset_index().to_parquet(tmp_path / "column.parquet", row_group_size=300, index=False)
    (tmp_path / "folder").mkdir()
    for part in range(7):
        table.iloc[100 * part : 100 * part + 100].to_parquet(tmp_path / "folder" / f"{part}.parquet")

    def chunks(size: int) -> Iterator[pd.DataFrame]:
        return (table.iloc[start : start + size] for start in range(0, len(table), size))

    sources = {
        "one row group": tmp_path / "one.parquet",
        "many row groups": str(tmp_path / "many.parquet"),
        "folder": tmp_path / "folder",
        "id as a column": LargeTable(tmp_path / "column.parquet", outcome="paid", id="id"),
        "list": list(chunks(50)),
        "iterator": chunks(333),
        "function": LargeTable(lambda: chunks(64), outcome="paid"),
        "dask": dask.dataframe.from_pandas(table, npartitions=9, sort=False),
        "uneven dask": dask.dataframe.concat(
            [
                dask.dataframe.from_pandas(part, npartitions=1, sort=False)
                for part in (table[:5], table[5:600], table[600:])
            ]
        ),
    }
    models = {name: crowd.in_blocks(source, favorable_label=1) for name, source in sources.items()}
    first = models["one row group"]
    for name, model in models.items():
        assert model._encoder == first._encoder, name
        for key, values in first.classifiers_.state().items():
            assert np.array_equal(model.classifiers_.state()[key], values), name
        assert model.certificate_ == first.certificate_, name


def test_without_judgments_it_is_the_plain_model(make_crowd: Callable[..., Crowd]) -> None:
    crowd = make_crowd()
    model = PairwiseFairClassifier(**SETTINGS).fit([crowd.table], "paid")
    plain = PairwiseFairClassifier(**SETTINGS).fit(crowd.people, crowd.outcome)
    same_models(model, plain, crowd.people)


def test_positions_and_text_ids_are_found(make_crowd: Callable[..., Crowd], tmp_path: Path) -> None:
    crowd = make_crowd()
    by_id = crowd.in_blocks([crowd.table], favorable_label=1)
    place = pd.Series(np.arange(len(crowd.people)), index=crowd.people.index)
    answers = crowd.answers.assign(a=crowd.answers["a"].map(place), b=crowd.answers["b"].map(place))
    crowd.table.reset_index(drop=True).to_parquet(tmp_path / "people.parquet")
    by_position = PairwiseFairClassifier(**SETTINGS, favorable_label=1).fit(
        tmp_path / "people.parquet", "paid", judgments=Judgments(answers, by="position")
    )
    as_text = crowd.in_blocks([crowd.table.set_axis(crowd.people.index.map(str))], favorable_label=1)
    for model in (by_position, as_text):
        assert np.array_equal(model.classifiers_.state()["coef"], by_id.classifiers_.state()["coef"])


def test_ids_that_pandas_wrote_as_a_range_are_kept(make_crowd: Callable[..., Crowd], tmp_path: Path) -> None:
    crowd = make_crowd()
    numbered = crowd.table.sort_index().set_axis(pd.RangeIndex(50, 50 + 3 * len(crowd.people), 3, name="id"))
    answers = crowd.answers.assign(a=50 + 3 * (crowd.answers["a"] - 100), b=50 + 3 * (crowd.answers["b"] - 100))
    numbered.to_parquet(tmp_path / "people.parquet", row_group_size=150)
    models = [
        PairwiseFairClassifier(**SETTINGS, favorable_label=1).fit(source, "paid", judgments=Judgments(answers))
        for source in (tmp_path / "people.parquet", [numbered])
    ]
    assert np.array_equal(models[0].classifiers_.state()["coef"], models[1].classifiers_.state()["coef"])


def test_columns_can_be_chosen(make_crowd: Callable[..., Crowd]) -> None:
    crowd = make_crowd()
    few = crowd.in_blocks(LargeTable([crowd.table], outcome="paid", columns=["age", "city"]), favorable_label=1)
    less = crowd.in_blocks(
        LargeTable([crowd.table], outcome="paid", drop=["born", "income", "member", "rare"]), favorable_label=1
    )
    assert few.feature_names_in_.tolist() == ["age", "city"]
    assert np.array_equal(few.classifiers_.state()["coef"], less.classifiers_.state()["coef"])


def test_a_saved_model_is_the_same(make_crowd: Callable[..., Crowd], tmp_path: Path) -> None:
    crowd = make_crowd()
    model = crowd.in_blocks([crowd.table], favorable_label=1)
    model.save(tmp_path / "model.skops")
    again = PairwiseFairClassifier.load(tmp_path / "model.skops")
    assert np.array_equal(again.predict(crowd.people), model.predict(crowd.people))
    with pytest.raises(InputError, match="in blocks"):
        model.derandomize()


def test_numbers_in_the_order_of_the_names_of_files_are_ids(make_crowd: Callable[..., Crowd], tmp_path: Path) -> None:
    crowd = make_crowd()
    table = crowd.table.sort_index().reset_index(drop=True)
    for part in range(3):
        table[250 * part : 250 * part + 250].to_parquet(tmp_path / f"{part}.parquet")
    answers = crowd.answers.assign(a=crowd.answers["a"] - 100, b=crowd.answers["b"] - 100)
    models = [
        PairwiseFairClassifier(**SETTINGS, favorable_label=1).fit(source, "paid", judgments=Judgments(answers))
        for source in (tmp_path, [table])
    ]
    assert models[0].certificate_ == models[1].certificate_


def test_files_may_differ_in_harmless_types(make_crowd: Callable[..., Crowd], tmp_path: Path) -> None:
    table = make_crowd().table
    first, rest = table[:100].assign(age=table["age"][:100].astype(float), city=None), table[100:]
    first.to_parquet(tmp_path / "1.parquet")
    rest.to_parquet(tmp_path / "2.parquet")
    model = PairwiseFairClassifier(**SETTINGS).fit(tmp_path, "paid")
    other = PairwiseFairClassifier(**SETTINGS).fit([pd.concat([first, rest])], "paid")
    assert model.certificate_.error == other.certificate_.error
    rest.drop(columns="age").to_parquet(tmp_path / "2.parquet")
    with pytest.raises(InputError, match=r"2\.parquet: there is no column 'age'"):
        PairwiseFairClassifier(**SETTINGS).fit(tmp_path, "paid")


@pytest.mark.parametrize("where", [slice(0, 200), slice(200, 400)])
def test_a_chunk_of_gaps_may_be_of_any_type(make_crowd: Callable[..., Crowd], where: slice) -> None:
    table = make_crowd().table
    gaps = table["city"].copy()
    gaps.iloc[where] = None
    whole = table.assign(city=gaps)
    chunks = [whole[start : start + 200] for start in range(0, 800, 200)]
    untyped = [chunk.assign(city=np.nan) if chunk["city"].isna().all() else chunk for chunk in chunks]
    assert any(chunk["city"].dtype == float for chunk in untyped)
    models = [PairwiseFairClassifier(**SETTINGS).fit(given, "paid") for given in (untyped, chunks)]
    assert models[0].certificate_ == models[1].certificate_
    assert models[0]._encoder == models[1]._encoder


def test_a_group_is_the_same_whole_number_in_any_type(make_crowd: Callable[..., Crowd]) -> None:
    table = make_crowd().table.assign(region=np.arange(700) % 3)
    chunks = [table[:300], table[300:].assign(region=table["region"][300:].astype(float))]
    parity = DemographicParity(difference_bound=0.1)
    model = PairwiseFairClassifier(**{**SETTINGS, "n_rounds": 5}, group_constraints=parity).fit(
        LargeTable(chunks, outcome="paid", drop=["region"], groups="region"), None
    )
    assert len(model.group_rules_) == 6


def test_dates_and_what_is_missing_are_read_as_in_memory(make_crowd: Callable[..., Crowd], tmp_path: Path) -> None:
    crowd = make_crowd()
    rng = np.random.default_rng(0)
    born = pd.Series(
        np.datetime64("1960-01-01", "us") + rng.integers(0, 2**50, size=len(crowd.people)).astype("m8[us]")
    )
    numbers = rng.integers(0, 900, size=len(crowd.people))
    bad = rng.random(len(numbers)) < 0.05
    texts = np.where(bad, "?", numbers.astype(str)).astype(object)
    people = crowd.people.assign(
        born=born.where(rng.random(len(born)) < 0.9).to_numpy(),
        day=born.dt.date.to_numpy(),
        spell=(born - born.min()).to_numpy(),
        debts=np.where(bad, np.nan, numbers),
    )
    whole = Crowd(people, crowd.outcome, crowd.answers)
    expected = whole.in_memory(favorable_label=1)
    assert expected.columns_["kind"][["born", "day", "spell"]].tolist() == ["date", "date", "duration"]
    as_text = whole.table.assign(debts=texts)
    as_text.to_parquet(tmp_path / "people.parquet", row_group_size=130)
    chunks = [as_text.iloc[:300], as_text.iloc[300:]]
    path = str(tmp_path / "people.parquet")
    for large in [
        LargeTable(path, outcome="paid", na_values=["?"], numeric=["debts"]),
        LargeTable(chunks, outcome="paid", numeric=["debts"]),
    ]:
        model = whole.in_blocks(large, favorable_label=1)
        assert model.columns_.equals(expected.columns_)
        same_models(model, expected, people)
    with pytest.warns(UserWarning, match=rf"'debts' is read as \d+ categories, because {bad.sum()} of 700 .*numeric="):
        whole.in_blocks(chunks, favorable_label=1)
    meant = as_text.assign(debts=as_text["debts"].astype("category"), note=None)
    whole.in_blocks([meant.iloc[:300], meant.iloc[300:]], favorable_label=1)  # without a warning, as in memory
