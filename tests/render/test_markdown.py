from __future__ import annotations

import html

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from specdoctor.render.clean import clean, one_line
from specdoctor.render.markdown import block, code, inline, table

PARSER = MarkdownIt("commonmark", {"html": True}).enable("table").enable("strikethrough")
HOSTILE = [
    "<script>alert(1)</script>",
    "<!-- x",
    "a | b",
    "a \\| b",
    "`code`",
    "![x](http://x/y.png)",
    "[x](javascript:y)",
    "**b** _i_ ~~s~~ __b__",
    "# heading",
    "- item",
    "1. item",
    "1) item",
    "> quote",
    "---",
    "===",
    "```",
    "~~~",
    "&lt;b&gt; &#60;",
    "http://x.y/z www.x.y a@b.c",
    "a\n\n<b>",
    "\x1b[31mred",
    "    indented",
    "| --- |",
]


def inner_types(markdown: str) -> set[str]:
    tokens = PARSER.parse(markdown)
    return {t.type for t in tokens} | {c.type for t in tokens for c in t.children or ()}


def shown(markdown: str) -> str:
    """The text that a reader sees of one paragraph."""
    rendered = PARSER.render(markdown).strip()
    assert rendered.startswith("<p>")
    return html.unescape(rendered.removeprefix("<p>").removesuffix("</p>"))


@given(st.text(min_size=1) | st.sampled_from(HOSTILE))
@example("_a_ _")
@example("__0__")
@example("12) x")
@example("0.")
@example("- ")
@example("+ -")
def test_any_text_is_shown_as_it_was_written(text: str) -> None:
    line = one_line(text)
    if line:
        assert inner_types(inline(text)) <= {"paragraph_open", "inline", "text", "text_special", "paragraph_close"}
        assert shown(inline(text)) == line


@given(st.lists(st.lists(st.text() | st.sampled_from(HOSTILE), min_size=3, max_size=3), min_size=1, max_size=4))
def test_no_text_breaks_a_table(rows: list[list[str]]) -> None:
    rendered = PARSER.render(table(("a", "b", "c"), [(inline(x), code(y), z) for x, y, z in rows]))
    assert rendered.count("<table>") == rendered.count("</table>") == 1
    assert rendered.count("<tr>") == len(rows) + 1
    assert rendered.count("<td>") == 3 * len(rows)
    assert not inner_types(table(("a",), [(x,) for row in rows for x in row])) & {"html_inline", "link_open", "image"}


@pytest.mark.parametrize("text", ["x`y", "``", "`", "a ``` b", "plain", "<b>"])
def test_a_code_span_holds_any_words(text: str) -> None:
    assert f"<code>{html.escape(text)}</code>" in PARSER.render(code(text))


@given(st.text() | st.sampled_from(["```\n<b>", "~~~\n", "````"]))
def test_a_code_block_holds_any_text(text: str) -> None:
    tokens = PARSER.parse(block(text))
    assert [t.type for t in tokens] == ["fence"]
    assert tokens[0].content.rstrip("\n") == clean(text).rstrip()
