"""deploy/nginx.conf in a real nginx, with TLS, before two processes on a real PostgreSQL."""

from __future__ import annotations

import os
import re
import shutil
import socket
import ssl
import subprocess
import time
import uuid
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

import httpx2
import psycopg
import pytest
from sqlalchemy.engine import make_url
from tests.support.served_process import free_port, served
from tests.support.several import folder_of_studies
from tests.support.small_study import study_maker
from tests.support.visits import Visit, hidden

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from starlette.testclient import TestClient

CONFIGURATION = Path(__file__).parent.parent.parent / "deploy" / "nginx.conf"
NAME = "localhost"
MIB = 1024**2

needs_nginx = pytest.mark.skipif(shutil.which("nginx") is None, reason="needs nginx")


class Front:
    """nginx, and what is behind it."""

    def __init__(self, home: Path, https: int, http: int, app: str) -> None:
        self.home, self.https, self.http, self.app = home, https, http, app
        self.address = f"https://{NAME}:{https}"
        self.trust = ssl.create_default_context(cafile=str(home / "certificate.pem"))

    def client(self) -> httpx2.Client:
        return httpx2.Client(
            base_url=self.address,
            verify=self.trust,
            follow_redirects=True,
            trust_env=False,
            headers={"origin": self.address, "sec-fetch-site": "same-origin"},
        )

    def written(self) -> str:
        """Whatever nginx left on the disk, but for what was given to it."""
        files = [file for file in self.home.rglob("*") if file.is_file() and file.suffix not in (".pem", ".conf")]
        return "\n".join(file.read_text(encoding="utf-8", errors="replace") for file in files)


def _configured(home: Path, https: int, http: int, app: str) -> Path:
    """The file itself, with what is said to be one's own to change, on ports of this machine alone."""
    text = CONFIGURATION.read_text(encoding="utf-8")
    for ours, here in (
        ("listen 443 ", f"listen 127.0.0.1:{https} "),
        ("listen 80 ", f"listen 127.0.0.1:{http} "),
        ("study.example.org", NAME),
        ("fairwise:8000", app),
        ("/run/secrets/tls_certificate", str(home / "certificate.pem")),
        ("/run/secrets/tls_key", str(home / "key.pem")),
        ("/var/log/nginx/error.log", str(home / "error.log")),
    ):
        assert ours in text, ours
        text = text.replace(ours, here)
    (home / "fairwise.conf").write_text(text, encoding="utf-8")
    folders = "".join(
        f"    {kind}_temp_path {home / 'temp' / kind};\n"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (home / "temp").mkdir()
    # As distributions have it: a log of its own, compression, and all that lies in a folder.
    around = (
        f"{'user root;' if os.geteuid() == 0 else ''}\n"
        f"daemon off;\npid {home / 'pid'};\nerror_log {home / 'main.log'};\nevents {{}}\n"
        f"http {{\n    access_log {home / 'access.log'};\n    gzip on;\n{folders}"
        f"    include {home}/fairwise.conf;\n}}\n"
    )
    (home / "nginx.conf").write_text(around, encoding="utf-8")
    return home / "nginx.conf"


def _certificate(home: Path) -> None:
    words = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    words += ["-subj", f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME}"]
    files = ["-keyout", str(home / "key.pem"), "-out", str(home / "certificate.pem")]
    subprocess.run(["openssl", *words, *files], check=True, capture_output=True)


@contextmanager
def _nginx(home: Path, app: str) -> Iterator[Front]:
    _certificate(home)
    https, http = free_port(), free_port()
    words = ["nginx", "-p", str(home), "-c", str(_configured(home, https, http, app)), "-e", str(home / "start.log")]
    tried = subprocess.run([*words, "-t"], capture_output=True, text=True, check=False)
    assert tried.returncode == 0, tried.stderr
    assert "[warn]" not in tried.stderr, tried.stderr
    with subprocess.Popen(words) as process:
        try:
            _wait_until(lambda: process.poll() is not None or _listens(https))
            yield Front(home, https, http, app)
        finally:
            process.terminate()
            process.wait(20)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _wait_until(so: Callable[[], bool]) -> None:
    until = time.monotonic() + 120
    while not so():
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory, postgres: str) -> Iterator[Front]:
    database = f"n{uuid.uuid4().hex}"
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {database}")
    url = make_url(postgres).set(database=database).render_as_string(hide_password=False)
    study = study_maker(tmp_path_factory)(pairs=3)
    with served(study.path, "--database", url, "--workers", "2", "--no-jobs") as (address, process):
        assert process.poll() is None, process.communicate()[1]
        with _nginx(tmp_path_factory.mktemp("nginx"), address.removeprefix("http://")) as front:
            with front.client() as client:
                _wait_until(lambda: client.get("/readyz").status_code == 200)
            yield front


@needs_nginx
def test_a_participant_goes_through(front: Front) -> None:
    with front.client() as client:
        visit = Visit(cast("TestClient", client))
        page = visit.get("/")
        begun = client.post("/consent", data={**hidden(page), "decision": "agree"}, follow_redirects=False)
        assert begun.status_code == 303
        assert begun.headers["location"].startswith("/p/")
        cookie = begun.headers["set-cookie"]
        assert re.search(r"; Secure", cookie)
        assert re.search(r"; HttpOnly", cookie)
        mine = begun.headers["location"]
        task = visit.get(mine)
        assert f"{front.address}{mine}" in task.text  # the link to keep is the address outside
        while "/pair/" not in task.url.path:
            chosen = {"answer": "same"} if task.url.path.endswith("practice") else {}
            task = visit.post(task.url.path, **hidden(task), **chosen)
        said = visit.answer(mine, 1)
        assert said.status_code == 200
        assert str(said.url) == f"{front.address}{mine}/pair/2?saved=1"
        assert "Saved" in said.text
        assert said.headers["strict-transport-security"].startswith("max-age=")
        assert said.headers["cache-control"] == "no-store"
        assert "content-encoding" not in said.headers
        assert visit.get(f"{mine}/review").text.count("The two should be treated the same") == 1
        withheld = client.post(
            f"{mine}/pair/1", data=hidden(visit.get(f"{mine}/pair/1")), headers={"origin": "https://elsewhere.example"}
        )
        assert withheld.status_code == 403
    assert mine.rpartition("/")[2] not in front.written()


@needs_nginx
def test_who_watches_can_ask_and_numbers_stay_inside(front: Front) -> None:
    with front.client() as client:
        assert client.get("/readyz").text == "ready"
        assert client.get("/healthz").text == "ok"
        assert client.get("/metrics").status_code == 404


@needs_nginx
def test_plain_http_leads_to_https(front: Front) -> None:
    plain = httpx2.get(f"http://127.0.0.1:{front.http}/p/abc?x=1", trust_env=False)
    assert plain.status_code == 301
    assert plain.headers["location"] == f"https://{NAME}/p/abc?x=1"


@needs_nginx
def test_other_names_are_not_answered(front: Front) -> None:
    trust = ssl.create_default_context()
    trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
    with (
        socket.create_connection(("127.0.0.1", front.https)) as plain,
        pytest.raises(ssl.SSLError, match="UNRECOGNIZED_NAME"),
        trust.wrap_socket(plain, server_hostname="elsewhere.example"),
    ):
        pass


def _asked(front: Front, content: str) -> bytes:
    """What comes of a request that no client would make."""
    said = b""
    with (
        socket.create_connection(("127.0.0.1", front.https), timeout=60) as plain,
        front.trust.wrap_socket(plain, server_hostname=NAME) as connection,
    ):
        connection.sendall(content.encode())
        while more := connection.recv(65536):
            said += more
    return said


@needs_nginx
def test_no_page_is_made_with_a_name_that_is_not_ours(front: Front) -> None:
    with front.client() as client:
        begun = client.post(
            "/consent", data={**hidden(client.get("/")), "decision": "agree"}, follow_redirects=False
        ).headers["location"]
    page = _asked(
        front,
        f"GET {front.address}{begun}/task HTTP/1.1\r\nHost: elsewhere.example\r\nConnection: close\r\n\r\n",
    )
    assert page.startswith(b"HTTP/1.1 200")
    assert b"elsewhere.example" not in page
    assert f"https://{NAME}/p/".encode() in page or f"{front.address}/p/".encode() in page


@needs_nginx
def test_logins_are_counted_by_address(front: Front) -> None:
    """Nobody types so fast; pages of participants are not held up by it."""
    with front.client() as client:
        seen = [client.get("/admin/login") for _ in range(60)]
        assert {page.status_code for page in seen} == {200, 503}
        refused = next(page for page in seen if page.status_code == 503)
        assert "Nothing that was saved is lost" in refused.text
        assert refused.headers["cache-control"] == "no-store"
        assert all(client.get("/").status_code == 200 for _ in range(100))


@needs_nginx
def test_large_requests_stop_where_they_should(front: Front) -> None:
    with front.client() as client:
        # Refused before it was read, again and again: the reason must not be lost on the way.
        by_app = [client.post("/consent", content=b"x" * (MIB - 1)) for _ in range(20)]
        by_nginx = client.post("/consent", content=b"x" * (2 * MIB))
        table = client.post("/admin/new", content=b"x" * (2 * MIB), follow_redirects=False)
    assert all(page.status_code == 413 and "That was too much text" in page.text for page in by_app)
    assert by_nginx.status_code == 413
    assert "That was too much text" not in by_nginx.text
    assert table.status_code not in (413, 502, 503)  # nobody is logged in, but the app was asked
    head = f"POST /admin/new HTTP/1.1\r\nHost: {NAME}:{front.https}\r\nContent-Length: {202 * MIB}\r\n\r\n"
    with (
        socket.create_connection(("127.0.0.1", front.https)) as plain,
        front.trust.wrap_socket(plain, server_hostname=NAME) as connection,
    ):
        connection.sendall(head.encode())
        assert b" 413 " in connection.recv(4096).split(b"\r\n")[0]


@needs_nginx
def test_several_studies_go_through_as_one_does(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAIRWISE_METRICS_TOKEN", "a token of sixteen letters")
    home = folder_of_studies(tmp_path_factory.mktemp("home") / "studies", study_maker(tmp_path_factory), "one", "two")
    with (
        served(home, "--several", "--no-jobs") as (address, _),
        _nginx(tmp_path_factory.mktemp("nginx"), address.removeprefix("http://")) as front,
        front.client() as client,
    ):
        agreed = client.post("/one/consent", data={**hidden(client.get("/one/")), "decision": "agree"})
        assert f"{front.address}/one/p/" in agreed.text  # the link to keep is the address outside
        numbers = {"authorization": "Bearer a token of sixteen letters"}
        assert httpx2.get(f"{address}/metrics", headers=numbers, trust_env=False).status_code == 200
        for path in ("/metrics", "/one/metrics"):
            assert client.get(path, headers=numbers).status_code == 404
        assert client.get("/one", follow_redirects=False).headers["location"] == "/one/"
        fields = {"csrf": "none", "pad": "x" * (2 * MIB)}
        assert client.post("/two/admin/settings", data=fields).status_code == 413  # of nginx, as everywhere
        assert client.post("/two/admin/new", data=fields).status_code != 413  # where tables of people go
        logins = [client.get("/two/admin/login").status_code for _ in range(40)]
        assert logins[0] == 200
        assert 503 in logins


@needs_nginx
def test_when_the_app_is_away_visitors_are_told_kindly(tmp_path: Path) -> None:
    with _nginx(tmp_path, f"127.0.0.1:{free_port()}") as front, front.client() as client:
        page = client.get("/p/a-key-to-a-page")
        assert page.status_code == 503
        assert "Nothing that was saved is lost" in page.text
        assert page.headers["retry-after"] == "30"
        assert page.headers["strict-transport-security"].startswith("max-age=")
        assert "a-key-to-a-page" not in front.written()


@pytest.mark.parametrize(("believed", "secure"), [(None, True), ("172.30.86.2", False)])
def test_whose_word_is_taken_for_https(
    believed: str | None, secure: bool, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a setting that of this machine; with FORWARDED_ALLOW_IPS that of whom it names."""
    monkeypatch.delenv("FORWARDED_ALLOW_IPS", raising=False)
    if believed is not None:
        monkeypatch.setenv("FORWARDED_ALLOW_IPS", believed)
    study = study_maker(tmp_path_factory)()
    told = {"host": "study.example.org", "x-forwarded-proto": "https"}
    with (
        served(study.path, "--no-jobs") as (address, _),
        httpx2.Client(base_url=address, trust_env=False, headers=told) as client,
    ):
        agreed = client.post("/consent", data={**hidden(client.get("/")), "decision": "agree"})
        assert ("; Secure" in agreed.headers["set-cookie"]) is secure
        task = client.get(f"{agreed.headers['location']}/task")
        assert f"{'https' if secure else 'http'}://study.example.org/p/" in task.text
