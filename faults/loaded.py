"""Loaded once into the process from which servers are forked: the program, and its pages compiled."""

from __future__ import annotations

from fairwise.study.languages import language
from fairwise.web.shared.templating import environment_for
from faults.sabotaged import serve

__all__ = ["serve"]

_pages = environment_for(language("en"))
for _name in _pages.list_templates(extensions=["html"]):
    _pages.get_template(_name)
