"""Which part of two measurements changed, and which difference of their surroundings could explain it."""

from __future__ import annotations

from specdoctor.analysis.attribution import Arm, attribute
from specdoctor.core.estimate import Estimate, Unit

STATE = {
    "host.boot_id": "b1",
    "container.started_at": "2026-02-01 08:00:00 UTC",
    "gpu.power_limit_w": "700",
    "server.cpus_allowed": "0-191",
    "engine.version": "0.5.9",
    "args.speculation": "2 steps",
    "draft.config": "d41d",
    "workload.prompts": "mixed 1234",
    "server.started": "pid 10, 100 ticks after boot",
}


def figure(value: float, unit: Unit, spread: float = 0.01) -> Estimate:
    low, high = value * (1 - spread), value * (1 + spread)
    return Estimate(value=value, low=low, high=high, unit=unit, estimator="drawn", n=12)


def arm(baseline: float, cycle: float, length: float, **changed: str | None) -> Arm:
    state = {**STATE, **{key.replace("__", "."): value for key, value in changed.items()}}
    return Arm(
        label=f"{baseline:g}",
        throughput=figure(1000 * length / cycle, "tok/s"),
        accept_length=figure(length, "tokens/cycle"),
        step=figure(cycle, "ms"),
        baseline=figure(baseline, "tok/s"),
        fingerprint={key: value for key, value in state.items() if value is not None},
    )


RESTARTED = {"container__started_at": "2026-02-25 10:00:00 UTC", "server__started": "pid 20, 900 ticks after boot"}


def test_a_cycle_that_grew_more_than_the_baseline_points_at_host_and_links_not_at_the_gpu() -> None:
    before = arm(89.0, 20.0, 2.0)
    after = arm(82.5, 30.0, 2.0, server__cpus_allowed="0-1", gpu__power_limit_w="650", **RESTARTED)
    found = attribute(before, after)
    assert (found.outcome, found.shape) == ("not attributable", "cycle more")
    assert "the system state changed" in found.reason
    changes = {part.name: part.change for part in found.parts}
    assert changes["cycle"] == "higher"
    assert changes["accept length"] == "no clear change"
    fits = {s.key: s.fit for s in found.suspects}
    assert fits["server.cpus_allowed"] > fits["gpu.power_limit_w"]
    assert fits["container.started_at"] > fits["gpu.power_limit_w"]


def test_a_uniform_slow_down_points_at_the_gpu() -> None:
    found = attribute(arm(90.0, 20.0, 2.0), arm(60.0, 30.0, 2.0, server__cpus_allowed="0-1", gpu__power_limit_w="350"))
    assert found.shape == "uniform"
    assert found.suspects[0].key == "gpu.power_limit_w"


def test_only_a_setting_differs() -> None:
    found = attribute(
        arm(90.0, 20.0, 2.0),
        arm(90.0, 30.0, 2.0, args__speculation="15 steps", server__started=RESTARTED["server__started"]),
    )
    assert found.outcome == "attributable"
    assert "args.speculation" in found.reason


def test_another_drafter_explains_another_accept_length() -> None:
    found = attribute(
        arm(90.0, 20.0, 2.0),
        arm(90.0, 20.0, 3.0, draft__config="other", gpu__power_limit_w="650", server__started="pid 3, 7 ticks"),
    )
    assert found.suspects[0].key == "draft.config"


def test_other_requests_compare_with_nothing() -> None:
    found = attribute(arm(90.0, 20.0, 2.0), arm(90.0, 20.0, 3.0, workload__prompts="code 99"))
    assert found.outcome == "not attributable"
    assert "the requests differ (prompts)" in found.reason


def test_figures_from_memory_belong_to_no_known_state() -> None:
    remembered = Arm(label="from memory", throughput=figure(94.0, "tok/s"))
    found = attribute(remembered, arm(82.5, 30.0, 2.0))
    assert found.outcome == "not attributable"
    assert "from memory" in found.reason
    assert found.suspects == ()


def test_a_measurement_against_itself_shows_nothing() -> None:
    one = arm(90.0, 20.0, 2.0)
    found = attribute(one, one)
    assert (found.outcome, found.suspects) == ("no difference", ())
    assert all(part.ratio.value == 1.0 for part in found.parts)


def test_the_spread_between_two_starts_hides_small_differences() -> None:
    before, after = arm(90.0, 20.0, 2.0), arm(90.0, 20.8, 2.0)
    same_start = attribute(before, after)
    assert {p.change for p in same_start.parts if p.name == "cycle"} == {"higher"}
    assert same_start.outcome == "unexplained"
    other_start = arm(90.0, 20.8, 2.0, server__started="pid 99, 5 ticks after boot")
    assert attribute(before, other_start).outcome == "inconclusive"


def test_nothing_in_common() -> None:
    found = attribute(Arm(label="a", throughput=figure(1, "tok/s")), Arm(label="b", step=figure(1, "ms")))
    assert found.outcome == "inconclusive"


def test_changes_within_noise_have_no_shape() -> None:
    found = attribute(arm(90.0, 20.0, 2.0), arm(89.0, 20.2, 2.0, gpu__power_limit_w="650", **RESTARTED))
    assert {part.change for part in found.parts} == {"no clear change"}
    assert found.shape == "no clear change"
