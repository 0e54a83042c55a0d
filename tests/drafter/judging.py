"""Judge folders of this machine as the command does."""

from __future__ import annotations

from pathlib import Path

from specdoctor.app.model_files import ModelFiles
from specdoctor.app.wiring import WiringDocument, judge_wiring
from specdoctor.assembly.catalogue import all_drafter_checks
from specdoctor.drafter.comparison import EngineChoice
from specdoctor.transports.local import LocalHost

VLLM_V1 = EngineChoice(name="vllm", version="0.32.0", runner="v1")
VLLM_V2 = EngineChoice(name="vllm", version="0.32.0", runner="v2")
SGLANG = EngineChoice(name="sglang", version="0.5.17")
LLAMACPP = EngineChoice(name="llamacpp", version="11434")


def files(path: Path) -> ModelFiles:
    return ModelFiles(LocalHost(), str(path), label=path.name)


def judged(
    draft: Path,
    target: Path,
    *,
    choice: EngineChoice | None = SGLANG,
    trained: str | None = None,
    method: str | None = None,
) -> WiringDocument:
    """`trained` lists states, as in a record written by hand."""
    training = ("record.yaml", f"trained_on: [{trained}]") if trained is not None else None
    return judge_wiring(
        files(draft), files(target), checks=all_drafter_checks(), training=training, choice=choice, method=method
    )


def causes(document: WiringDocument, status: str = "supported") -> list[str]:
    return [finding.cause for finding in document.findings if finding.status == status]
