"""Whatever the program around it does with its garbage collector, it finds it as it left it."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

import fairwise
from fairwise.judgments import Judgments
from fairwise.loading import collection_paused


@pytest.fixture(autouse=True)
def collector_as_before() -> Iterator[None]:
    yield
    gc.unfreeze()
    gc.enable()


def test_no_garbage_is_looked_for_until_all_is_loaded_or_fails() -> None:
    with collection_paused():
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ImportError), collection_paused():
        raise ImportError
    assert gc.isenabled()


def test_what_was_made_meanwhile_counts_as_old_and_is_not_frozen() -> None:
    with collection_paused():
        made = [object()]
    assert gc.get_freeze_count() == 0
    assert any(each is made for each in gc.get_objects(generation=2))


def test_what_the_program_has_frozen_stays_frozen() -> None:
    gc.freeze()
    frozen = gc.get_freeze_count()
    with collection_paused():
        pass
    assert gc.get_freeze_count() >= frozen - 100


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    with collection_paused():
        pass
    assert not gc.isenabled()


def test_a_name_is_loaded_once() -> None:
    """Each pause makes all objects old: a program that uses a name in a loop would keep its garbage."""
    assert fairwise.Judgments is Judgments
    assert vars(fairwise)["Judgments"] is Judgments
