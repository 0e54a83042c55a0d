"""Versions: their order (with rc, post, dev and local parts), ranges, and how proofs narrow a range."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import total_ordering

_VERSION = re.compile(
    r"v?(?P<release>\d+(?:\.\d+)*)(?:[._-]?(?P<pre>a|b|rc)\.?(?P<pre_n>\d+))?"
    r"(?:[._-]?post(?P<post>\d+))?(?:[._-]?dev(?P<dev>\d+))?(?:\+(?P<local>[\w.]+))?",
    re.IGNORECASE,
)
_NEVER = 1 << 30


@total_ordering
@dataclass(frozen=True, eq=False)
class Version:
    """A version as PyPI orders it: 0.5.9rc0 < 0.5.9 < 0.5.9.post1.dev12 < 0.5.9.post1. The local part is ignored."""

    text: str
    key: tuple[tuple[int, ...], tuple[int, int], int, int]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Version) and self.key == other.key

    def __lt__(self, other: Version) -> bool:
        return self.key < other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __str__(self) -> str:
        return self.text

    @property
    def is_development(self) -> bool:
        """True for a build between two releases: its behaviour is not that of the release it is named after."""
        return self.key[3] != _NEVER or "+" in self.text


def parse_version(text: str) -> Version | None:
    """The version that `text` is, None if it is none (`main`, `latest`, an empty string)."""
    match = _VERSION.fullmatch(text.strip())
    if match is None:
        return None
    release = tuple(int(part) for part in match["release"].split(".")[:6])
    while len(release) > 1 and release[-1] == 0:
        release = release[:-1]
    dev = _NEVER if match["dev"] is None else int(match["dev"])
    post = -1 if match["post"] is None else int(match["post"])
    if match["pre"] is not None:
        pre = ("abr".index(match["pre"][0].lower()), int(match["pre_n"]))
    elif post < 0 and dev != _NEVER:
        pre = (-1, 0)
    else:
        pre = (3, 0)
    return Version(text=text.strip().removeprefix("v"), key=(release, pre, post, dev))


def version(text: str) -> Version:
    """`text` as a version; for literals in tables. Raises ValueError if it is none."""
    parsed = parse_version(text)
    if parsed is None:
        raise ValueError(f"{text!r} is no version")
    return parsed


@dataclass(frozen=True)
class VersionRange:
    """All versions from `since` (included) to `before` (excluded); None leaves that end open."""

    since: Version | None = None
    before: Version | None = None

    @classmethod
    def of(cls, since: str | None = None, before: str | None = None) -> VersionRange:
        return cls(None if since is None else version(since), None if before is None else version(before))

    @property
    def is_open(self) -> bool:
        return self.since is None and self.before is None

    @property
    def is_empty(self) -> bool:
        return self.since is not None and self.before is not None and self.since >= self.before

    def __str__(self) -> str:
        parts = ([f">={self.since}"] if self.since else []) + ([f"<{self.before}"] if self.before else [])
        return ",".join(parts)

    def contains(self, item: Version) -> bool:
        return (self.since is None or item >= self.since) and (self.before is None or item < self.before)

    def intersect(self, other: VersionRange) -> VersionRange:
        since = max((v for v in (self.since, other.since) if v is not None), default=None)
        before = min((v for v in (self.before, other.before) if v is not None), default=None)
        return VersionRange(since, before)

    def overlaps(self, other: VersionRange) -> bool:
        return not self.intersect(other).is_empty

    def covers(self, other: VersionRange) -> bool:
        """Whether every version of `other` is in this range."""
        low = self.since is None or (other.since is not None and other.since >= self.since)
        return low and (self.before is None or (other.before is not None and other.before <= self.before))


ANY = VersionRange()


def parse_range(text: str | None) -> VersionRange:
    """A range written as ">=0.5.11,<0.5.14"; the open range for None or for anything that is not one."""
    since = before = None
    for part in (text or "").split(","):
        part = part.strip()
        if part.startswith(">="):
            since = parse_version(part[2:])
        elif part.startswith("<") and not part.startswith("<="):
            before = parse_version(part[1:])
    return VersionRange(since, before)


def range_of(version_text: str | None, range_text: str | None = None) -> VersionRange:
    """What is known of a version: the point as the smallest range that holds it, else the proved range.

    A development build is known only to lie between the release before it and the next one.
    """
    parsed = parse_version(version_text) if version_text else None
    if parsed is None:
        return parse_range(range_text)
    if parsed.is_development:
        return VersionRange(_release_of(parsed), _next_release(parsed))
    return VersionRange(parsed, Version(text=f"{parsed.text}+", key=(*parsed.key[:3], parsed.key[3] + 1)))


def _release_of(item: Version) -> Version | None:
    return parse_version(".".join(str(n) for n in item.key[0]))


def _next_release(item: Version) -> Version | None:
    parts = [*item.key[0], 0, 0][:3]
    return parse_version(".".join(str(n) for n in [*parts[:-1], parts[-1] + 1]))
