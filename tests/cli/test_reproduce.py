from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairwise import replication

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    import pytest
    from tests.cli.conftest import Study
    from typer.testing import Result


class _SeenError(Exception):
    """What the study would have been made of is known; the rest takes long."""


def test_files_of_ones_own_may_look_as_everywhere(
    study: Study, run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    people = study.people_frame()
    people.loc[:4, "town"] = None
    people.to_csv(study.people, index=False, sep=";")
    study.judgments_frame().to_csv(study.judgments, index=False, sep="\t")
    seen: dict[str, Any] = {}

    def keep(people: pd.DataFrame, outcome: pd.Series, judgments: Any, **others: Any) -> None:
        seen.update(others, people=people, outcome=outcome, judgments=judgments)
        raise _SeenError

    monkeypatch.setattr(replication, "run_study", keep)
    run("reproduce", *study.files, "--favorable-label", "1", "--group", "town", code=1)
    assert len(seen["judgments"].counted()) == 40
    assert (seen["groups"] == "(empty)").sum() == 5
    assert seen["favorable_label"] == 1
    assert seen["simulated"] is False
    run("reproduce", *study.files, "--favorable-label", "1", "--simulated", code=1)
    assert seen["simulated"] is True
