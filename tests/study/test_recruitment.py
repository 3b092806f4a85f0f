"""What a panel signed is believed; nothing else is, however near it comes."""

from __future__ import annotations

import hashlib
import hmac
import json
import tomllib
from typing import Any

import pytest
from tests.support.signed_links import DIGEST_IS_SHA256, NOW, STUDY, Panel, encoded

from fairwise.errors import InputError
from fairwise.study.recruitment import NotSigned, PanelKeys
from fairwise.study.settings import StudySettings

PANEL = Panel()
KEYS = PanelKeys.read(PANEL.published)


def test_what_the_panel_signed_is_believed() -> None:
    said = KEYS.claims(PANEL.token(), f"other {STUDY}", NOW)
    assert said["PROLIFIC_PID"] == "ann000000000000000000000"
    assert said["SESSION_ID"] == "session1"


@pytest.mark.parametrize(
    "changes",
    [
        {"exp": NOW - 61},
        {"exp": None},
        {"exp": "never"},
        {"exp": True},
        {"nbf": NOW + 3600},
        {"iss": "https://prolific.example"},
        {"iss": None},
        {"sent": {"STUDY_ID": "somebody-elses"}},
        {"sent": {"STUDY_ID": ["study1"]}},
        {"prolific": None},
        {"prolific": "ann"},
        {"head": {"alg": "none"}},
        {"head": {"alg": "HS256"}},
        {"head": {"kid": "another"}},
        {"head": {"kid": None}},
    ],
)
def test_what_was_signed_for_another_time_study_or_purpose_is_not(changes: dict[str, Any]) -> None:
    token = PANEL.token(**changes)
    with pytest.raises(NotSigned):
        KEYS.claims(token, STUDY, NOW)


def _with_the_public_key_as_a_secret() -> str:
    text = PANEL.token(head={"alg": "HS256"}).rpartition(".")[0]
    return f"{text}.{encoded(hmac.digest(PANEL.published.encode(), text.encode(), 'sha256'))}"


def _about_another() -> str:
    head, claims, signature = PANEL.token().split(".")
    other = Panel.token(PANEL, sent={"PROLIFIC_PID": "ben"}).split(".")[1]
    assert claims != other
    return f"{head}.{other}.{signature}"


@pytest.mark.parametrize(
    "token",
    [
        "",
        "..",
        "a.b.c",
        "é.é.é",
        "a.b.c.d",
        PANEL.token().rpartition(".")[0] + ".",
        PANEL.token()[:-4],
        PANEL.token() + "=",
        PANEL.token() + "AA",
        Panel(seed=2).token(),
        _with_the_public_key_as_a_secret(),
        _about_another(),
        f"{encoded(b'[' * 3000)}.{encoded(b'{}')}.AA",
        f"{encoded(b'[]')}.{encoded(b'{}')}.AA",
        f"{encoded(b'{}')}.{encoded(b'{}')}.AA",
        f"{encoded(json.dumps({'alg': 'RS256', 'kid': 'key-1'}).encode())}.e30.{'_' * 342}",
        "A" * 1_000_000,
    ],
)
def test_what_the_panel_did_not_sign_is_not_believed(token: str) -> None:
    with pytest.raises(NotSigned):
        KEYS.claims(token, STUDY, NOW)


def test_garbage_behind_the_digest_is_noticed() -> None:
    """A checker that parses the block instead of comparing all of it takes a cube root for a signature if e is 3."""
    panel = Panel(e=3)
    text = panel.token().rpartition(".")[0]
    wanted = b"\0\1\xff\0" + DIGEST_IS_SHA256 + hashlib.sha256(text.encode()).digest()
    block = int.from_bytes(wanted + b"\xff" * (256 - len(wanted)))
    low, high = 0, 1 << 700
    while low < high:  # the largest number whose cube is no larger
        middle = (low + high + 1) // 2
        low, high = (middle, high) if middle**3 <= block else (low, middle - 1)
    assert (low**3).to_bytes(256).startswith(wanted)
    keys = PanelKeys.read(panel.published)
    assert keys.claims(panel.token(), STUDY, NOW)
    with pytest.raises(NotSigned):
        keys.claims(f"{text}.{encoded(low.to_bytes(256))}", STUDY, NOW)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not a list of keys"),
        ("[]", "not a list of keys"),
        ('{"keys": [{"kty": "RSA", "kid": "a", "n": "!", "e": "AQAB"}]}', "not an RSA key of 2048 to 8192 bits"),
        ('{"keys": []}', "no key in it"),
        ('{"keys": [{"kty": "EC", "kid": "a"}]}', "no key in it"),
        (Panel(bits=1024).published, "the key 'key-1' is not an RSA key of 2048 to 8192 bits"),
        (PANEL.published.replace("AQAB", "AQ"), "not an RSA key"),
    ],
)
def test_keys_that_are_none_are_refused_when_the_settings_are_read(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        PanelKeys.read(text)


def test_settings_say_what_is_missing() -> None:
    def read(**recruitment: Any) -> StudySettings:
        content = {"title": "t", "columns": [{"name": "a", "label": "A"}], "pairs": 3, "recruitment": recruitment}
        return StudySettings.checked(content, "study.toml")

    with pytest.raises(InputError, match="only prolific signs its links"):
        read(panel="sona", panel_keys=PANEL.published, panel_studies="a")
    with pytest.raises(InputError, match="needed together"):
        read(panel="prolific", panel_keys=PANEL.published)
    with pytest.raises(InputError, match="panel_keys"):
        read(panel="prolific", panel_keys="{}", panel_studies="a")
    settings = read(panel="prolific", panel_keys=PANEL.published, panel_studies="a b")
    assert StudySettings.checked(tomllib.loads(settings.toml()), "x") == settings
