"""The documentation site builds without a warning and without the network, and lists every public name."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from fcntl import LOCK_EX, flock
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from sphinx.util.inventory import InventoryFile

_ROOT = Path(__file__).parents[2]
PACKAGES = (
    "fairwise",
    "fairwise.judgments",
    "fairwise.auditing",
    "fairwise.reporting",
    "fairwise.displays",
    "fairwise.simulation",
    "fairwise.datasets",
)
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Without running the examples, which have a test of their own."""
    out = tmp_path_factory.mktemp("site")
    words = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-D", "plot_gallery=0"]
    with (tmp_path_factory.getbasetemp().parent / "site.lock").open("w") as lock:
        flock(lock, LOCK_EX)  # the gallery is written into docs, where a test in another process may build, too
        built = subprocess.run(
            [*words, "-d", str(out / "trees"), "docs", str(out / "html")],
            cwd=_ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
    assert built.returncode == 0, built.stderr
    return out / "html"


def _names() -> list[tuple[str, Any]]:
    found: dict[int, tuple[str, Any]] = {}
    for package in PACKAGES:
        module = import_module(package)
        for name in module.__all__:
            value = getattr(module, name)
            found.setdefault(id(value), (f"{package}.{name}", value))  # once, where it is first at home
    return list(found.values())


def test_every_public_name_is_documented(site: Path) -> None:
    listed = InventoryFile.loads((site / "objects.inv").read_bytes(), uri="").data
    documented = {name for kind, names in listed.items() if kind.startswith("py:") for name in names}
    missing = [name for name, _ in _names() if name not in documented]
    for name, value in _names():
        if inspect.isclass(value):
            own = [part for part in vars(value) if not part.startswith("_") and _is_ours(vars(value)[part])]
            missing += [f"{name}.{part}" for part in own if f"{name}.{part}" not in documented]
    assert missing == []


def _is_ours(member: Any) -> bool:
    """Whether it is something one calls or reads: no slot, and none of the request methods that scikit-learn adds."""
    if isinstance(member, classmethod | staticmethod | property):
        return True
    return inspect.isfunction(member) and member.__module__.startswith("fairwise")


def test_every_page_is_reached_and_asks_no_other_host(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 50
    for page in pages:
        html = page.read_text(encoding="utf-8")
        fetched = re.findall(r'<(?:script|img|link|iframe)[^>]+(?:src|href)="(https?://[^"]+)"', html)
        assert [address for address in fetched if "canonical" not in address] == [], page.name


def test_nothing_is_left_of_the_markup(site: Path) -> None:
    for page in (site / "concepts").glob("*.html"):
        text = re.sub(
            r"<(script|style|pre|code|annotation).*?</\1>", "", page.read_text(encoding="utf-8"), flags=re.DOTALL
        )
        assert "$" not in re.sub(r"<[^>]+>", "", text), page.name
