"""How many torture cases there are."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

HERE = Path(__file__).parent


def test_there_are_at_least_three_hundred_different_cases() -> None:
    names: set[str] = set()
    for path in HERE.glob("test_*.py"):
        if path != Path(__file__):
            spec = spec_from_file_location(f"counted_{path.stem}", path)
            assert spec is not None
            assert spec.loader is not None
            module = module_from_spec(spec)
            spec.loader.exec_module(module)
            own = [f"{path.stem}: {case.name}" for case in module.CASES]
            assert not {name for name in own if own.count(name) > 1}
            names |= set(own)
    assert len(names) >= 300
