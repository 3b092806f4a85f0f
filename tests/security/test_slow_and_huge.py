"""What takes for ever or fills the memory is refused: heads and bodies that drip, files that swell."""

from __future__ import annotations

import asyncio
import socket
import tracemalloc
import zipfile
import zlib
from typing import TYPE_CHECKING, Any

import pytest
from tests.support.bombs import BOMBS
from tests.support.operating import operating
from tests.support.served import listening
from tests.support.visits import visiting

from fairwise import PairwiseFairClassifier
from fairwise.errors import InputError, ModelFileError
from fairwise.learning.model import files
from fairwise.tables.files import read_table
from fairwise.web import connections, server
from fairwise.web.app import Site
from fairwise.web.shared import security

if TYPE_CHECKING:
    from pathlib import Path

    import uvicorn


def test_a_head_that_never_ends_is_hung_up_on(make_study: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEADER_SECONDS", 0.3)
    app = connections.LimitConnections(Site(make_study().path, tmp_path / "study.sqlite"))
    with listening(app, http=connections.Connection) as address:
        port = int(address.rpartition(":")[2])
        for sent in (b"", b"GET / HTTP/1.1\r\nhost: x\r\nx-a: "):
            with socket.create_connection(("127.0.0.1", port), timeout=60) as line:
                line.sendall(sent)
                assert line.recv(1000) == b""  # it ends, and not because we gave up
        with socket.create_connection(("127.0.0.1", port), timeout=60) as line:
            for _ in range(2):  # the second head of a connection, too
                line.sendall(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
                assert b"200 OK" in line.recv(10000)
            line.sendall(b"GET /healthz HTT")
            assert line.recv(1000) == b""


def test_the_server_is_impatient(monkeypatch: pytest.MonkeyPatch, make_study: Any) -> None:
    configs: list[uvicorn.Config] = []
    monkeypatch.setattr(server, "_run", lambda config, _listener: configs.append(config))
    from contextlib import nullcontext  # noqa: PLC0415

    options: dict[str, Any] = {"host": "127.0.0.1", "port": 0, "workers": 1, "prefix": ""}
    monkeypatch.setenv("FAIRWISE_STUDY", "")
    monkeypatch.setenv("FAIRWISE_PREFIX", "")
    server.run_server(make_study().path, None, **options, announce=lambda _: None, background=nullcontext())
    assert vars(configs[0])["http"] is connections.Connection
    assert configs[0].app == "fairwise.web.server:limited_app"
    assert configs[0].ws == "none"


def test_a_body_that_drips_is_refused(make_study: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(security, "BODY_SECONDS", 0.2)

    async def dripping() -> list[int]:
        statuses: list[int] = []

        async def receive() -> dict[str, Any]:
            await asyncio.sleep(0.05)
            return {"type": "http.request", "body": b"x", "more_body": True}

        async def take(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])

        kind = (b"content-type", b"application/x-www-form-urlencoded")
        scope: dict[str, Any] = {
            "type": "http",
            "method": "POST",
            "path": "/consent",
            "query_string": b"",
            "headers": [kind],
        }
        scope |= {"scheme": "https", "client": None, "server": ("x", 443), "root_path": "", "state": {}}
        await asyncio.wait_for(visit.client.app(scope, receive, take), 60)  # type: ignore[arg-type]
        return statuses

    with visiting(make_study(), tmp_path / "study.sqlite") as visit:
        assert asyncio.run(dripping()) == [408]


def test_a_slow_reader_of_a_reply_is_no_slow_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once a body is whole, waiting for the other side to hang up may take as long as it takes."""
    monkeypatch.setattr(security, "BODY_SECONDS", 0.0)  # no time at all: only what waits for nothing is in time

    async def ask() -> str:
        async def receive() -> dict[str, Any]:
            if not whole.is_set():
                whole.set()
                return {"type": "http.request", "body": b"", "more_body": False}
            await asyncio.sleep(0.02)
            return {"type": "http.disconnect"}

        whole = asyncio.Event()
        hear = security.bounded(receive, 100)
        await hear()
        return str((await hear())["type"])

    assert asyncio.run(ask()) == "http.disconnect"


# Files that swell


def test_a_parquet_bomb_is_refused_before_it_is_read(tmp_path: Path) -> None:
    small = BOMBS["one text often.parquet"]()
    assert len(small) < 20_000
    (tmp_path / "people.parquet").write_bytes(small)
    with pytest.raises(InputError, match="MB when unpacked"):
        read_table(tmp_path / "people.parquet")
    (tmp_path / "empty").mkdir()
    with operating(tmp_path / "empty", tmp_path / "empty.sqlite") as console:
        console.set_up()
        data = {"csrf": console.csrf()}
        reply = console.client.post("/admin/new", data=data, files={"people": ("people.parquet", small)})
    assert (reply.status_code, "MB when unpacked" in reply.text) == (422, True)


def test_a_model_that_swells_is_refused_before_it_is_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_MOST_BYTES", 1 << 20)
    path = tmp_path / "model.skops"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("schema.json", b" " * (1 << 21))
    with pytest.raises(ModelFileError, match="when unpacked"):
        PairwiseFairClassifier.load(path)


@pytest.mark.parametrize("way", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_model_packed_in_a_way_that_swells_unseen_is_refused(tmp_path: Path, way: int) -> None:
    """Of these Python unpacks everything there is, however little the entry says of itself."""
    path = tmp_path / "model.skops"
    with zipfile.ZipFile(path, "w", way) as archive:
        archive.writestr("schema.json", b" " * (1 << 21))
    with pytest.raises(ModelFileError, match="packed in another way than by deflate"):
        PairwiseFairClassifier.load(path)


def test_of_a_deflated_entry_no_more_is_unpacked_than_it_says(tmp_path: Path) -> None:
    """Also where it says the checksum of that much, so that nothing seems to be wrong."""
    path, size, said = tmp_path / "model.skops", 1 << 26, 1 << 10
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("schema.json", b" " * size)
    content = path.read_bytes().replace(size.to_bytes(4, "little"), said.to_bytes(4, "little"))
    real, false = (zlib.crc32(b" " * length).to_bytes(4, "little") for length in (size, said))
    assert content.count(real) == 2
    path.write_bytes(content.replace(real, false))
    tracemalloc.start()
    with pytest.raises(ModelFileError):
        PairwiseFairClassifier.load(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < size / 4
