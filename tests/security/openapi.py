"""The two apps as an OpenAPI document: every route, every gap in its path, every field that its forms know.

The pages are for people, so the apps publish no such document; what they know of themselves is the list of routes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from tests.support.attacked import PARAMETERS

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from tests.support.attacked import Attacked


def document(app: Starlette, attacked: Attacked) -> dict[str, Any]:
    """Gaps and fields hold anything at all, or else what is really there, so that what lies behind is reached, too."""
    known = _known(attacked)
    paths: dict[str, Any] = {}
    for route in app.routes:
        path, methods = getattr(route, "path_format", ""), getattr(route, "methods", None) or ()
        gaps = re.findall(r"{(\w+)", path)
        operations = paths.setdefault(path, {})
        for method in sorted(set(methods) - {"HEAD"}):
            parameters = [_parameter("path", gap, known.get(gap, [])) for gap in gaps]
            if method == "GET":
                parameters += [_parameter("query", name, []) for name in sorted(PARAMETERS)]
            operations[method.lower()] = {"parameters": parameters, "responses": {"default": {"description": "a page"}}}
            if method == "POST":
                operations["post"]["requestBody"] = _form(attacked, known)
    return {"openapi": "3.1.0", "info": {"title": "app", "version": "1"}, "paths": paths}


def _known(attacked: Attacked) -> dict[str, list[str]]:
    """What was seen in good requests: tokens in paths, and the values of fields."""
    found: dict[str, set[str]] = {"token": set(), "position": {"1", "3"}, "number": {"1", "3"}, "id": {"1"}}
    for asked in attacked.good:
        found["token"].update(re.findall(r"^/p/([\w-]{20,})", asked.path))
        for name, value in parse_qsl(asked.body.decode()):
            found.setdefault(name, set()).add(value)
    return {name: sorted(values) for name, values in found.items()}


def _anything_or(values: list[str]) -> dict[str, Any]:
    return {"anyOf": [{"type": "string"}, {"enum": values}]} if values else {"type": "string"}


def _parameter(where: str, name: str, values: list[str]) -> dict[str, Any]:
    return {"name": name, "in": where, "required": where == "path", "schema": _anything_or(values)}


def _form(attacked: Attacked, known: dict[str, list[str]]) -> dict[str, Any]:
    fields = {name: _anything_or(known.get(name, [])) for name in attacked.names}
    kinds = ("application/x-www-form-urlencoded", "multipart/form-data")
    return {"required": True, "content": {kind: {"schema": {"type": "object", "properties": fields}} for kind in kinds}}
