"""What a replay came to as JUnit XML, as continuous integration reads it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from xml.etree import ElementTree as ET

from specdoctor.core.clean import clean


class Case(NamedTuple):
    """One expectation. `met` None: nothing was found that could tell, which is an error, not a pass."""

    name: str
    met: bool | None
    because: str


def junit_xml(
    suite: str, cases: Sequence[Case], *, seconds: float, broken: str = "", said: str = "", properties: dict[str, str]
) -> str:
    """One test suite; `broken` says why the replay itself came to no end, `said` goes into the suite's output."""
    rows = list(cases)
    if broken:
        rows.append(Case(name="the replay came to its end", met=None, because=broken))
    failed, unknown = sum(c.met is False for c in rows), sum(c.met is None for c in rows)
    counts = {"tests": str(len(rows)), "failures": str(failed), "errors": str(unknown), "time": f"{seconds:.3f}"}
    top = ET.Element("testsuites", {"name": "specdoctor replay", **counts})
    inner = ET.SubElement(top, "testsuite", {"name": _text(suite), **counts})
    if properties:
        listed = ET.SubElement(inner, "properties")
        for name, value in properties.items():
            ET.SubElement(listed, "property", {"name": _text(name), "value": _text(value)})
    for case in rows:
        element = ET.SubElement(inner, "testcase", {"classname": _text(suite), "name": _text(case.name), "time": "0"})
        if case.met is not True:
            kind = "failure" if case.met is False else "error"
            ET.SubElement(element, kind, {"message": _text(case.because)}).text = _text(case.because)
    if said:
        ET.SubElement(inner, "system-out").text = _text(said)
    ET.indent(top)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(top, encoding="unicode") + "\n"


def _text(text: str) -> str:
    """Only what XML may hold: no control characters but line breaks and tabs, no halves of characters."""
    return "".join(c for c in clean(text) if c not in "\ufffe\uffff" and not "\ud800" <= c <= "\udfff")
