"""A browser that knows forms and nothing else, and never leaves the site it was opened on."""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING, Self

import httpx2

from fairwise.bots.page import Form, Page
from fairwise.errors import InputError

if TYPE_CHECKING:
    import ssl
    from collections.abc import Mapping
    from types import TracebackType

_MOST_REDIRECTS = 5
_PATIENCE = 60.0  # seconds; a server with hundreds of participants may take its time


class Browser:
    """One window with cookies of its own; every call returns the page that one then looks at."""

    def __init__(self, site: httpx2.URL, certificates: ssl.SSLContext) -> None:
        self._site = site
        self._client = httpx2.AsyncClient(
            headers={"origin": _origin(site), "user-agent": "fairwise-bots (simulated)"},
            verify=certificates,
            timeout=_PATIENCE,
            trust_env=False,  # no proxy between a machine and itself
        )
        self._where = site

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.aclose()

    async def start(self, entrance: str = "/") -> Page:
        """Open the page by which one comes in."""
        return await self._load(self._client.build_request("GET", f"{self._site}{entrance}"))

    async def follow(self, link: str) -> Page:
        return await self._load(self._client.build_request("GET", self._where.join(link)))

    async def send(self, form: Form, more: Mapping[str, str]) -> Page:
        """Send what the form holds, and what was chosen or pressed."""
        data = {**form.fields, **more}
        return await self._load(self._client.build_request("POST", self._where.join(form.action), data=data))

    async def _load(self, request: httpx2.Request) -> Page:
        for _ in range(_MOST_REDIRECTS):
            self._stay_here(request.url)
            try:
                response = await self._client.send(request)
            except httpx2.ConnectError:
                raise InputError(f"{self._site}: nothing answers there; start the study with: fairwise serve") from None
            except httpx2.HTTPError as error:
                raise InputError(f"{self._place(request)}: {type(error).__name__} {error}".rstrip()) from None
            if response.next_request is None:
                return self._seen(response)
            request = response.next_request
        raise InputError(f"{self._place(request)}: sends one in circles")

    def _seen(self, response: httpx2.Response) -> Page:
        self._where = response.url
        page = Page.read(response.text)
        if response.status_code != httpx2.codes.OK:
            raise InputError(f"{self._place(response.request)}: {response.status_code} {page.heading}".rstrip())
        return page

    def _stay_here(self, url: httpx2.URL) -> None:
        if _origin(url) != _origin(self._site):
            raise InputError(f"{self._site}: sends one to another site, {_origin(url)}, where nobody should go")

    def _place(self, request: httpx2.Request) -> str:
        """What was asked for, without the token in its path, which is somebody's key."""
        return f"{self._site}, {request.method} …/{request.url.path.rpartition('/')[2]}"


def _origin(url: httpx2.URL) -> str:
    port = "" if url.port is None else f":{url.port}"
    return f"{url.scheme}://{url.host}{port}"


def checked_address(url: str, *, allow_remote: bool = False) -> httpx2.URL:
    """Return the address of a study, without a slash at its end; another machine's is refused unless allowed."""
    try:
        address = httpx2.URL(url.strip().rstrip("/"))
    except httpx2.InvalidURL as error:
        raise InputError(f"{url}: not an address: {error}") from None
    if address.scheme not in ("http", "https") or not address.host:
        raise InputError(f"{url}: not the address of a study; needed: http://… or https://…")
    if not allow_remote and not is_loopback(address.host):
        raise InputError(
            f"{url}: is not on this machine, and simulated answers would be kept beside those of real people; "
            "if that is what you want, add --allow-remote"
        )
    return address


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, told by its name alone; nothing is looked up."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower().rstrip(".") == "localhost"
