"""JSON that every reader takes, whatever it was made from."""

import json

import numpy as np
import pandas as pd

from fairwise.tables.plain_json import json_text


def test_what_json_has_no_word_for_becomes_null_text_or_a_list() -> None:
    value = {
        "nothing": np.nan,
        "endless": float("inf"),
        "count": np.int64(3),
        7: (np.float64(0.5), None, True),
        "table": pd.DataFrame({"a": [1, 2], "b": ["x", None]}),
        "day": pd.Timestamp("2026-03-09"),
    }
    assert json.loads(json_text(value)) == {
        "nothing": None,
        "endless": None,
        "count": 3,
        "7": [0.5, None, True],
        "table": [{"a": 1, "b": "x"}, {"a": 2, "b": None}],
        "day": "2026-03-09 00:00:00",
    }


def test_letters_of_any_script_stay_as_they_are() -> None:
    assert json_text("後藤") == '"後藤"'
