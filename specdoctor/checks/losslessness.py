"""Does the server answer with speculation as it does without, greedily and sampled?"""

from __future__ import annotations

from specdoctor.analysis.first_difference import Difference, compared, differences
from specdoctor.analysis.text_signs import FEWEST_BYTES, odd_share, signs
from specdoctor.checks.reading import no_data
from specdoctor.checks.saying import excluded, proved, suspected
from specdoctor.core.answer_sets import SUBJECT, SUSPICION, AnswerKind, AnswerSet
from specdoctor.core.hypothesis import Observation, Prediction
from specdoctor.core.ports import Scene
from specdoctor.core.server import Source

FAR = 0.5
"""A gap of log-probabilities, in nats, that no other order of sums closes (named heuristic: bf16 moves about 0.05)."""
BROKEN_SHARE = 0.02
"""Characters that are no text, of all: such a text is broken by itself (named heuristic)."""
FEWEST_CYCLES = 100
NOTHING_ACCEPTED = 1.005
CLEARLY_ACCEPTED = 1.2
"""Accept lengths: none accepted in so many cycles is no bad luck of a drafter that is accepted like this greedily."""
FEWEST_ANSWERS = 4
SURE_ANSWERS = 2
"""So many answers that leave the target's own prove it; a single one is only suspicious."""
SURE_SIGNS = 3
"""Signs of noise in the text prove it where there are so many: two of them often come together. Where no draft is
accepted either, one is enough (named heuristic)."""
FIRST_LOOK = Prediction(metric="reading", op="!=", subject=SUSPICION, text="what it gives without speculation")
AS_WITHOUT = Prediction(metric="reading", op="!=", subject=SUBJECT, text="what it gives without speculation")


class Losslessness:
    """Verification leaves the text to the target alone: what differs beyond its own near ties is an engine's fault."""

    name = "losslessness"
    summary = (
        "Compare answers with and without speculation: greedy ones by where they part and how sure the target was "
        "there, sampled ones by signs of noise and by acceptance."
    )
    causes = ("CORR-2", "CORR-4", "SAMP-1")

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        with_it = {s.kind: s for s in scene.answers if s.speculative}
        plain = {s.kind: s for s in scene.answers if not s.speculative}
        if not with_it:
            return no_data(self.name, "CORR-2", "no answers of the server were asked for")
        broken = [s for s in plain.values() if _broken(s)]
        if broken:
            claim = f"without speculation {odd_share(_texts(broken[0])):.0%} of the characters are no text either"
            return (_read(proved(self.name, "CORR-4", claim, *_places(broken[0]))),)
        if "greedy" not in plain or "sampled" not in plain:
            return self._by_itself(with_it)
        found = [*self._greedy(with_it, plain), *self._sampled(with_it, plain["sampled"])]
        if found:
            return tuple(found)
        enough = "greedy" in with_it and "sampled" in with_it and len(with_it["greedy"].answers) >= FEWEST_ANSWERS
        if not enough:
            return no_data(self.name, "CORR-2", "too few answers with speculation to compare")
        claim = f"{_greedy_words(with_it, plain)}; sampled at {with_it['sampled'].temperature:g}, it writes as without"
        places = _places(with_it["greedy"])
        return (
            _read(excluded(self.name, None, claim, *places, against="")),
            excluded(self.name, "CORR-2", claim, *places, against="CORR-2").model_copy(update={"reading": FIRST_LOOK}),
        )

    def _greedy(
        self, with_it: dict[AnswerKind, AnswerSet], plain: dict[AnswerKind, AnswerSet]
    ) -> tuple[Observation, ...]:
        """Greedy answers that leave the target's own where it was sure."""
        if "greedy" not in with_it:
            return ()
        far = [d for d in _differing(with_it["greedy"], plain) if d.gap is not None and d.gap > FAR]
        if not far:
            return ()
        worst = max(d.gap or 0.0 for d in far)
        claim = (
            f"{_greedy_words(with_it, plain)}; in {len(far)} the target's token was sure "
            f"(up to {worst:.2g} nats before the next): verification lets through what the target does not say"
        )
        places = _places(with_it["greedy"], {d.prompt for d in far})
        if len(far) >= SURE_ANSWERS:
            return (_read(proved(self.name, "CORR-2", claim, *places)),)
        return (suspected(self.name, "CORR-2", claim, *places),)

    def _sampled(self, with_it: dict[AnswerKind, AnswerSet], plain: AnswerSet) -> tuple[Observation, ...]:
        """Sampled answers that are noise where the target's own are text."""
        noise, unused = _sampled_signs(with_it, plain)
        if not noise and not unused:
            return ()
        mine = with_it["sampled"]
        claim = f"at temperature {mine.temperature:g} with speculation, against without: {'; '.join((*noise, *unused))}"
        if not noise or (not unused and len(noise) < SURE_SIGNS):
            return (suspected(self.name, "CORR-2", claim, *_places(mine)),)
        fault = proved(
            self.name,
            "CORR-2",
            f"the text is lost {claim}: a fault of the engine, not of the drafter",
            *_places(mine),
            *_places(plain),
            fix="no speculation for sampled requests, or another version of the engine",
        )
        not_sampling = excluded(
            self.name,
            "SAMP-1",
            "sampling costs a share of the drafts and leaves the text as it is; here the text is lost",
            *_places(mine),
            against="SAMP-1",
        )
        return (_read(fault), not_sampling)

    def _by_itself(self, with_it: dict[AnswerKind, AnswerSet]) -> tuple[Observation, ...]:
        """Without a launch to compare with: the sampled answers beside the greedy ones, which proves nothing."""
        noise, unused = _sampled_signs(with_it, with_it["greedy"]) if "greedy" in with_it else ((), ())
        if not noise and not unused:
            return no_data(self.name, "CORR-2", "no answers without speculation to compare with")
        claim = f"sampled answers differ in kind from greedy ones: {'; '.join((*noise, *unused))}"
        return (suspected(self.name, "CORR-2", claim, *_places(with_it["sampled"])),)


def _greedy_words(with_it: dict[AnswerKind, AnswerSet], plain: dict[AnswerKind, AnswerSet]) -> str:
    """How many greedy answers are the same, and at what gaps the others part; beside how the baseline repeats."""
    if "greedy" not in with_it:
        return "no greedy answers with speculation"
    found, count = _differing(with_it["greedy"], plain), compared(with_it["greedy"], list(plain.values()))
    said = f"{count - len(found)} of {count} greedy answers are those without speculation"
    gaps = [d.gap for d in found if d.gap is not None]
    if gaps:
        said += f", the others part where the two best tokens are {min(gaps):.2g} to {max(gaps):.2g} nats apart"
    if "greedy again" in plain:
        own = differences(plain["greedy again"], [plain["greedy"]])
        said += f" ({len(own)} of {len(plain['greedy'].answers)} differ between two runs without it)"
    return said


def _differing(mine: AnswerSet, plain: dict[AnswerKind, AnswerSet]) -> tuple[Difference, ...]:
    return differences(mine, [s for kind, s in plain.items() if kind != "sampled"])


def _sampled_signs(with_it: dict[AnswerKind, AnswerSet], plain: AnswerSet) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Signs of noise in the sampled text, and that no draft is accepted though greedily they are."""
    mine, greedy = with_it.get("sampled"), with_it.get("greedy")
    if mine is None:
        return (), ()
    noise = signs(_texts(mine), _texts(plain))
    length = mine.accept_length.value if mine.accept_length is not None else None
    usual = greedy.accept_length.value if greedy is not None and greedy.accept_length is not None else None
    if length is None or usual is None or (mine.cycles or 0) < FEWEST_CYCLES:
        return noise, ()
    if length > NOTHING_ACCEPTED or usual < CLEARLY_ACCEPTED:
        return noise, ()
    return noise, (f"accept length {length:.2f} over {mine.cycles} cycles, greedily {usual:.2f}",)


def _broken(answers: AnswerSet) -> bool:
    texts = _texts(answers)
    return len("".join(texts)) >= FEWEST_BYTES and odd_share(texts) >= BROKEN_SHARE


def _texts(answers: AnswerSet) -> list[str]:
    return [a.text for a in answers.answers]


def _places(answers: AnswerSet, prompts: set[str] | None = None) -> tuple[Source, ...]:
    """The first of these answers, as it was kept."""
    chosen = [a for a in answers.answers if prompts is None or a.prompt in prompts][:1]
    return tuple(Source(where=answers.where or answers.launch, key=a.prompt, quote=a.text[:100]) for a in chosen)


def _read(observation: Observation) -> Observation:
    return observation.model_copy(update={"reading": AS_WITHOUT})


check = Losslessness()
