"""Is the chat template that came with the drafter the one that is served?"""

from __future__ import annotations

from specdoctor.core.hypothesis import Observation
from specdoctor.core.server import Source
from specdoctor.drafter.pair import Pair, doubt


class Template:
    """A trainer leaves the template it rendered with beside the drafter; the target's is the one that is served."""

    name = "drafter-template"
    summary = "Compare the chat template beside the drafter with the target's."
    causes = ("TRAIN-1",)

    def judge(self, pair: Pair) -> tuple[Observation, ...]:
        mine, theirs = pair.draft.template, pair.target.template
        if not mine or not theirs or _plain(mine) == _plain(theirs):
            return ()
        sources = (
            Source(where=pair.draft.folder, key="chat_template", quote=" ".join(mine.split())[:120]),
            Source(where=pair.target.folder, key="chat_template", quote=" ".join(theirs.split())[:120]),
        )
        claim = "the chat template beside the drafter is not the one that the target serves"
        decides = "accept length on the same questions with each of the two templates"
        fix = "serve the template that it was trained with (--chat-template), or train it on the one that is served"
        return (doubt(self.name, "TRAIN-1", claim, *sources, decides=decides, fix=fix),)


def _plain(template: str) -> str:
    return "".join(template.split())


check = Template()
