"""Loaded once into the process from which servers are forked: the program, and its pages compiled."""

from __future__ import annotations

from fairwise.study.texts import language
from fairwise.web.shared.pages import templates_of
from faults.sabotaged import serve

__all__ = ["serve"]

_pages = templates_of("fairwise.web.shared", "", language("en"))
for _name in _pages.list_templates(extensions=["html"]):
    _pages.get_template(_name)
