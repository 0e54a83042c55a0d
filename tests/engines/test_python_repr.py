"""Values as Python prints them."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from specdoctor.engines.python_repr import read_dict, read_fields

LITERALS = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(10**12), 10**12), st.text(max_size=12)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)),
    max_leaves=12,
)


def test_calls_enums_and_bare_words() -> None:
    text = (
        "model='/m', speculative_config=SpeculativeConfig(method='mtp', model=None, num_spec_tokens=3), "
        "dtype=torch.bf16, compilation_config={'mode': <CompilationMode.NONE: 0>, 'sizes': [1, 2], 'pair': (1, 'a')}, "
        "seed=0, ratio=0.9, x=a b"
    )
    assert read_fields(text, 0) == {
        "model": "/m",
        "speculative_config": {"method": "mtp", "model": None, "num_spec_tokens": 3},
        "dtype": "torch.bf16",
        "compilation_config": {"mode": "NONE", "sizes": [1, 2], "pair": [1, "a"]},
        "seed": 0,
        "ratio": 0.9,
        "x": "a b",
    }


def test_a_line_that_was_cut_gives_what_it_has() -> None:
    assert read_fields("a=1, b=Config(c='x', d=[1, 2", 0) == {"a": 1, "b": {"c": "x", "d": [1, 2]}}


def test_secrets_are_masked() -> None:
    assert read_fields("hf_token='abc', api_key=None", 0) == {"hf_token": "***", "api_key": None}


@given(st.dictionaries(st.from_regex(r"[a-z]{2,8}", fullmatch=True).map("k_".__add__), LITERALS, max_size=4))
def test_a_printed_dict_is_read_back(values: dict[str, object]) -> None:
    plain = {key: value for key, value in values.items() if "key" not in key and "token" not in key}
    found = read_dict(repr(plain), 0)
    assert set(found) == set(plain)
    for key, value in plain.items():
        if isinstance(value, (int, bool, type(None))):
            assert found[key] == value


@given(st.text(alphabet="abk='\"\\,:(){}[]<> \n1.", max_size=80))
def test_any_text_ends(text: str) -> None:
    read_fields(text, 0)
    read_dict(text, 0)


def test_long_lines_take_linear_time() -> None:
    for text in (
        "a=" + "[" * 30_000,
        "'" * 30_001,
        "a='" + "\\" * 30_000,
        "x=<" * 15_000,
        "k=v, " * 12_000,
        ")" * 30_000,
    ):
        begun = time.process_time()
        read_fields(text, 0)
        assert time.process_time() - begun < 2.0
