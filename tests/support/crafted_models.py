"""Model files with a number changed inside, as whoever wants to harm the reader would: the archive itself is whole."""

from __future__ import annotations

import io
import json
import zipfile
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from random import Random

_EXTREME = (-(2**62), -(2**31), -3, -2, -1, 0, 1, 2, 3, 7, 100, 255, 256, 2**15, 2**31 - 1, 2**40, 2**62)


def crafted(data: bytes, rng: Random) -> bytes:
    """The archive with one to three numbers, sizes or settings changed."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = {info.filename: archive.read(info) for info in archive.infolist()}
    arrays = [name for name in entries if name.endswith(".npy")]
    for _ in range(rng.choice((1, 1, 2, 3))):
        if arrays and rng.random() < 0.75:
            name = rng.choice(arrays)
            entries[name] = _changed_array(entries[name], rng)
        else:
            entries["schema.json"] = _changed_schema(entries["schema.json"], rng)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return made.getvalue()


def _changed_array(content: bytes, rng: Random) -> bytes:
    array = np.load(io.BytesIO(content)).copy()
    kind = rng.random()
    if array.ndim and kind < 0.2:
        array = array[: rng.randrange(len(array) + 1)]
    elif array.ndim > 1 and kind < 0.3:
        array = np.ascontiguousarray(array[:, : rng.randrange(array.shape[1] + 1)])
    elif array.ndim and kind < 0.4:
        array = np.repeat(array, 2, axis=0)
    elif array.size:
        flat = array.reshape(-1)
        field = flat[rng.choice(flat.dtype.names)] if flat.dtype.names else flat
        if field.dtype.kind in "biuf":
            chosen = slice(None) if rng.random() < 0.2 else rng.randrange(len(field))
            value = (
                np.array(rng.choice(_EXTREME))
                if field.dtype.kind != "f"
                else rng.choice((np.nan, np.inf, -1e300, 2.5, -1.0))
            )
            field[chosen] = np.asarray(value).astype(field.dtype)
    made = io.BytesIO()
    np.save(made, array, allow_pickle=False)
    return made.getvalue()


def _changed_schema(content: bytes, rng: Random) -> bytes:
    """A number among the attributes is another, or an attribute is gone."""
    schema = json.loads(content)
    found: list[tuple[dict[str, Any], str]] = []
    waiting: list[Any] = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += node
        elif isinstance(node, dict):
            inside = node.get("content")
            if isinstance(inside, dict) and node.get("__loader__") == "DictNode":
                found += [(inside, name) for name in inside]
            waiting += node.values()
    owner, name = rng.choice(found)
    leaf = owner[name]
    if isinstance(leaf, dict) and leaf.get("__loader__") == "JsonNode" and rng.random() < 0.8:
        leaf["content"] = rng.choice((*map(str, _EXTREME), "null", "true", "false", '"x"', "1e300", "[]"))
    elif rng.random() < 0.5:
        other, key = rng.choice(found)
        owner[name] = deepcopy(other[key])
    else:
        del owner[name]
    return json.dumps(schema).encode()
