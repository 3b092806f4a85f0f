"""The style and the script that pages name: read once, and named by their content so that browsers may keep them."""

from __future__ import annotations

import hashlib
from importlib.resources import files

_STYLE, _SCRIPT = "text/css; charset=utf-8", "text/javascript; charset=utf-8"
MEDIA_TYPES = {"study.css": _STYLE, "study.js": _SCRIPT, "console.css": _STYLE, "console.js": _SCRIPT}
MEDIA_TYPES |= {"watching.css": _STYLE, "watching.js": _SCRIPT}
MEDIA_TYPES |= {"fits.css": _STYLE, "fits.js": _SCRIPT}
MEDIA_TYPES |= {"making.css": _STYLE, "making.js": _SCRIPT}


def read_static_files() -> dict[str, tuple[bytes, str]]:
    """Content and media type of every file under ``static/``, by name."""
    folder = files("fairwise.web").joinpath("static")
    return {name: (folder.joinpath(name).read_bytes(), media_type) for name, media_type in MEDIA_TYPES.items()}


def version_of(content: bytes) -> str:
    """What ``?v=`` says: it changes whenever the file does, so an old copy is never shown."""
    return hashlib.sha256(content).hexdigest()[:12]
