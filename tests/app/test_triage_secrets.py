"""Nothing that any of the files shows to be a secret is said by triage, in no finding, quote or line to try."""

from __future__ import annotations

from specdoctor.assembly.judging import triaged

NOTE = "the card reports errors with token=tops3cretkey42 xid 79 password=hunter2secret, api_key: abcd1234efgh5678"
LAUNCH = "python3 -m sglang.launch_server --model-path /m --api-key plain0ldkey --speculative-num-steps 3\n"
LOG = "[2026-01-01 00:00:00] ValueError: cannot use plain0ldkey as a key\n"


def test_secrets_of_notes_commands_and_logs() -> None:
    texts = {"m.md": NOTE + "\n", "launch.sh": LAUNCH, "server.log": LOG}
    found = triaged(texts, symptom="it does not start")
    said = found.model_dump_json()
    for secret in ("tops3cretkey42", "hunter2secret", "abcd1234efgh5678", "plain0ldkey"):
        assert secret not in said
    quotes = [quote for finding in found.findings for quote in finding.evidence]
    assert quotes
    for quote in quotes:
        assert quote.quote in texts[quote.source].split("\n")[quote.line - 1]


def test_what_prose_names_in_passing_is_no_more_said_than_what_it_assigns() -> None:
    notes = "57 tok/s with the password hunter2x, bearer xyz7 and 90 tok/s without; accept length 1.6\n"
    log = "[2026-01-01 00:00:00] ValueError: cannot use hunter2x here\n"
    found = triaged({"notes.md": notes, "server.log": log}, symptom="")
    assert any(told.value == 57 for told in found.told)
    said = found.model_dump_json()
    assert "hunter2x" not in said
    assert "xyz7" not in said
