"""The targets file: where it is looked for, what it may say, and how its faults are told."""

from __future__ import annotations

from pathlib import Path

import platformdirs
import pytest

from specdoctor.cli.bench_turns import turns_of
from specdoctor.cli.settings import settings_of
from specdoctor.cli.targets import Target, read_targets, resolve
from specdoctor.core.errors import UsageError
from specdoctor.core.model import Risk
from tests.cli.conftest import Command

WHOLE = """\
[targets.eagle-a]
transport = "ssh://ml@eagle-a:2222"
engine = "sglang"
launch = "python3 -m sglang.launch_server --model-path '/models/a b'"
interpreter = "/opt/venv/bin/python"
server_port = 30000
logs = ["/var/log/a.log"]
prompts = "mine.jsonl"
concurrency = 8
models = {target = "/models/k/", draft = "/models/d"}

[targets.eagle-a.bench]
command = "python bench.py --port 30000"
patterns = {tok_s = 'throughput: ([0-9.]+)'}

[targets."other one"]
transport = "local:"
"""


def written(folder: Path, text: str, name: str = "specdoctor.toml") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def faults(path: Path) -> list[str]:
    with pytest.raises(UsageError) as refused:
        read_targets(path)
    return [row.strip().removeprefix(f"{path}:") for row in refused.value.message.split("\n")[1:]]


def test_a_whole_file_is_read(tmp_path: Path) -> None:
    written(tmp_path, '{"prompt": "hello"}\n', "mine.jsonl")
    known = read_targets(written(tmp_path, WHOLE))
    target = known["eagle-a"]
    assert list(known) == ["eagle-a", "other one"]
    assert target.launch == ("python3", "-m", "sglang.launch_server", "--model-path", "/models/a b")
    assert target.config_files == ("/models/k/config.json", "/models/d/config.json")
    assert target.prompts == str(tmp_path / "mine.jsonl")
    assert target.bench is not None
    assert target.bench.command == ("python", "bench.py", "--port", "30000")


def test_every_fault_is_told_with_line_and_key(tmp_path: Path) -> None:
    text = (
        WHOLE.replace("interpreter", "interprter")
        .replace("server_port = 30000", "server_port = 0")
        .replace("draft =", "drft =")
        .replace("([0-9.]+)", "[0-9.]+")
        .replace('transport = "local:"', 'transport = "other"')
    )
    assert faults(written(tmp_path, text)) == [
        '5:1  targets.eagle-a.interprter  unknown key "interprter"; did you mean "interpreter"?',
        "6:1  targets.eagle-a.server_port  must be 1 or more, got 0",
        '10:1  targets.eagle-a.models.drft  unknown key "drft"; did you mean "draft"?',
        "14:1  targets.eagle-a.bench.patterns  pattern tok_s has no group; put the figure in parentheses",
        '17:1  targets.other one.transport  "other" is no way to a host; write ssh://[user@]host[:port] or local:',
    ]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[targets.a]\ntransport = ssh\n", "2:13  (syntax)  invalid value"),
        ('[targets.a\ntransport = "local:"\n', "1:11  (syntax)"),
        ("[targets.a]\n", "1:2  targets.a.transport  is missing"),
        ('[target.a]\ntransport = "local:"\n', '1:2  target  unknown key "target"; did you mean "targets"?'),
    ],
)
def test_a_file_that_is_wrong_as_a_whole(tmp_path: Path, text: str, fault: str) -> None:
    assert faults(written(tmp_path, text))[0].startswith(fault)


def test_the_file_here_stands_before_the_one_of_the_user(folder: Path) -> None:
    own = platformdirs.user_config_path("specdoctor")
    written(own, '[targets.a]\ntransport = "ssh://far"\n')
    assert resolve("a", None).transport == "ssh://far"
    written(folder, '[targets.a]\ntransport = "ssh://near"\n')
    assert resolve("a", None).transport == "ssh://near"


def test_the_only_target_needs_no_name(folder: Path) -> None:
    written(folder, '[targets.a]\ntransport = "ssh://near"\n')
    assert resolve(None, None).name == "a"
    written(folder, WHOLE)
    with pytest.raises(UsageError, match="names 2 targets"):
        resolve(None, None)


def test_an_address_needs_no_file(folder: Path) -> None:
    assert resolve("ssh://me@host:22", None) == Target(transport="ssh://me@host:22")
    assert resolve("local:", None).transport == "local:"


def test_a_mistyped_name_is_answered_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match='did you mean "eagle-a"'):
        resolve("eagle-b", written(tmp_path, WHOLE))


def test_the_command_line_wins_over_the_file(tmp_path: Path) -> None:
    target = read_targets(written(tmp_path, WHOLE))["eagle-a"].model_copy(update={"prompts": None})
    plain = settings_of(target, {})
    assert (plain.port, plain.concurrency, plain.interpreter) == (30000, 8, "/opt/venv/bin/python")
    assert plain.extra_logs == ("/var/log/a.log",)
    assert plain.bench_patterns == {"tok_s": "throughput: ([0-9.]+)"}
    given = {"server_port": 1, "concurrency": 2, "interpreter": "python3", "log": ["/b.log"], "allow": "load"}
    over = settings_of(target, given)
    assert (over.port, over.concurrency, over.interpreter, over.allow) == (1, 2, "python3", Risk.LOAD)
    assert over.extra_logs == ("/var/log/a.log", "/b.log")


def test_a_dry_run_allows_reading_only() -> None:
    settings = settings_of(Target(transport="local:"), {"allow": "restart", "dry_run": True})
    assert settings.allow is Risk.READ
    assert settings.dry_run


def test_paths_of_this_machine_are_kept_whole(folder: Path) -> None:
    written(folder, "one\ntwo\n", "prompts.txt")
    settings = settings_of(Target(transport="local:"), {"prompts": "prompts.txt", "ssh_config": "config"})
    assert settings.prompt_file == str(folder / "prompts.txt")
    assert settings.ssh_config == str(folder / "config")


def test_an_engine_nobody_knows_is_refused() -> None:
    with pytest.raises(UsageError, match='unknown engine "sglng"; did you mean "sglang"'):
        settings_of(Target(transport="local:", engine="sglng"), {})


def test_who_speaks_ssh_is_kept_for_a_resume() -> None:
    named = Target(transport="ssh://far", ssh_transport="openssh")
    assert settings_of(named, {}).ssh_transport == "openssh"
    assert settings_of(named, {"ssh_transport": "paramiko"}).ssh_transport == "paramiko"
    assert settings_of(Target(transport="ssh://far"), {}).ssh_transport == "auto"


def test_commands_for_a_restart_are_read_and_their_faults_told(tmp_path: Path) -> None:
    head = '[targets.a]\ntransport = "local:"\n[targets.a.lifecycle]\n'
    good = head + 'stop = "serve stop"\nstart = ["serve", "start", "{args}"]\n'
    target = read_targets(written(tmp_path, good))["a"]
    assert target.lifecycle is not None
    assert target.lifecycle.start == ("serve", "start", "{args}")
    assert settings_of(target, {}).lifecycle == target.lifecycle
    bad = head + 'stop = "serve {args}"\nstart = "serve start"\nrestart = "x"\n'
    told = faults(written(tmp_path, bad, "bad.toml"))
    assert len(told) == 3, told
    assert any("start" in row and "{args} once" in row for row in told)
    assert any("stop" in row and "takes no {args}" in row for row in told)
    assert any("restart" in row for row in told)


@pytest.mark.parametrize(
    "words", [("check", "request-cap", "a"), ("doctor", "a"), ("status", "a"), ("investigate", "a"), ("tune", "a")]
)
def test_a_wrong_engine_of_a_target_is_refused_before_anybody_logs_in(
    specdoctor: Command, folder: Path, words: tuple[str, ...]
) -> None:
    (folder / "specdoctor.toml").write_text('[targets.a]\ntransport = "ssh://nowhere"\nengine = "sglan"\n')
    result = specdoctor(*words)
    assert result.exit_code == 2
    assert 'unknown engine "sglan"; did you mean "sglang"?' in result.stderr
    assert "logging in" not in result.stderr


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (("check", "layer-wirng", "ssh://nowhere"), '"layer-wiring"'),
        (("tune", "ssh://nowhere", "--prompts", "chatt"), "chat, code"),
        (("investigate", "ssh://nowhere", "--prompts", "chatt"), "chat, code"),
        (("bench", "ssh://nowhere", "--against-launch", "--", "--allow", "restart"), "no flag"),
    ],
)
def test_a_wrong_name_is_refused_before_anybody_logs_in(specdoctor: Command, words: tuple[str, ...], near: str) -> None:
    result = specdoctor(*words)
    assert result.exit_code == 2, result.output
    assert near in result.stderr
    assert "logging in" not in result.stderr


def test_another_launch_may_be_written_with_equals_signs() -> None:
    assert turns_of("--speculative-num-steps=5 --x 1", 3) == turns_of("--speculative-num-steps 5 --x 1", 3)


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        ("--speculative-num-steps 5", {"--speculative-num-steps": ("5",)}),
        ("--speculative-num-steps=5", {"--speculative-num-steps": ("5",)}),
        ("--disable-cuda-graph", {"--disable-cuda-graph": ()}),
        ("--disable-cuda-graph --a=1 --b 2", {"--disable-cuda-graph": (), "--a": ("1",), "--b": ("2",)}),
        ("--a 1 --disable-cuda-graph --b=2", {"--disable-cuda-graph": (), "--a": ("1",), "--b": ("2",)}),
        ("-md /d -ngl -1", {"-md": ("/d",), "-ngl": ("-1",)}),
        ("--cuda-graph-bs 1 2 4 --x", {"--cuda-graph-bs": ("1", "2", "4"), "--x": ()}),
        ("--c '{\"method\": \"a=b\"}' --x 'y z'", {"--c": ('{"method": "a=b"}',), "--x": ("y z",)}),
        ("--c='{\"k\": [-1, 2]}'", {"--c": ('{"k": [-1, 2]}',)}),
        ("--speculative-config.model /m", {"--speculative-config.model": ("/m",)}),
    ],
)
def test_every_flag_of_another_launch_counts(text: str, flags: dict[str, tuple[str, ...]]) -> None:
    assert turns_of(text, 3).set_flags == flags


def test_another_launch_may_be_a_whole_line() -> None:
    line = (
        "python3 -m sglang.launch_server --model-path /m \\\n  --api-key $KEY --speculative-num-steps=5 > x.log 2>&1 &"
    )
    found = turns_of(line, 3)
    assert found.line == (
        *("python3", "-m", "sglang.launch_server", "--model-path", "/m"),
        *("--speculative-num-steps", "5"),
    )
    assert not found.set_flags


@pytest.mark.parametrize("text", ["", "--", "---x 1", "speculative-num-steps 5", "rm --force x", "A=1 vllm serve --x"])
def test_what_is_no_launch_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="against-launch"):
        turns_of(text, 3)


def test_a_run_knows_the_name_of_its_target(folder: Path) -> None:
    (folder / "specdoctor.toml").write_text('[targets.a]\ntransport = "ssh://nowhere"\n')
    assert settings_of(resolve("a", None), {}).named == "a"
    assert settings_of(resolve("ssh://nowhere", None), {}).named == ""
