"""What the page says about judgments is so."""

import re
from pathlib import Path

import pandas as pd
import pytest

from fairwise.errors import JudgmentsError
from fairwise.judgments import Answer, Judgments

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "judgments.md").read_text(encoding="utf-8")


def test_the_examples_run() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    assert blocks
    for block in blocks:
        exec(block, {})


def test_every_answer_is_explained() -> None:
    assert re.findall(r"^\| `(\w+)` \| [A-Zn]", PAGE, flags=re.MULTILINE)[-4:] == list(Answer)


def test_the_example_of_an_error_is_a_real_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = {line: f"x,1,{line},same" for line in range(2, 18)}
    rows |= {7: "x,1,9,sme", 9: "x,1, 17,same", 12: "x,1,2,", 15: "x,1,3,"}
    Path("judgments.csv").write_text("\n".join(["judge,a,b,answer", *rows.values()]))
    with pytest.raises(JudgmentsError) as caught:
        Judgments.read("judgments.csv", people=pd.DataFrame({"age": 30}, index=range(1, 18)))
    assert f"`{caught.value}`" in PAGE.replace("\n", " ")
