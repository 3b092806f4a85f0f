"""Templates: values are escaped, unknown names are errors, and a page's own template goes before a shared one."""

from __future__ import annotations

from gettext import NullTranslations

import pytest
from jinja2 import UndefinedError

from fairwise.templates import environment


def test_values_are_escaped_in_pages_and_not_in_plain_text() -> None:
    for html, text in ((True, "&lt;b&gt;"), (False, "<b>")):
        assert environment("fairwise.reporting", html=html).from_string("{{ name }}").render(name="<b>") == text


def test_an_unknown_name_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="nobody"):
        environment("fairwise.reporting").from_string("{{ nobody }}").render()


def test_the_first_package_that_has_a_template_gives_it() -> None:
    both = environment("replication", "fairwise.reporting", catalogue=NullTranslations())
    assert "replication" in str(both.get_template("section5.html").filename)
    assert "reporting" in str(both.get_template("base.html").filename)
