"""The page on datasets says what the cards say."""

from pathlib import Path

import pytest

from fairwise.datasets import card

PAGE = Path(__file__).resolve().parents[2] / "docs" / "datasets.md"


@pytest.mark.parametrize("name", ["adult", "compas", "german_credit"])
def test_the_page_has_the_columns_and_checksums_of_the_card(name: str) -> None:
    page, facts = PAGE.read_text(encoding="utf-8"), card(name)
    for column in facts.columns:
        assert f"| `{column.name}` | {column.meaning} |" in page
    for fact in (f"`{facts.name}`", f"`{facts.outcome.name}`", facts.file, facts.sha256, facts.raw_sha256):
        assert fact in page
    assert f"| favourable label | {facts.favorable_label}, " in page
    assert f"| people | {facts.rows:,}, " in page
