"""How the ledger names what a playbook states."""

from __future__ import annotations

from specdoctor.planners.playbook_schema import RelaunchStep


def hypothesis_key(step: RelaunchStep) -> str:
    """The ledger's name for the hypothesis that a step tests."""
    if step.hypothesis.answers == "symptom" and step.change.off:
        return "symptom:slower"
    return f"playbook:{step.relaunch}"
