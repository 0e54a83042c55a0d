"""Plant faults on a real engine, let `investigate` loose on each over a real sshd, and say what it found.

Exit code: 0 every scenario came to what is true, 1 at least one did not, 5 the engine cannot be had here.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.live.engine import LiveEngine, cache_folder
from tests.live.ground import Ground, Outcome, ground, runs_again, stop_all_on
from tests.live.llamacpp_engine import LlamaCpp
from tests.live.missing import Missing
from tests.live.scenarios import Scenario, right, speed_up
from tests.live.server import NotUp, RunningServer
from tests.live.tiny_models import STORED
from tests.live.vllm_engine import Vllm
from tests.transports.ssh_servers import free_port

ENGINES: dict[str, type[LlamaCpp] | type[Vllm]] = {"llamacpp": LlamaCpp, "vllm": Vllm}
INVESTIGATE = ("--allow", "restart", "--max-restarts", "8", "--requests", "12", "--max-new-tokens", "64")
PROMPTS = ("--prompts", str(STORED / "prompts.jsonl"))


def _verdict(outcome: Outcome) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """The verdict's word, the causes that evidence supports, and those of them that explain the symptom."""
    causes = [c for c in outcome.document.get("causes") or [] if c.get("status") == "supported"]
    proved = tuple(str(c.get("cause")) for c in causes)
    explains = tuple(str(c.get("cause")) for c in causes if c.get("role") in ("explains", "contributes"))
    return str(outcome.document.get("verdict") or "none"), proved, explains


def _run(scenario: Scenario, place: Ground, engine: LiveEngine, *, give_up: float) -> bool:
    """One scenario, within what is left of the run's time."""
    if time.monotonic() >= give_up:
        print(f"MISS {scenario.name:<22} not run: the time is over", flush=True)
        return False
    port = free_port()
    launch = engine.launch(scenario, port=port)
    server = RunningServer.start(launch, log=place.folder / f"{scenario.name}.log", cwd=place.folder)
    try:
        begun = time.monotonic()
        server.await_ready(longest_s=give_up - time.monotonic())
        ready_s = time.monotonic() - begun
        asked = ("--server-port", str(port), "--symptom", scenario.symptom)
        outcome = place.investigate(*asked, *INVESTIGATE, *PROMPTS, longest_s=max(give_up - time.monotonic(), 1.0))
        restored = runs_again(launch.argv, port)
    except NotUp as failure:
        print(f"MISS {scenario.name:<22} {failure}", flush=True)
        return False
    finally:
        stop_all_on(port)
        with contextlib.suppress(subprocess.TimeoutExpired):  # a killed one goes when the machine has time for it
            server.process.wait(timeout=60)
    (place.folder / f"{scenario.name}.json").write_text(json.dumps(outcome.document, indent=1), encoding="utf-8")
    (place.folder / f"{scenario.name}.said").write_text(outcome.said, encoding="utf-8")
    word, proved, explains = _verdict(outcome)
    found = right(scenario, word, proved, explains, speed_up(outcome.document))
    wanted = " or ".join(scenario.causes) or "healthy"
    mark, back = "ok  " if restored and found else "MISS", "restored" if restored else "NOT RESTORED"
    named = " ".join(dict.fromkeys((*explains, *(f"{cause} (proved)" for cause in proved)))) or "-"
    took = f"{outcome.seconds:.0f} s after a start of {ready_s:.1f} s"
    print(f"{mark} {scenario.name:<22} {word} {named} (wanted {wanted}), {back}, {took}")
    print("     " + str(outcome.document.get("headline") or outcome.said.strip()[-300:]))
    print("     " + (speed_up(outcome.document) or "speed with and without was not compared"), flush=True)
    return restored and found


def _all(name: str, only: str, keep: Path | None) -> int:
    engine, cache = ENGINES[name](), cache_folder()
    chosen = tuple(s for s in engine.scenarios if not only or s.name in only.split(","))
    minutes, told = engine.minutes(cache, len(chosen)), f"live tests on {engine.title}, {len(chosen)} scenarios"
    print(f"{told}: up to {minutes:.0f} min ({engine.cost(cache)})", flush=True)
    missing = engine.missing(cache)
    if missing:
        raise Missing(missing)
    begun = time.monotonic()
    give_up = begun + 60.0 * minutes
    with tempfile.TemporaryDirectory(prefix="specdoctor-live-") as temporary:
        folder = keep or Path(temporary)
        engine.prepare(cache, folder / "models")
        prepared = time.monotonic()
        with ground(folder / "user") as place:
            right = [_run(scenario, place, engine, give_up=give_up) for scenario in chosen]
    took = (
        f"{(time.monotonic() - begun) / 60:.1f} min, {(prepared - begun) / 60:.1f} of them to install and make models"
    )
    print(f"{sum(right)} of {len(right)} as planted; {took}")
    return 0 if all(right) else 1


def main() -> int:
    parser = argparse.ArgumentParser(prog="make live", description=__doc__)
    parser.add_argument("engine", choices=sorted(ENGINES))
    parser.add_argument("--only", default="", help="names of scenarios, with commas")
    parser.add_argument("--keep", type=Path, help="a folder to leave models, logs and documents in")
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started is ended
    try:
        return _all(asked.engine, asked.only, asked.keep)
    except (Missing, RuntimeError) as reason:
        print(f"make live ENGINE={asked.engine}: {reason}", file=sys.stderr)
        return 5


if __name__ == "__main__":
    sys.exit(main())
