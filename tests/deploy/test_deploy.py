"""What is in deploy/ agrees with the program, with itself and, where one is at hand, with systemd."""

from __future__ import annotations

import configparser
import json
import re
import shlex
import shutil
import subprocess
import sys
from fnmatch import fnmatch
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml  # type: ignore[import-untyped]
from tests.support.served_process import free_port, served
from tests.support.small_study import study_maker

from fairwise.cli.app import app
from fairwise.jobs import runner
from fairwise.web.console.study_wizard import StudyWizardPages
from fairwise.web.shared import security

ROOT = Path(__file__).parent.parent.parent
DEPLOY = ROOT / "deploy"
NGINX = (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
SERVICES: dict[str, Any] = COMPOSE["services"]
SECONDS_TO_STOP = 10 + 2 * runner._TIMEOUT_SECONDS
"""Requests under way, then the process for fits: see `run_server` and `jobs_beside`."""


def _instructions() -> list[tuple[str, str]]:
    """Of the Dockerfile, each with its words on one line."""
    text = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    joined = re.sub(r"\s*\\\n\s*", " ", "\n".join(lines)).splitlines()
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in joined)]


def _only(name: str) -> str:
    (found,) = (rest for word, rest in _instructions() if word == name)
    return found


def _unit() -> configparser.ConfigParser:
    unit = configparser.ConfigParser(interpolation=None, delimiters=("=",), strict=True)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(DEPLOY / "fairwise.service", encoding="utf-8")
    return unit


def _commands() -> dict[str, list[str]]:
    """Every command line with which `fairwise` is started."""
    (image,) = json.loads(_only("ENTRYPOINT"))
    assert image == "fairwise"
    unit = shlex.split(_unit()["Service"]["ExecStart"])
    assert unit[0] == "/opt/fairwise/bin/fairwise"
    return {"Dockerfile": json.loads(_only("CMD")), "compose": SERVICES["fairwise"]["command"], "unit": unit[1:]}


def _understood(words: list[str]) -> dict[str, Any]:
    """What `fairwise serve` makes of its words; an option that it does not have, or a value it does not take, fails."""
    command: Any = typer.main.get_command(app)
    assert words[0] == "serve"
    parsed: dict[str, Any] = command.commands["serve"].make_context("serve", list(words[1:])).params
    return parsed


@pytest.mark.parametrize("where", ["Dockerfile", "compose", "unit"])
def test_commands_are_understood(where: str) -> None:
    given = _understood(_commands()[where])
    assert given["port"] == 8000
    assert given["folder"] == Path("/var/lib/fairwise/study")
    assert given["workers"] == 1 or given["database"].startswith("postgresql://")
    # In a container whoever asks is never on the same machine; without one nobody else may ask.
    assert given["host"] == ("127.0.0.1" if where == "unit" else "0.0.0.0")


def test_everything_copied_is_there_and_sent_to_the_engine() -> None:
    rules = (ROOT / ".dockerignore").read_text(encoding="utf-8").split("\n")
    sent = [rule[1:] for rule in rules if rule.startswith("!")]
    copied = [rest.split()[:-1] for word, rest in _instructions() if word == "COPY" and "--from" not in rest]
    names = {name for names in copied for name in names}
    assert "*" in rules
    assert names == set(sent)
    for name in names:
        assert (ROOT / name).exists(), name
    needed = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert {"README.md", "LICENSE"} <= names  # without them no wheel is built
    assert 'readme = "README.md"' in needed


def test_images_have_versions_and_no_host() -> None:
    default = _only("ARG").partition("=")[2]
    built = [rest.replace("${PYTHON}", default) for word, rest in _instructions() if word == "FROM"]
    images = [base.partition(" ")[0] for base in built]
    images += [service["image"] for service in SERVICES.values() if "build" not in service]
    assert len(images) == 4
    for image in images:
        assert re.fullmatch(r"[a-z]+:\d+[\w.-]*", image), image
    assert not fnmatch(" ".join(images), "*:latest*")


def test_packages_are_known_by_their_hash() -> None:
    runs = [rest for word, rest in _instructions() if word == "RUN"]
    fetching = [
        part for run in runs for part in run.split("&&") if re.search(r"\b(pip install|pip sync|uv build)\b", part)
    ]
    assert len(fetching) == 4
    for part in fetching:
        assert "--require-hashes" in part or "--no-deps dist/fairwise-*.whl" in part, part
    (picked,) = re.findall(r"sed -n '([^']*)'", " ".join(runs))
    lines = subprocess.run(
        ["sed", "-n", picked, "requirements-dev.lock"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert lines[0].startswith("uv==")
    assert len(lines) > 5
    assert all(line.strip().startswith("--hash=sha256:") for line in lines[1:])


def test_nobody_runs_it_as_root() -> None:
    words = [word for word, _ in _instructions()]
    user = _only("USER")
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", user)
    assert words.index("USER") < words.index("ENTRYPOINT")
    assert _only("VOLUME") == "/var/lib/fairwise"
    assert SERVICES["fairwise"]["cap_drop"] == ["ALL"]
    assert SERVICES["fairwise"]["security_opt"] == ["no-new-privileges:true"]


def test_the_health_check_tells_ready_from_not(tmp_path_factory: pytest.TempPathFactory) -> None:
    check = json.loads(_only("HEALTHCHECK").partition("CMD ")[2])
    assert check[0] == "python"

    def healthy(port: int) -> bool:
        words = [sys.executable, *(word.replace("8000", str(port)) for word in check[1:])]
        return subprocess.run(words, capture_output=True, check=False).returncode == 0

    with served(study_maker(tmp_path_factory)().path, "--no-jobs") as (address, _):
        assert healthy(int(address.rpartition(":")[2]))
    assert not healthy(free_port())


def test_nothing_takes_the_whole_machine() -> None:
    for name, service in SERVICES.items():
        assert service["mem_limit"], name
        assert service["pids_limit"], name
    unit = _unit()["Service"]
    assert unit["MemoryMax"]
    assert unit["TasksMax"]


def test_services_wait_for_each_other_and_stop_in_time() -> None:
    for name, after in (("fairwise", "database"), ("nginx", "fairwise")):
        assert SERVICES[name]["depends_on"] == {after: {"condition": "service_healthy"}}
    assert "healthcheck" in SERVICES["database"]
    assert SERVICES["fairwise"]["init"] is True
    assert int(SERVICES["fairwise"]["stop_grace_period"].removesuffix("s")) > SECONDS_TO_STOP
    assert float(_unit()["Service"]["TimeoutStopSec"]) > SECONDS_TO_STOP


def test_only_nginx_can_be_reached() -> None:
    published = {name for name, service in SERVICES.items() if service.get("ports")}
    assert published == {"nginx"}
    assert COMPOSE["networks"]["inside"]["internal"] is True
    assert SERVICES["database"]["networks"] == ["inside"]
    assert set(SERVICES["nginx"]["networks"]) == {"outside"}


def test_passwords_are_in_no_file_and_no_command() -> None:
    given = [*SERVICES["database"]["environment"].items(), *SERVICES["fairwise"]["environment"].items()]
    secret = {name: value for name, value in given if re.search("PASSWORD|TOKEN", name)}
    assert set(secret) == {"POSTGRES_PASSWORD", "PGPASSWORD", "FAIRWISE_METRICS_TOKEN"}
    assert all(re.fullmatch(r"\$\{\w+:[?-][^}]*\}", value) for value in secret.values())
    for words in _commands().values():
        assert not re.search(r"://[^/@]*:[^/@]*@", " ".join(words))


def test_volumes_and_secrets_are_those_that_are_used() -> None:
    assert SERVICES["fairwise"]["volumes"] == [f"study:{_only('VOLUME')}"]
    named = {volume.partition(":")[0] for service in SERVICES.values() for volume in service["volumes"]}
    assert {name for name in named if not name.startswith("./")} == set(COMPOSE["volumes"])
    assert {name for name in named if name.startswith("./")} == {"./nginx.conf"}
    assert set(re.findall(r"/run/secrets/(\w+)", NGINX)) == set(SERVICES["nginx"]["secrets"]) == set(COMPOSE["secrets"])


def test_nginx_is_believed_and_finds_the_app() -> None:
    subnet = ip_network(COMPOSE["networks"]["outside"]["ipam"]["config"][0]["subnet"])
    addresses = [SERVICES[name]["networks"]["outside"]["ipv4_address"] for name in ("nginx", "fairwise")]
    assert SERVICES["fairwise"]["environment"]["FORWARDED_ALLOW_IPS"] == addresses[0]
    assert len(set(addresses)) == 2
    assert all(ip_address(address) in subnet for address in addresses)
    port = _understood(_commands()["compose"])["port"]
    assert re.findall(r"server ([\w.]+:\d+);", NGINX) == [f"fairwise:{port}"]
    assert _only("EXPOSE") == str(port)


def test_nginx_lets_through_what_the_app_takes() -> None:
    usual, upload = (int(size) * 1024**2 for size in re.findall(r"client_max_body_size (\d+)m;", NGINX))
    (largest,) = (route.most_bytes for route in StudyWizardPages.routes if route.most_bytes)
    assert security.MOST_BYTES < usual < 4 * security.MOST_BYTES
    assert largest <= upload < largest + 2 * 1024**2


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path: Path) -> None:
    text = (DEPLOY / "fairwise.service").read_text(encoding="utf-8")
    unit = tmp_path / "fairwise.service"

    def complaints(text: str) -> str:
        unit.write_text(text, encoding="utf-8")
        words = ["systemd-analyze", "verify", "--man=no", str(unit)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        return "\n".join(line for line in done.stderr.splitlines() if "fairwise.service" in line)

    installed = text.replace("/opt/fairwise/bin/fairwise", sys.executable)
    assert complaints(installed) == ""
    assert "NoNewPrivilege" in complaints(installed.replace("NoNewPrivileges=", "NoNewPrivilege="))


def test_the_unit_keeps_to_its_own_folders() -> None:
    service = _unit()["Service"]
    assert service["User"] == "fairwise"
    assert service["Restart"] == "on-failure"
    assert service["KillMode"] == "mixed"  # the server ends its own processes, in order
    for name, value in (("NoNewPrivileges", "yes"), ("ProtectSystem", "strict"), ("ProtectHome", "yes")):
        assert service[name] == value
    writable = service["ReadWritePaths"].split()
    assert writable == [f"/var/lib/{service['StateDirectory']}", f"/var/cache/{service['CacheDirectory']}"]
    written = [setting.partition("=")[2] for setting in service["Environment"].split()]
    written.append(str(_understood(_commands()["unit"])["folder"]))
    assert all(any(Path(path).is_relative_to(home) for home in writable) for path in written)
    assert "MemoryDenyWriteExecute" not in service  # numba compiles while it runs
