"""Someone who follows a tutorial to the letter, and notes section by section what they did, saw and typed."""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import httpx2

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Locator, Page

ADDRESS = "http://127.0.0.1:8000"
_FAIRWISE = [sys.executable, "-c", "from fairwise.cli import main; main()"]
_PATIENCE = 300.0

# Whatever has a name on a page: as it stands there, and without what is only said aloud or is an aside.
_NAMES = """() => {
  const found = new Set();
  const tidy = (text) => text.replace(/\\s+/g, " ").trim();
  const controls = "a, button, label, legend, summary, option";
  for (const one of document.querySelectorAll(`${controls}, h1, h2, h3, h4, th, dt, dd, strong, bdi`)) {
    if (!(one.closest("select") ?? one).checkVisibility()) continue;
    found.add(tidy(one.innerText || one.textContent));
    const bare = one.cloneNode(true);
    bare.querySelectorAll(".hidden, .optional, .small, small, kbd").forEach((aside) => aside.remove());
    found.add(tidy(bare.textContent));
  }
  return [[...found], tidy(document.body?.innerText ?? "")];
}"""


class Look(Protocol):
    """What is done where the tutorial has a picture; `part` is what the picture shows, if not the window."""

    def __call__(self, page: Page, name: str, part: Locator | None) -> None: ...


@dataclass
class Section:
    """What happened under one heading."""

    title: str
    did: list[str] = field(default_factory=list)
    """Names that were pressed and values that were typed, in order: each must be told."""

    commands: list[str] = field(default_factory=list)
    printed: str = ""
    seen: set[str] = field(default_factory=set)
    """The names of buttons, fields, headings and so on."""

    read: set[str] = field(default_factory=set)
    """The text of every page."""

    pictures: list[str] = field(default_factory=list)


class Reader:
    """A browser, a terminal and a folder."""

    def __init__(self, page: Page, home: Path, look: Look, port: int) -> None:
        self.page, self.home, self.sections = page, home, [Section("before the first")]
        self._look, self._port, self._before = look, port, page
        self._server: subprocess.Popen[str] | None = None
        self._listener = threading.Thread()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def section(self, title: str) -> None:
        self.sections.append(Section(title))
        self._see()

    # In the terminal

    def run(self, command: str, *more: str) -> str:
        """Type a command and wait until it is done; `more` is what only this machine needs."""
        words = [*_FAIRWISE, *shlex.split(command)[1:], *more]
        done = subprocess.run(words, cwd=self.home, capture_output=True, text=True, check=False, timeout=_PATIENCE)
        assert done.returncode == 0, done.stderr
        self._printed(command, done.stdout)
        return done.stdout

    def serve(self, command: str, until: str) -> str:
        """Start the server as it is typed; returns what it printed up to a line that matches."""
        words = [*_FAIRWISE, *shlex.split(command)[1:], "--port", str(self._port)]
        server = subprocess.Popen(words, cwd=self.home, stderr=subprocess.PIPE, text=True)
        told: list[str] = []
        pipe = server.stderr
        assert pipe is not None
        self._server, self._listener = server, threading.Thread(target=lambda: told.extend(pipe))
        self._listener.start()
        end = time.monotonic() + _PATIENCE
        while not (any(re.search(until, line) for line in told) and self._answers()):
            assert server.poll() is None, "".join(told)
            assert time.monotonic() < end, "".join(told)
            time.sleep(0.05)
        self._printed(command, "".join(told))
        return "".join(told)

    def _answers(self) -> bool:
        try:
            return httpx2.get(f"{self.address}/health", trust_env=False).is_success
        except httpx2.TransportError:  # it is said where the server is a moment before it listens
            return False

    def stop(self) -> None:
        """Press Ctrl-C."""
        if self._server is not None:
            self._server.send_signal(signal.SIGINT)
            self._server.wait(_PATIENCE)
            self._listener.join()
            assert self._server.stderr is not None
            self._server.stderr.close()
            self._server = None

    def _printed(self, command: str, printed: str) -> None:
        here = self.sections[-1]
        here.commands.append(command)
        here.printed += printed.replace(self.address, ADDRESS)

    # In the browser

    def open(self, address: str) -> None:
        self.page.goto(address)
        self._see()

    def new_tab(self, address: str) -> None:
        self._before, self.page = self.page, self.page.context.new_page()
        self.open(address)

    def back(self) -> None:
        """The browser's own button."""
        self.page.go_back()
        self._see()

    def close_tab(self) -> None:
        self.page.close()
        self.page = self._before

    def press(self, name: str, aim: Locator | None = None, *, leads: bool = True) -> None:
        """Press the one button or link of a name, and wait for the page that it leads to."""
        self._did(name)
        what = aim or self.page.get_by_role("button", name=name, exact=True).or_(
            self.page.get_by_role("link", name=name, exact=True)
        )
        if leads:
            with self.page.expect_navigation():
                what.click()
        else:
            what.click()
        self._see()

    def download(self, name: str) -> str:
        """Press what gives a file; returns what the browser calls it."""
        self._did(name)
        with self.page.expect_download() as file:
            self.page.get_by_text(name, exact=True).click()
        return str(file.value.suggested_filename)

    def fill(self, name: str, value: str, aim: Locator | None = None) -> None:
        self._did(name, *([value] if "\n" not in value else []))
        (aim or self.page.get_by_label(name, exact=True)).fill(value)
        self._see()

    def write(self, value: str, aim: Locator) -> None:
        """Fill in a field of a table whose heading tells its name."""
        self._did(value)
        aim.fill(value)
        self._see()

    def give(self, name: str, file: Path) -> None:
        self._did(name, file.name)
        self.page.get_by_label(name, exact=True).set_input_files(file)

    def answer(self, value: str) -> None:
        """Press one of the buttons below a pair, whichever one likes."""
        self._see()
        with self.page.expect_navigation():
            self.page.locator(f"button[value={value}]").click()
        self._see()

    def choose(self, name: str, value: str) -> None:
        self._did(name, value)
        self.page.get_by_label(name, exact=True).select_option(label=value)
        self._see()

    def tick(self, name: str, aim: Locator | None = None) -> None:
        self._did(name)
        (aim or self.page.get_by_label(name, exact=True)).check()
        self._see()

    def reads(self, words: str) -> None:
        """Wait until something is there, which the tutorial says that one sees."""
        self.page.get_by_text(words).first.wait_for(timeout=600_000)
        self._see()

    def look(self, name: str, part: Locator | None = None) -> None:
        self._see()
        self.sections[-1].pictures.append(name)
        self._look(self.page, name, part)

    def _did(self, *what: str) -> None:
        self._see()
        self.sections[-1].did.extend(what)

    def _see(self) -> None:
        for frame in self.page.frames:
            names, text = frame.evaluate(_NAMES)
            self.sections[-1].seen.update(names)
            self.sections[-1].read.add(text)
