"""Does the drafter's first projection take as many states as it is handed?"""

from __future__ import annotations

from specdoctor.core.hypothesis import ConfigEdit, Observation
from specdoctor.drafter.capture import AUX_SWITCH, at_key
from specdoctor.drafter.comparison import written
from specdoctor.drafter.pair import Pair, fault

USUAL = 3


class FcWidth:
    """`fc` takes the number of states times the target's hidden size; engines fail on any other width, or skip it."""

    name = "drafter-fc-width"
    summary = "Compare the input width of fc with the number of states that are captured."
    causes = ("WIRE-1",)

    def judge(self, pair: Pair) -> tuple[Observation, ...]:
        found = pair.draft.tensor("fc.weight")
        hidden = pair.draft.whole("target_hidden_size") or pair.target.whole("hidden_size")
        if not pair.draft.is_eagle3 or found is None or hidden is None or len(found[1].shape) != 2:
            return ()
        name, tensor = found
        shown = pair.draft.shown_tensor(name)
        width = tensor.shape[1]
        if at_key(pair.draft.config, AUX_SWITCH) is False:
            if width == hidden:
                return ()
            claim = f"{AUX_SWITCH} is false, and fc takes {width // hidden} states: the engine skips it"
            edits = (ConfigEdit(key=AUX_SWITCH, value=True),)
            said = pair.draft.said(AUX_SWITCH)
            return (fault(self.name, "WIRE-1", claim, shown, said, fix=f"set {AUX_SWITCH} true", edits=edits),)
        ids = written(pair.draft.config, pair.column)
        count = USUAL
        if pair.column is not None:
            count = len(pair.column.capture.states) or (len(ids.ids) if ids is not None else USUAL)
        elif ids is not None:
            count = len(set(ids.ids))
        if width == count * hidden:
            return ()
        where = f" (by {ids.key})" if ids is not None else " (the default)"
        learnt = f"{width // hidden} states" if width % hidden == 0 else "no whole number of states"
        claim = f"fc takes {width} values, that is {learnt} of {hidden}; {count} are captured{where}"
        sources = (shown, pair.draft.said(ids.key)) if ids is not None else (shown,)
        fix = (
            "name as many layer ids as it was trained with"
            if width % hidden == 0
            else "this is a head for another target"
        )
        return (fault(self.name, "WIRE-1", claim, *sources, fix=fix),)


check = FcWidth()
