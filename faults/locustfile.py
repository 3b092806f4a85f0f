"""Participants for locust: from consent to the end, then another one. Runs in an environment of its own, see Makefile.

Told by the environment: ``LOAD_STEPS``, numbers of users with seconds each; ``LOAD_ANSWERS``, when to stop;
``LOAD_THINKING``, seconds of thinking about a pair; ``LOAD_LEDGER``, where to write what was acknowledged.
"""

import json
import os
import random
import re
import time
from pathlib import Path

from locust import FastHttpUser, LoadTestShape, events, task

_FIELD = re.compile(r'name="(csrf|start_key|key|nonce|stamp)"\s+value="([^"]*)"')
_ANSWERS = ("same", "a_at_least_b", "b_at_least_a", "no_constraint")
_THINKING = float(os.environ["LOAD_THINKING"])
_MOST = int(os.environ["LOAD_ANSWERS"])
acknowledged: dict[str, str] = {}


class Participant(FastHttpUser):
    """One after the other, as long as it runs."""

    def on_start(self) -> None:
        self.where = "/"

    def wait_time(self) -> float:
        return random.uniform(0, 2 * _THINKING)

    @task
    def step(self) -> None:
        """Do what the page asks for that one is on; a form sent, and the next page loaded, count as one answer."""
        path = self.where.partition("?")[0]
        name = "pair" if "/pair/" in path else "other pages"
        page = self.client.get(self.where, name=f"page: {name}", allow_redirects=False)
        if page.status_code == 303:
            self.where = page.headers["location"]
        if page.status_code != 200:
            return
        fields = dict(_FIELD.findall(page.text))
        if path.endswith("/thanks"):
            self.where = "/"
        elif path.endswith("/review"):
            self.where = path.replace("/review", "/closing")
        elif path == "/":
            self.send("/consent", {**fields, "decision": "agree"}, "other forms")
        else:
            answer = random.choice(_ANSWERS)
            if self.send(path, {**fields, "answer": answer}, "answer" if name == "pair" else "other forms"):
                acknowledged.update({fields["key"]: answer} if name == "pair" else {})

    def send(self, path: str, fields: dict[str, str], name: str) -> bool:
        reply = self.client.post(path, data=fields, name=name, allow_redirects=False)
        if reply.status_code == 303:
            self.where = reply.headers["location"]
        return reply.status_code == 303 and "saved" in self.where


class Steps(LoadTestShape):
    """More and more users; the last number stays until there are enough answers."""

    steps = json.loads(os.environ["LOAD_STEPS"])

    def tick(self) -> tuple[int, float] | None:
        if len(acknowledged) >= _MOST:
            return None
        gone = time.monotonic() - started
        for users, seconds in self.steps:
            if gone < seconds:
                return users, 200.0
            gone -= seconds
        return self.steps[-1][0], 200.0


@events.test_stop.add_listener
def write_ledger(**_: object) -> None:
    Path(os.environ["LOAD_LEDGER"]).write_text(json.dumps(acknowledged), encoding="utf-8")


started = time.monotonic()
