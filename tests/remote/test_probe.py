"""The probe against a real process tree: what it finds, what it must not tell, and how it fails."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from specdoctor.core.facts import Facts
from tests.remote.workplace import PYTHONS, Workplace, children, free_port, loaded

KEY = "k3y-Very-Private"
TOKEN = "hf_AbCdEfGhIjKlMnOpQrStUv"


def params(**changes: Any) -> dict[str, Any]:
    return {"ports": [], "files": [], "logs": [], "log_bytes": 100_000, "http": True, "http_timeout_s": 3.0, **changes}


def narrow(place: Workplace, *others: int) -> None:
    """Let the probe see the test's own servers and `others` only, whatever else this machine runs."""
    pids = [pid for server in place.servers for pid in (server.pid, *children(server.pid))]
    place.proc_view(*pids, *others)


def probe(place: Workplace, python: str = PYTHONS[0], **changes: Any) -> Facts:
    narrow(place)
    return Facts.model_validate(place.run("probe", params(**changes), python))


@pytest.mark.parametrize("python", PYTHONS)
def test_sees_a_server_with_its_children_log_and_answers(place: Workplace, python: str) -> None:
    server = place.start("--speculative-algorithm", "EAGLE3", "--enable-metrics")
    child = children(server.pid)[0]
    facts = probe(place, python)

    launcher = next(process for process in facts.processes if process.pid == server.pid)
    assert launcher.argv == tuple(server.argv)
    assert launcher.start_ticks == server.ref["start_ticks"]
    assert launcher.listen_ports == (server.port,)
    assert launcher.cwd == str(place.root)
    assert launcher.stdout == str(server.log)
    assert launcher.started_at == pytest.approx(facts.taken_at, abs=60)
    assert {"PATH", "PYTHONPATH", "HOME"} <= set(launcher.env_names)
    assert launcher.unreadable == ()
    worker = next(process for process in facts.processes if process.pid == child)
    assert worker.argv[0] == "sglang::scheduler"
    assert worker.ppid == server.pid
    assert [log.path for log in facts.logs] == [str(server.log)]
    assert "ready to roll" in facts.logs[0].text
    replies = facts.http[str(server.port)]
    assert replies["/server_info"].status == 200
    assert replies["/v1/loads"].status == 404
    assert "sglang:num_requests_total" in replies["/metrics"].body
    assert "/get_server_info" not in replies
    assert facts.host.boot_id == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert facts.commands["gpus"].error
    assert facts.problems == ()


def test_sends_no_request_that_generates(place: Workplace) -> None:
    server = place.start()
    probe(place)
    log = server.log.read_text()
    assert "POST" not in log
    assert "/health" not in log


def test_other_processes_are_not_described(place: Workplace) -> None:
    place.proc_view(os.getpid(), os.getppid())
    assert probe(place).processes == ()


def test_http_can_be_left_out(place: Workplace) -> None:
    place.start()
    assert probe(place, http=False).http == {}


@pytest.mark.parametrize("flags", [("--api-key", KEY), (f"--api-key={KEY}",)])
def test_secrets_stay_on_the_host(place: Workplace, flags: tuple[str, ...]) -> None:
    server = place.start(
        *flags,
        "--json-model-override-args",
        json.dumps({"hf_token": "inner-Secret-1"}),
        env={
            "HF_TOKEN": TOKEN,
            "SGLANG_API_KEY": "env-Secret-2",
            "MY_DB_PASSWORD": "pass-word-33",
            "HF_HOME": "/hf",
            "HF_ENDPOINT": "https://someone:url-pass-4@hub.example",
        },
    )
    with server.log.open("a") as log:
        log.write(f"launched with {KEY} and pass-word-33; Authorization: Bearer zzzz-9999\n")

    narrow(place)
    done = place.raw("probe", params())

    assert done.returncode == 0
    for secret in (KEY, TOKEN, "inner-Secret-1", "env-Secret-2", "pass-word-33", "url-pass-4", "zzzz-9999"):
        assert secret.encode() not in done.stdout, secret
    facts = Facts.model_validate_json(done.stdout)
    launcher = next(process for process in facts.processes if process.pid == server.pid)
    assert "***" in " ".join(launcher.argv)
    assert launcher.env["HF_TOKEN"] == "***"
    assert launcher.env["HF_HOME"] == "/hf"
    assert "MY_DB_PASSWORD" in launcher.env_names
    reply = facts.http[str(server.port)]["/server_info"]
    assert reply.status == 200, "the key was used"
    assert json.loads(reply.body)["api_key"] == "***"
    assert "api_key='***'" in facts.logs[0].text


def test_what_only_looks_like_a_secret_is_kept(place: Workplace) -> None:
    flags = ("--speculative-num-draft-tokens", "4", "--max-total-tokens=65536", "--tokenizer-path", "/models/t")
    server = place.start(*flags, "--chunked-prefill-size", "2048")
    launcher = next(process for process in probe(place).processes if process.pid == server.pid)
    assert launcher.argv == tuple(server.argv)


def test_a_log_is_cut_in_the_middle(place: Workplace) -> None:
    log = place.root / "old.log"
    lines = [f"line {number} {'x' * 90}\n" for number in range(1000)]
    log.write_text("".join(lines))

    found = probe(place, logs=[str(log)], log_bytes=10_000).logs[0]

    assert found.head.startswith("line 0 ")
    assert found.head.endswith("\n")
    assert found.tail.startswith("line ")
    assert found.tail.endswith(lines[-1])
    assert found.gap_bytes == log.stat().st_size - len(found.head) - len(found.tail)
    assert 9_000 < len(found.head) <= 10_000


def test_missing_and_oversized_files_are_values(place: Workplace) -> None:
    big = place.root / "big.json"
    big.write_bytes(b" " * 500_000)
    files = probe(place, files=["/nowhere/config.json", str(big)], logs=["/nowhere/server.log"])
    assert files.files["/nowhere/config.json"].error == "No such file or directory"
    assert files.files[str(big)].text is None
    assert "500000 bytes" in (files.files[str(big)].error or "")
    assert files.logs[0].error == "No such file or directory"


def test_reads_configs_and_tensors_of_both_models(place: Workplace) -> None:
    for name in ("target", "draft"):
        (place.root / name).mkdir()
        (place.root / name / "config.json").write_text(json.dumps({"model_type": name}))
    header = json.dumps({"__metadata__": {"a": "b"}, "fc.weight": {"dtype": "BF16", "shape": [8, 24]}}).encode()
    (place.root / "draft" / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
    (place.root / "draft" / "trainer").mkdir()
    (place.root / "draft" / "trainer" / "config.json").write_text('{"ids": [2]}')
    (place.root / "draft" / "trainer" / "tokenizer.json").write_text("{}")
    settings = place.root / "server.yaml"
    settings.write_text(f"speculative-draft-model-path: {place.root}/draft\ncontext_length: 4096\n")
    place.start("--model-path", "target", "--config", "server.yaml")

    files = probe(place).files

    assert json.loads(files["target/config.json"].text or "")["model_type"] == "target"
    assert json.loads(files[f"{place.root}/draft/config.json"].text or "")["model_type"] == "draft"
    assert files[f"{place.root}/draft/tensors.txt"].text == "fc.weight BF16 [8, 24]\n"
    assert files[f"{place.root}/draft/values.txt"].text == ""
    assert files[f"{place.root}/draft/trainer/config.json"].text == '{"ids": [2]}'
    assert f"{place.root}/draft/trainer/tokenizer.json" not in files
    assert "context_length" in (files["server.yaml"].text or "")


def test_reads_a_model_of_the_hub_cache(place: Workplace) -> None:
    hub = place.root / "hf" / "hub" / "models--org--name"
    (hub / "snapshots" / "abc").mkdir(parents=True)
    (hub / "refs").mkdir()
    (hub / "refs" / "main").write_text("abc")
    (hub / "snapshots" / "abc" / "config.json").write_text('{"n": 1}')
    place.start("--model-path", "org/name", env={"HF_HOME": str(place.root / "hf")})
    assert probe(place).files["org/name/config.json"].text == '{"n": 1}'


def install(site: Path, name: str, version: str, files: dict[str, str]) -> Path:
    folder = site / f"{name}-{version}.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: {version}\n")
    lines = []
    for path, text in files.items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_text(text)
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
        lines.append(f"{path},sha256={digest},{len(text)}")
    (folder / "RECORD").write_text("\n".join([*lines, f"{folder.name}/RECORD,,"]) + "\n")
    return folder


def git(folder: Path, *words: str) -> str:
    command = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@example.org", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def test_finds_packages_edited_files_and_checkouts(place: Workplace) -> None:
    site = place.root / "site"
    install(site, "sglang", "0.5.17", {"sglang_parts/a.py": "a = 1\n", "sglang_parts/b.py": "b = 1\n"})
    (site / "sglang_parts" / "b.py").write_text("b = 2\n")
    install(site, "sgl_kernel", "0.3.21", {})
    install(site, "requests", "2.0", {})
    checkout = place.root / "flashinfer"
    checkout.mkdir()
    (checkout / "x.py").write_text("x = 1\n")
    git(checkout, "init", "-q")
    git(checkout, "add", "x.py")
    git(checkout, "commit", "-q", "-m", "first")
    (checkout / "x.py").write_text("x = 2\n")
    direct = {"url": f"file://{checkout}", "dir_info": {"editable": True}}
    (install(site, "flashinfer_python", "0.6.3", {}) / "direct_url.json").write_text(json.dumps(direct))
    server = place.start(env={"PYTHONPATH": f"{Path(__file__).parent / 'fakes'}:{site}"})

    packages = {package.name: package for package in probe(place).packages[server.argv[0]]}

    assert packages["sglang"].version == "0.5.17"
    assert packages["sglang"].location == str(site)
    assert packages["sglang"].record_checked == 2
    assert packages["sglang"].record_mismatches == ("sglang_parts/b.py",)
    assert packages["sgl-kernel"].record_checked == 0
    assert "requests" not in packages
    assert packages["flashinfer-python"].editable_url == f"file://{checkout}"
    assert packages["flashinfer-python"].git_commit == git(checkout, "rev-parse", "HEAD")
    assert packages["flashinfer-python"].git_dirty is True


def tool(place: Workplace, name: str, script: str) -> None:
    folder = place.root / "bin"
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)
    place.env["PATH"] = f"{folder}:{os.environ['PATH']}"


def test_gpu_fields_that_a_driver_does_not_know_are_replaced_or_dropped(place: Workplace) -> None:
    server = place.start()
    tool(
        place,
        "nvidia-smi",
        f"""
case "$*" in
*clocks_event_reasons.active*) echo 'Field "clocks_event_reasons.active" is not a valid field to query.'; exit 2 ;;
*power.max_limit*) echo 'Field "power.max_limit" is not a valid field to query.'; exit 2 ;;
*--query-gpu=*) echo "0, NVIDIA H200" ;;
*--query-compute-apps=*) echo "GPU-1, {server.pid}, 812" ;;
*topo*) echo "GPU0 X" ;;
esac""",
    )
    commands = probe(place).commands
    asked = commands["gpus"].argv[1]
    assert commands["gpus"].exit_code == 0
    assert "clocks_throttle_reasons.active" in asked
    assert "power.max_limit" not in asked
    assert commands["gpu_apps"].stdout == f"GPU-1, {server.pid}, 812\n"
    assert commands["gpu_topology"].stdout == "GPU0 X\n"


def test_a_holder_of_gpu_memory_is_described_whatever_it_runs(place: Workplace) -> None:
    tool(place, "nvidia-smi", f'case "$*" in *compute-apps*) echo "GPU-1, {os.getpid()}, 812" ;; esac')
    narrow(place, os.getpid())
    assert os.getpid() in [process.pid for process in probe(place).processes]


def test_the_log_behind_a_tee_is_found(place: Workplace) -> None:
    log = place.root / "tee.log"
    tee = subprocess.Popen(["tee", str(log)], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    try:
        place.start(ready=False, stdout=tee.stdin)
        narrow(place, tee.pid)
        facts = probe(place)
        assert [found.path for found in facts.logs] == [str(log)]
    finally:
        tee.kill()
        tee.communicate()


def test_a_server_that_hangs_up_costs_a_value_not_the_probe(place: Workplace) -> None:
    server = place.start()
    os.kill(server.pid, 19)
    try:
        facts = probe(place, http_timeout_s=0.5)
    finally:
        os.kill(server.pid, 18)
    assert facts.http[str(server.port)]["/metrics"].status is None
    assert "no answer in 0.5 s" in (facts.http[str(server.port)]["/metrics"].error or "")


def test_the_holder_of_an_asked_port_is_described(place: Workplace) -> None:
    port = free_port()
    other = subprocess.Popen(
        ["python3", "-m", "http.server", str(port), "--bind", "127.0.0.1"], stderr=subprocess.DEVNULL
    )
    try:
        narrow(place, other.pid)
        found: list[int] = []
        while other.pid not in found:
            found = [process.pid for process in probe(place, ports=[port]).processes]
        assert other.pid in found
    finally:
        other.kill()
        other.wait()


FIB = """Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 127.0.0.1
        /32 host LOCAL
     |-- 172.17.0.0
        /16 link UNICAST
     |-- 172.17.0.2
        /32 host LOCAL
"""


@pytest.mark.parametrize(
    ("table", "address"), [(FIB, "172.17.0.2"), (FIB.replace("172.17.0.2", "127.0.0.2"), None), ("", None)]
)
def test_the_address_of_a_container_is_read_from_its_routes(table: str, address: str | None) -> None:
    assert loaded("parts.local_http").outer_address(table) == address


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_part_that_breaks_is_a_problem_and_the_rest_is_read() -> None:
    problems: list[str] = []
    found = loaded("probe").in_parallel({"good": lambda: 7, "bad": lambda: {}["x"]}, problems)
    assert found == {"good": 7}
    assert problems == ["bad could not be read: KeyError: 'x'"]


def test_lists_stored_states_below_a_draft(place: Workplace) -> None:
    draft = place.root / "draft"
    (draft / "train").mkdir(parents=True)
    (draft / "config.json").write_text("{}")
    (draft / "model.safetensors").write_bytes(bytes(30))
    place.start("--model-path", "target", "--speculative-draft-model-path", "draft")
    assert "draft/stored.txt" not in probe(place).files
    (draft / "train" / "states.npz").write_bytes(bytes(20))
    listed = probe(place).files["draft/stored.txt"]
    assert (listed.path, listed.text) == (str(draft), "30 model.safetensors\n20 train/states.npz\n")
