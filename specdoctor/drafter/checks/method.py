"""Does the method asked for fit what lies in the folder, and does the folder's name change it?"""

from __future__ import annotations

from specdoctor.core.hypothesis import Observation
from specdoctor.core.server import Source
from specdoctor.drafter.pair import Pair, fault

_BY_PATH = (("eagle-", "eagle"), ("eagle3", "eagle3"), ("dflash", "dflash"), ("dspark", "dspark"))
_KEPT = ("eagle", "eagle3", "dflash", "dspark")
_WITHOUT_STATES = {"EAGLE", "NEXTN", "STANDALONE", "DRAFT_MODEL", "DRAFT-SIMPLE", "MTP", "DRAFT-MTP"}


class Method:
    """Nothing checks the method against the checkpoint: under a wrong one a head loads, and is hardly ever accepted."""

    name = "drafter-method"
    summary = "Compare the speculative method with the drafter's architecture, and with what its path makes vLLM take."
    causes = ("CFG-2",)

    def judge(self, pair: Pair) -> tuple[Observation, ...]:
        asked = (pair.method or "").strip()
        forced = _by_path(pair.draft.path, asked) if pair.engine == "vllm" else ""
        if forced and (forced == "eagle3") != pair.draft.is_eagle3:
            named = f"method {asked}" if asked else "no method"
            claim = f"vLLM takes method {forced} from the folder's name, whatever is asked for ({named})"
            source = Source(
                where=pair.draft.config_file, key="architectures", quote=", ".join(pair.draft.architectures)
            )
            return (fault(self.name, "CFG-2", claim, source, fix="rename the folder, without that word in its path"),)
        if not asked:
            return ()
        said = pair.draft.said("architectures" if pair.draft.architectures else "general.architecture")
        if pair.draft.is_eagle3 and asked.upper() in _WITHOUT_STATES:
            claim = f"{asked} for an EAGLE-3 head: the target hands over one state, or none, and fc is skipped"
            right = {"sglang": "EAGLE3", "llamacpp": "draft-eagle3"}.get(pair.engine, "eagle3")
            return (fault(self.name, "CFG-2", claim, said, fix=f"ask for {right}"),)
        if not pair.draft.is_eagle3 and asked.upper() in ("EAGLE3", "DRAFT-EAGLE3"):
            claim = f"{asked} for a drafter that is no EAGLE-3 head"
            return (fault(self.name, "CFG-2", claim, said, fix="ask for the method that it was made for"),)
        return ()


def _by_path(folder: str, asked: str) -> str:
    """The method vLLM takes from a path, whatever is asked for; empty where it does not."""
    if asked.lower() in _KEPT:
        return ""
    path = folder.lower()
    return next((method for part, method in _BY_PATH if part in path), "")


check = Method()
