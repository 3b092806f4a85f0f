"""What cannot be read or done in blocks is refused, with where and what; nothing that was given is ignored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from fairlearn.reductions import DemographicParity
from sklearn.linear_model import LogisticRegression
from tests.support.crowds import SETTINGS, Crowd

from fairwise import Judgments, LargeTable, PairwiseFairClassifier, frontier
from fairwise.errors import InputError, JudgmentsError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"estimator": "tree"}, "estimator='tree' needs the whole table in memory"),
        ({"estimator": LogisticRegression()}, "needs the whole table in memory"),
        ({"group_constraints": DemographicParity()}, "groups='column'"),
    ],
    ids=["tree", "logistic", "parity"],
)
def test_what_cannot_be_done_in_blocks_is_refused(
    make_crowd: Callable[..., Crowd], change: dict[str, Any], error: str
) -> None:
    crowd = make_crowd()
    with pytest.raises(InputError, match=error):
        PairwiseFairClassifier(**{**SETTINGS, **change}).fit([crowd.table], "paid")


def test_a_curve_takes_two_passes_or_is_refused(make_crowd: Callable[..., Crowd]) -> None:
    crowd = make_crowd()
    with pytest.raises(InputError, match="two passes"):
        frontier([crowd.table], "paid", Judgments(crowd.answers), estimator="linear", favorable_label=1)


def test_bad_tables_are_refused_with_where_and_what(make_crowd: Callable[..., Crowd], tmp_path: Path) -> None:
    crowd = make_crowd()
    table = crowd.table

    def refused(source: Any, words: str, **more: Any) -> None:
        with pytest.raises(InputError, match=words):
            crowd.in_blocks(source, favorable_label=1, **more)

    refused(tmp_path / "none.parquet", "none.parquet: there is no such file")
    (tmp_path / "text.parquet").write_text("id,paid")
    refused(tmp_path / "text.parquet", "text.parquet: cannot be read as Parquet")
    refused(tmp_path, "text.parquet: cannot be read")
    refused([table.drop(columns="paid")], "no column 'paid'")
    refused(LargeTable([table], outcome="paid", id="name"), "no column 'name'")
    refused([table.assign(paid=crowd.people["city"])], "outcome is missing for person")
    refused([table.assign(paid=np.arange(len(table)) // 300)], "3 different outcomes, 0, 1, 2.*give label_values=")
    refused([table.assign(paid=np.arange(len(table)))], "outcomes have more than 64 different values")
    refused([table.assign(paid=np.arange(len(table)) // 8)], "outcomes have more than 64 different values")
    refused([table.assign(paid=1)], "the same outcome")
    refused([table[:300], table[300:].assign(age="old")], "Column 'age' holds numbers in some rows and text in others")
    refused([table.assign(age=np.inf)], "Column 'age' is infinity")
    refused([table[:5], "people"], "DataFrames, not str")
    refused([table, table], "is there twice, in rows")
    with pytest.raises(JudgmentsError, match="not in the table"):
        crowd.in_blocks([table[:100]], favorable_label=1)
    with pytest.raises(InputError, match="name of a column"):
        PairwiseFairClassifier(**SETTINGS).fit([table], crowd.outcome)
    with pytest.raises(InputError, match="sample_weight"):
        PairwiseFairClassifier(**SETTINGS).fit([table], "paid", sample_weight=np.ones(len(table)))


def test_people_whom_the_judgments_carry_must_look_the_same(make_crowd: Callable[..., Crowd]) -> None:
    crowd = make_crowd()
    judgments = Judgments(crowd.answers, people=crowd.people.assign(age=20))
    with pytest.raises(JudgmentsError, match="column 'age'"):
        PairwiseFairClassifier(**SETTINGS, favorable_label=1).fit([crowd.table], "paid", judgments=judgments)


def test_files_whose_numbers_do_not_go_on_from_one_another_are_refused(
    make_crowd: Callable[..., Crowd], tmp_path: Path
) -> None:
    """By name part10 comes before part2: counted through, everyone would be somebody else."""
    table = make_crowd().table.reset_index(drop=True)
    for part in range(12):
        table[60 * part : 60 * part + 60].to_parquet(tmp_path / f"part{part}.parquet")
    with pytest.raises(InputError, match=r"part10\.parquet: its people are numbered range\(600, 660\)"):
        PairwiseFairClassifier(**SETTINGS).fit(tmp_path, "paid")


def test_outcomes_of_several_types_are_refused_whichever_comes_first(make_crowd: Callable[..., Crowd]) -> None:
    table = make_crowd().table
    for mixed in ({0: 0, 1: "1"}, {0: "0", 1: 1}):
        with pytest.raises(InputError, match="different kinds"):
            PairwiseFairClassifier(**SETTINGS).fit([table.assign(paid=table["paid"].map(mixed).astype(object))], "paid")


def test_a_table_that_changes_meanwhile_is_noticed(make_crowd: Callable[..., Crowd]) -> None:
    table = make_crowd().table
    lengths = iter([700, 700, 700, 500])
    with pytest.raises(InputError, match="changed while they were read: 700 the first time, 500 now"):
        PairwiseFairClassifier(**SETTINGS).fit(lambda: iter([table[: next(lengths)]]), "paid")
    once = iter([table])
    with pytest.raises(InputError, match=r"read only once|not a single row"):
        PairwiseFairClassifier(**SETTINGS).fit(lambda: once, "paid")


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"groups": ["age"]}, "groups is the name of a column, not list"),
        ({"columns": "age"}, "give a list of columns"),
        ({"columns": ["age", "age"]}, "each once"),
    ],
    ids=str,
)
def test_names_of_columns_are_checked(make_crowd: Callable[..., Crowd], given: dict[str, Any], error: str) -> None:
    with pytest.raises(InputError, match=error):
        LargeTable([make_crowd().table], outcome="paid", **given)


def test_nothing_that_was_given_is_ignored(make_crowd: Callable[..., Crowd]) -> None:
    crowd = make_crowd()
    source = LargeTable([crowd.table], outcome="paid")
    with pytest.raises(InputError, match="has its outcome already"):
        PairwiseFairClassifier(**SETTINGS).fit(source, "age")
    with pytest.raises(InputError, match="sensitive_features="):
        frontier(
            source,
            None,
            Judgments(crowd.answers),
            **SETTINGS,
            favorable_label=1,
            sensitive_features=crowd.people["age"],
        )
    with pytest.raises(InputError, match="not a client of dask"):
        PairwiseFairClassifier(**SETTINGS).fit(source, None, client="tcp://127.0.0.1:8786")
    model = PairwiseFairClassifier(**SETTINGS).fit(source, None)
    with pytest.raises(InputError, match="part by part"):
        model.predict([crowd.people])
