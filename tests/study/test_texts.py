"""Whatever an operator writes, or pastes from somewhere, nothing on the page acts."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairwise.errors import InputError
from fairwise.study.texts import LONGEST, TAGS, left_to_fill_in, read_text, safe_html

if TYPE_CHECKING:
    from pathlib import Path


class Seen(HTMLParser):
    """The tags and attributes that a browser would find."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.odd: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_comment(self, data: str) -> None:
        self.odd.append(data)

    def handle_decl(self, decl: str) -> None:
        self.odd.append(decl)

    def handle_pi(self, data: str) -> None:
        self.odd.append(data)

    unknown_decl = handle_pi


PIECES = st.sampled_from(
    [
        "<script>",
        "</script>",
        "alert(1)",
        "<img src=x onerror=alert(1)>",
        " onclick=",
        "javascript:",
        "JaVaScRiPt:",
        "\t",
        "[x](",
        ")",
        "![x](",
        "<",
        ">",
        '"',
        "'",
        "\n",
        "\n\n",
        "`",
        "```\n",
        "# ",
        "- ",
        "1. ",
        "> ",
        "&#106;",
        "&#x6A;",
        "data:text/html,",
        "vbscript:",
        "<a href=",
        "<style>",
        "<svg onload=",
        "<!--",
        "-->",
        "<![CDATA[",
        "\x00",
        "\\",
        "]",
        "| a | b |\n|:-|-:|\n| 1 | 2 |\n",
        "[x]: javascript:alert(1)\n",
        "[x]",
        "<javascript:alert(1)>",
        "//evil.example",
        "https://example.org",
        "mailto:a@example.org",
        "<https://example.org>",
        "style=",
        "&Tab;",
        "&colon;",
        "%6A",
        "***",
    ]
)


@given(st.lists(PIECES | st.text(max_size=5), max_size=12).map("".join))
def test_nothing_acts_whatever_is_written(markdown: str) -> None:
    seen = Seen(safe_html(markdown))
    assert not seen.odd
    for tag, attributes in seen.found:
        assert tag in TAGS
        assert set(attributes) <= {"a": {"href", "title", "rel"}, "ol": {"start"}}.get(tag, set())
        if "href" in attributes:
            assert str(attributes["href"]).lower().startswith(("http://", "https://", "mailto:"))
        if tag == "a":
            assert attributes["rel"] == "noopener noreferrer"


@given(st.sampled_from(["javascript", "vbscript", "data", "file", "ftp", "JAVASCRIPT", "java\tscript", ""]), st.text())
def test_links_lead_only_to_pages_and_mail(scheme: str, rest: str) -> None:
    for form in (
        f"[x]({scheme}:{rest})",
        f"[x](<{scheme}:{rest}>)",
        f"<{scheme}:{rest}>",
        f"[x]\n\n[x]: {scheme}:{rest}",
    ):
        for tag, attributes in Seen(safe_html(form)).found:
            href = attributes.get("href", "https://")
            assert tag != "a" or str(href).lower().startswith(("http://", "https://", "mailto:"))


def test_what_is_meant_stays() -> None:
    html = safe_html("# One\n## Two\n###### Six\n\n*a* **b** `c`\n\n- x\n- y\n\n3. z\n\n> q\n\n|h|\n|:-|\n|d|\n")
    assert "<h2>One</h2>" in html
    assert "<h3>Two</h3>" in html
    assert "<h6>Six</h6>" in html
    assert "<em>a</em> <strong>b</strong> <code>c</code>" in html
    assert '<ol start="3">' in html
    assert "<td>d</td>" in html
    assert "h1" not in html
    assert "style" not in html
    link = '<a href="https://example.org/?a=1&amp;b=2" rel="noopener noreferrer">x</a>'
    assert safe_html("[x](https://example.org/?a=1&b=2)") == f"<p>{link}</p>\n"
    assert 'href="mailto:a@example.org"' in safe_html("<a@example.org>")


def test_html_is_shown_as_words_and_pictures_as_what_they_say() -> None:
    assert safe_html("a <b>b</b>") == "<p>a &lt;b&gt;b&lt;/b&gt;</p>\n"
    assert safe_html("![a <b> & c](https://example.org/x.png)") == "<p>a &lt;b&gt; &amp; c</p>\n"
    assert "href" not in safe_html("[x](/consent) [y](//example.org) [z](#top)")


def test_marks_to_fill_in() -> None:
    text = "A [FILL IN: who\nasks] and [FILL IN: why] and [FILLED: x]"
    assert left_to_fill_in(text) == ("[FILL IN: who\nasks]", "[FILL IN: why]")


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (None, "there is no such file"),
        (b" \n", "empty"),
        (b"\xff\xfe", "not text in UTF-8"),
        (b"x" * (LONGEST + 1), "100,001 characters; allowed: 100,000"),
    ],
)
def test_texts_that_cannot_be_used(tmp_path: Path, content: bytes | None, part: str) -> None:
    file = tmp_path / "consent.md"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_text(file)
    assert str(caught.value).startswith(f"{file}: {part}")
    with pytest.raises(InputError, match="cannot be read"):
        read_text(tmp_path)
