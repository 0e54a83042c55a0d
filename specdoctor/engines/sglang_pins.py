"""Kernel packages that released wheels of SGLang pin, as their metadata say."""

from __future__ import annotations

from specdoctor.engines.versions import parse_version

_ROWS = """
0.4.9.post6 sgl-kernel 0.2.7          flashinfer-python 0.2.9rc2      torch 2.7.1
0.5.3       sgl-kernel 0.3.14.post1   flashinfer-python 0.4.0rc3      torch 2.8.0
0.5.6       sgl-kernel 0.3.18.post2   flashinfer-python 0.5.3         torch 2.9.1
0.5.9       sgl-kernel 0.3.21         flashinfer-python 0.6.3         torch 2.9.1
0.5.10      sglang-kernel 0.4.1       flashinfer-python 0.6.7.post2   torch 2.9.1
0.5.12      sglang-kernel 0.4.2.post2 flashinfer-python 0.6.11.post1  torch 2.11.0
0.5.15      sglang-kernel 0.4.4       flashinfer-python 0.6.12        torch 2.11.0
0.5.20      sglang-kernel 0.4.7       flashinfer-python 0.6.18        torch 2.13.0
0.5.23      sglang-kernel 0.4.10      flashinfer-python 0.7.2         torch 2.14.1
"""
PINS: dict[str, dict[str, str]] = {
    words[0]: dict(zip(words[1::2], words[2::2], strict=True)) for words in map(str.split, _ROWS.strip().splitlines())
}


def pins_of(version: str | None) -> dict[str, str]:
    """Package to version for this release; empty where it was not read, and for builds between releases."""
    parsed = parse_version(version) if version else None
    if parsed is None or parsed.is_development:
        return {}
    return next((pins for name, pins in PINS.items() if parse_version(name) == parsed), {})
