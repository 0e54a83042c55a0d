from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdoctor.render.clean import clean, one_line


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("plain", "plain"),
        ("naïve 模型", "naïve 模型"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[2J\x1b[Hgone", "gone"),
        ("\x9b31mred", "red"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bP1$r\x1b\\dcs", "dcs"),
        ("\x1b(Bcharset", "charset"),
        ("bell\x07 back\x08space", "bell backspace"),
        ("a\u202egnp.exe\u202c", "agnp.exe"),
        ("zero\u200bwidth\ufeff", "zerowidth"),
        ("50%\rdone", "50%\ndone"),
        ("a\r\nb", "a\nb"),
        ("a\u2028b\x85c", "a\nb\nc"),
        ("tab\tstays", "tab\tstays"),
        ("lone \udc80 surrogate", "lone  surrogate"),
        ("unfinished \x1b[", "unfinished "),
    ],
)
def test_text_is_made_harmless(raw: str, shown: str) -> None:
    assert clean(raw) == shown


@given(st.text())
def test_what_is_left_cannot_act_on_a_terminal(text: str) -> None:
    assert all(c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cf", "Cs") for c in clean(text))
    assert clean(clean(text)) == clean(text)
    assert "\n" not in one_line(text)
