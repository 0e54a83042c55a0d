"""JUnit XML: counted as readers count, and well-formed whatever the texts hold."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from specdoctor.render.junit import Case, junit_xml

CASES = [
    Case("verdict cause", True, "it is cause"),
    Case("throughput_tok_s of off > 90", False, "measured 57"),
    Case("hypothesis of off supported", None, "it was never stated"),
]


def suite(text: str) -> ET.Element:
    found = ET.fromstring(text).find("testsuite")
    assert found is not None
    return found


def test_failures_and_what_could_not_be_judged_are_told_apart() -> None:
    top = suite(junit_xml("mine", CASES, seconds=12.5, said="differs", properties={"run": "7f3c"}))
    assert {k: top.get(k) for k in ("name", "tests", "failures", "errors", "time")} == {
        "name": "mine",
        "tests": "3",
        "failures": "1",
        "errors": "1",
        "time": "12.500",
    }
    kinds = [[child.tag for child in case] for case in top.findall("testcase")]
    assert kinds == [[], ["failure"], ["error"]]
    assert top.findtext("system-out") == "differs"


def test_a_replay_that_came_to_no_end_is_an_error_even_without_expectations() -> None:
    top = suite(junit_xml("mine", [], seconds=0, broken="exit code 5: no server", properties={}))
    assert (top.get("tests"), top.get("errors")) == ("1", "1")


def test_any_text_is_well_formed() -> None:
    odd = "a\x00\x1b[31m<&>\"']]>\ufffe\ud800\U0001f600\tb\nc"
    top = suite(junit_xml(odd, [Case(odd, False, odd)], seconds=0, said=odd, properties={odd: odd}))
    failure = top.find("testcase/failure")
    assert failure is not None
    assert "<&>\"']]>\U0001f600" in (failure.text or "")
