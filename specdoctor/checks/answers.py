"""Are the answers text at all, and does acceptance say something about a drafter or about broken numbers?"""

from __future__ import annotations

import re

from specdoctor.analysis.given_lines import first_line, found_lines
from specdoctor.checks.reading import no_data, silent, whole, windows
from specdoctor.checks.saying import proved, suspected
from specdoctor.core.hypothesis import Observation
from specdoctor.core.ports import Scene
from specdoctor.core.server import Source

LOOP = re.compile(r"(?P<unit>\S{1,12}?)(?:\s?(?P=unit)){9,}")
SAME_IDS = re.compile(r"\b(?P<id>\d+)(?:[ ,]+(?P=id)\b){7,}")
SIGNS = re.compile(r"^[!?.,;:#*\u0000-\u001f\ufffd]+$")
DRIVER = re.compile(
    r"driver|\bBIOS\b|firmware|\bkernel update|reboot(?:ed)?\b.*(?:since|after)|(?:since|after)\b.*\breboot",
    re.IGNORECASE,
)
CHANGED = re.compile(r"before\b|updat|upgrad|new\b|since|after|chang|instal|reboot|was\b", re.IGNORECASE)
NOTHING_ACCEPTED = 1.05
EDGE = 0.02
BOTH_EDGES_OF = 5


class Answers:
    """Repeated words and signs are no text: then the numbers are wrong, and acceptance speaks about nothing."""

    name = "answers"
    summary = (
        "Read the answers given for endless repetition and odd signs, beside acceptance and what changed on the host."
    )
    causes = ("CORR-4", "CORR-2", "ENV-2")

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        broken = _broken_answer(scene)
        edges = _edges(scene)
        if broken is None:
            given = [e for e in scene.material.exchanges if e.direction == "answer" and e.text]
            if not given:
                return no_data(self.name, "CORR-4", "no answer of the server was given")
            return silent(self.name, "CORR-4", "the answers given are text", Source(where=given[0].where))
        source, unit = broken
        length, places = _accept_length(scene)
        said = f"the answer is '{unit}' over and over"
        changed = _host_change(scene)
        if changed is not None and length is not None and length < NOTHING_ACCEPTED and _several_gpus(scene):
            claim = (
                f"{said}, nothing is accepted, and the host changed meanwhile ('{changed.quote[:80]}'): "
                "GPUs that copy to each other may deliver wrong data"
            )
            return (
                proved(self.name, "ENV-2", claim, source, changed, *places),
                suspected(self.name, "CORR-4", f"{said}: numbers of a kernel may be wrong", source),
            )
        if edges or SIGNS.match(unit):
            why = f"; {edges[0]}" if edges else ""
            claim = f"{said}{why}: wrong numbers (NaN), so acceptance says nothing about the drafter"
            return (proved(self.name, "CORR-4", claim, source, *(edges[1] if edges else places)),)
        return (
            suspected(self.name, "CORR-2", f"{said}: state in KV or graph memory may be corrupt", source),
            suspected(self.name, "CORR-4", f"{said}: numbers of a kernel may be wrong", source),
        )


def _broken_answer(scene: Scene) -> tuple[Source, str] | None:
    """The first answer that repeats one word or sign to its end, with that word."""
    for exchange in scene.material.exchanges:
        match = LOOP.search(exchange.text) if exchange.direction == "answer" else None
        if match is not None:
            unit = match["unit"]
            place = first_line(
                _only(scene, exchange.where), re.compile(re.escape(unit * 3) + "|" + re.escape(f" {unit} {unit} "))
            )
            return place or Source(where=exchange.where, quote=match[0][:60]), unit[:12]
    for source, match in found_lines(scene, SAME_IDS, "notes", "text", "answer"):
        return source, f"token {match['id']}"
    return None


def _only(scene: Scene, where: str) -> Scene:
    texts = {where: scene.material.texts.get(where, "")}
    return scene.model_copy(update={"material": scene.material.model_copy(update={"texts": texts})})


def _edges(scene: Scene) -> tuple[str, tuple[Source, ...]] | None:
    """Whether every single pass accepted nothing or everything, and both happened."""
    spec = scene.view.spec or scene.view.asked_spec
    passes = [p for found in scene.material.iterations for p in found.passes if p.accept_length is not None]
    lengths: list[tuple[float, Source | int]] = [(p.accept_length or 0.0, p.source) for p in passes]
    logged = [w for w in windows(scene.view) if w.accept_length is not None]
    lengths = lengths or [(w.accept_length or 0.0, w.shows_acceptance) for w in logged]
    drafted = max((p.drafted_tokens or 0.0 for p in passes), default=0.0)
    most = (spec.draft_steps if spec is not None and spec.on else drafted) + 1
    least = [s for length, s in lengths if abs(length - 1) <= EDGE]
    full = [s for length, s in lengths if abs(length - most) <= EDGE]
    if len(lengths) < BOTH_EDGES_OF or most < 3 or len(least) + len(full) < len(lengths) or not full or not least:
        return None
    said = f"every one of {len(lengths)} passes accepted all {most:.0f} or one, nothing between"
    where = scene.view.log.where if scene.view.log else ""
    first = (place if isinstance(place, Source) else Source(where=where, line=place) for place in (least[0], full[0]))
    return said, tuple(first)


def _accept_length(scene: Scene) -> tuple[float | None, tuple[Source, ...]]:
    seen = [w for w in windows(scene.view) if w.accept_length is not None]
    if not seen:
        return scene.view.lifetime_accept_length, ()
    place = Source(where=scene.view.log.where if scene.view.log else "", line=seen[0].shows_acceptance)
    return sum(w.accept_length or 0.0 for w in seen) / len(seen), (place,)


def _host_change(scene: Scene) -> Source | None:
    """A person's line about a new driver, BIOS or a reboot."""
    for source, match in found_lines(scene, DRIVER, "notes"):
        if CHANGED.search(match.string):
            return source
    return None


def _several_gpus(scene: Scene) -> bool:
    view = scene.view
    for name in ("tp_size", "tensor_parallel_size", "tp"):
        size = whole(view.argument(name))
        if size is not None:
            return size > 1
    return any(len(sheet.rows) > 1 for sheet in scene.material.gpus)


check = Answers()
