"""Which experiment comes next, and what the others would have told: written down before it is made."""

from __future__ import annotations

from pydantic import FiniteFloat

from specdoctor.core.model import Frozen


class ExperimentOption(Frozen):
    """One launch that could be made now.

    `prior`: how likely its claim is before the test. `bits`: what the test is expected to tell, the entropy of that.
    `minutes`: start, benchmark and time down weighted by their risk, expected from what they took so far.
    """

    launch: str
    tests: str
    cause: str | None = None
    prior: FiniteFloat
    bits: FiniteFloat
    minutes: FiniteFloat

    @property
    def per_minute(self) -> float:
        """Bits for a minute of the GPU's time."""
        return self.bits / self.minutes if self.minutes > 0 else 0.0

    @property
    def words(self) -> str:
        cause = f" ({self.cause})" if self.cause else ""
        return (
            f"{self.launch}, {self.tests}{cause}: {self.bits:.2f} bits at {self.prior:.0%} for {self.minutes:.1f} min"
        )


class Choice(Frozen):
    """The options in their order, the chosen one first; `forced` says why no other could come first."""

    options: tuple[ExperimentOption, ...]
    forced: str = ""

    @property
    def words(self) -> str:
        """Why this next, in one sentence."""
        if not self.options:
            return "nothing is left to test"
        first, others = self.options[0], self.options[1:]
        told = first.words + (f"; it comes first: {self.forced}" if self.forced else "")
        told += f"; then {'; '.join(o.words for o in others[:3])}" if others else "; nothing else is left to test"
        return told + " (a start counts twice: nobody is served)"
