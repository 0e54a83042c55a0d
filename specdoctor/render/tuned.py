"""The outcome of a search for the fastest setting: for people and for machines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from specdoctor.analysis.draft_setting import DraftSetting
from specdoctor.analysis.forecast import SettingForecast
from specdoctor.analysis.launches import MeasuredLaunch
from specdoctor.analysis.tuned import Tuned, TunedAt
from specdoctor.core.estimate import Estimate
from specdoctor.render.layout import labelled, paste_lines

TUNE_SCHEMA = "specdoctor.tune/1"
_LABEL_WIDTH = 12


def tune_document(
    tuned: Tuned, *, run: str, target: str, launches: Mapping[int, str], cached: bool, reason: str
) -> dict[str, Any]:
    """A search for machines. `best` null means off where `decided` is true; the setting null means no speculation."""
    return {
        "schema": TUNE_SCHEMA,
        "run": run,
        "target": target,
        "cached": cached,
        "launches": tuned.launches,
        "spread_between_launches": tuned.spread,
        "ended": reason,
        "faults": list(tuned.faults),
        "results": [_result(result, launches.get(result.concurrency)) for result in tuned.results],
    }


def _result(result: TunedAt, launch: str | None) -> dict[str, Any]:
    return {
        "concurrency": result.concurrency,
        "best": _setting(result.best),
        "decided": result.best is not None,
        "confirmed": result.confirmed,
        "why": result.why,
        "gain": None if result.gain is None else _ratio(result.gain),
        "predicted": [predicted_document(p) for p in result.predicted],
        "measured": [_measured(m) for m in result.measured],
        "launch": launch,
    }


def _setting(setting: DraftSetting | None) -> dict[str, int] | None:
    return setting.model_dump() if setting is not None and setting.on else None


def _ratio(figure: Estimate) -> dict[str, Any]:
    return {"ratio": figure.value, "low": figure.low, "high": figure.high, "estimator": figure.estimator}


def _speed(figure: Estimate) -> dict[str, Any]:
    return {"throughput_tok_s": figure.value, "low": figure.low, "high": figure.high}


def predicted_document(forecast: SettingForecast) -> dict[str, Any]:
    """A prediction for machines."""
    return {
        "setting": _setting(forecast.setting),
        **_speed(forecast.throughput),
        "accept_length": forecast.accept_length,
        "cycle_ms": forecast.cycle_ms,
        "extrapolated": forecast.beyond or None,
        "estimator": forecast.throughput.estimator,
    }


def _measured(launch: MeasuredLaunch) -> dict[str, Any]:
    figures = launch.figures
    length = figures.accept_length
    return {
        "setting": _setting(figures.setting),
        "as_found": launch.as_found,
        **_speed(figures.throughput),
        "accept_length": None if length is None else length.value,
        "cycle_ms": figures.step.value,
        "requests": launch.requests,
        "estimator": figures.throughput.estimator,
        "evidence": launch.evidence,
    }


def tune_text(tuned: Tuned, *, launches: Mapping[int, str], cached: bool, width: int) -> str:
    """A search for people: what to run at each concurrency, what it brings, what was measured and predicted."""
    lines: list[str] = []
    for result in tuned.results:
        lines += _result_lines(result, launches.get(result.concurrency, ""), width)
    for fault in tuned.faults:
        said = f"every launch was measured with {fault}"
        lines += labelled("with", said, label_width=_LABEL_WIDTH, width=width)
    starts = "none" if tuned.launches == 0 else str(tuned.launches)
    cost = "none now: an earlier run's answer, in the same state of the system" if cached else f"{starts} test starts"
    lines += labelled("cost", cost, label_width=_LABEL_WIDTH, width=width)
    said = f"between two launches of one setting a spread of {tuned.spread:.1%} is reckoned with in every interval"
    lines += labelled("assumes", said, label_width=_LABEL_WIDTH, width=width)
    return "\n".join(lines)


def _how(launch: MeasuredLaunch) -> str:
    """The estimator of a measured speed: decode speed for one client, wall time with prefill for several; and its n."""
    return f"{launch.figures.throughput.estimator}, n={launch.figures.throughput.n}"


def _firm_first(forecast: SettingForecast) -> tuple[bool, float]:
    """What rests on measurements before what is extrapolated, then the fastest first."""
    return bool(forecast.beyond), -forecast.throughput.value


def _result_lines(result: TunedAt, launch: str, width: int) -> list[str]:
    at = f"at concurrency {result.concurrency}: "
    lines = labelled("best", at + result.words, label_width=_LABEL_WIDTH, width=width)
    lines += labelled("because", result.why, label_width=_LABEL_WIDTH, width=width)
    for m in result.measured:
        found = " (as found)" if m.as_found else ""
        text = f"{m.figures.setting.label}{found}: {m.figures.throughput.with_unit()} ({_how(m)})  {m.evidence}"
        lines += labelled("measured", text, label_width=_LABEL_WIDTH, width=width)
    started = {m.figures.setting for m in result.measured}
    unseen = sorted((p for p in result.predicted if p.setting not in started), key=_firm_first)
    for p in unseen[:3]:
        beyond = f", extrapolated: {p.beyond}" if p.beyond else ""
        text = f"{p.setting.label}: {p.throughput.with_unit()}, not run{beyond}"
        lines += labelled("predicted", text, label_width=_LABEL_WIDTH, width=width)
    if not launch:
        return lines
    lines += labelled("launch", "start it with the next line", label_width=_LABEL_WIDTH, width=width)
    return lines + paste_lines(launch, width=width)
