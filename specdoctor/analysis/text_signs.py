"""Is a pile of text like another one? Signs of noise and of loops, each with its figures; no model of a language.

The thresholds are named heuristics: they are wide of what two samples of one model differ by, and each sign alone is
weak. Text is compared with text that the same target gave for the same prompts.
"""

from __future__ import annotations

import math
import zlib
from collections import Counter
from collections.abc import Sequence

ODD_SHARE = 0.002
"""Replacement and control characters, share of all characters, beyond that of the text compared with."""
ENTROPY_MORE = 0.25
"""Bits per byte (of single bytes) above those of the text compared with."""
APART = 0.08
"""Jensen-Shannon divergence of single bytes, bits: the least that is a sign. It must exceed that between two halves of
the text compared with, too: those are of other prompts, and answers to the same ones are nearer to each other."""
LOOPING = 0.6
"""Compressed size, as a share of that of the text compared with."""
FEWEST_BYTES = 400
"""Text shorter than this says nothing of its bytes."""
_PRINTED_BLANKS = "\n\t\r"
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def odd_share(texts: Sequence[str]) -> float:
    """Replacement and control characters, share of all; one cut at the end of an answer is left out."""
    whole = "".join(text.rstrip(_REPLACEMENT) for text in texts)
    odd = sum(c == _REPLACEMENT or (ord(c) < 32 and c not in _PRINTED_BLANKS) for c in whole)
    return odd / len(whole) if whole else 0.0


def byte_entropy(texts: Sequence[str]) -> float:
    """Bits per byte of single bytes."""
    counts = _bytes(texts)
    total = sum(counts.values())
    return -sum(n / total * math.log2(n / total) for n in counts.values()) if total else 0.0


def divergence(one: Sequence[str], other: Sequence[str]) -> float:
    """Jensen-Shannon divergence of single bytes, 0 to 1 bit."""
    first, second = _bytes(one), _bytes(other)
    sizes = sum(first.values()), sum(second.values())
    if not all(sizes):
        return 0.0
    out = 0.0
    for byte in {*first, *second}:
        p, q = first[byte] / sizes[0], second[byte] / sizes[1]
        middle = (p + q) / 2
        out += sum(x / 2 * math.log2(x / middle) for x in (p, q) if x)
    return out


def compressed_share(texts: Sequence[str]) -> float:
    """Compressed size over size: low where the text repeats itself."""
    raw = "".join(texts).encode("utf-8", "replace")
    return len(zlib.compress(raw, 9)) / len(raw) if raw else 1.0


def signs(texts: Sequence[str], like: Sequence[str]) -> tuple[str, ...]:
    """What tells that `texts` is noise or a loop where `like` is not, in words with both figures."""
    if min(len("".join(part).encode("utf-8", "replace")) for part in (texts, like)) < FEWEST_BYTES:
        return ()
    out: list[str] = []
    odd, usual = odd_share(texts), odd_share(like)
    if odd > usual + ODD_SHARE:
        out.append(f"{odd:.1%} of its characters are no text ({usual:.1%})")
    bits, usual = byte_entropy(texts), byte_entropy(like)
    if bits > usual + ENTROPY_MORE:
        out.append(f"{bits:.2f} bits a byte ({usual:.2f})")
    apart, halves = divergence(texts, like), divergence(like[::2], like[1::2])
    if apart > max(APART, halves):
        out.append(f"its bytes are {apart:.3f} bits from the other's, whose halves are {halves:.3f} apart")
    small, usual = compressed_share(texts), compressed_share(like)
    if small < LOOPING * usual:
        out.append(f"it repeats itself: compressed to {small:.0%} ({usual:.0%})")
    return tuple(out)


def _bytes(texts: Sequence[str]) -> Counter[int]:
    return Counter(byte for text in texts for byte in text.encode("utf-8", "replace"))
