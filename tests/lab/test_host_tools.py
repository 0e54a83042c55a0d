"""The programs and files of the practice host, in the formats of the real ones."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdoctor.core.cpu_list import parse_list
from specdoctor.lab.cpu_shares import format_list, real_cpus, world_cpus
from specdoctor.lab.host import PracticeHost
from specdoctor.lab.lab_state import gpu_holdings, hold_gpu
from tests.lab.host_world import run_on, small_world, text_on

pytestmark = pytest.mark.thorough

QUERY = (
    "index,name,uuid,driver_version,pstate,clocks.sm,clocks.mem,clocks.max.sm,clocks.applications.graphics,power.draw,"
    "power.limit,power.default_limit,power.max_limit,temperature.gpu,utilization.gpu,memory.used,memory.total,"
    "clocks_event_reasons.active,persistence_mode,ecc.mode.current,mig.mode.current,compute_mode,"
    "pcie.link.gen.current,pcie.link.width.current"
)


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PracticeHost]:
    with PracticeHost(small_world(), state_dir=tmp_path_factory.mktemp("tools-host")) as started:
        yield started


class TestNvidiaSmi:
    def test_every_field_of_a_query_has_header_unit_and_value(self, host: PracticeHost) -> None:
        header, first, second = text_on(host, f"nvidia-smi --query-gpu={QUERY} --format=csv").splitlines()
        names = header.split(", ")
        row = dict(zip(names, first.split(", "), strict=True))
        assert len(names) == len(QUERY.split(","))
        assert (row["index"], row["name"], row["memory.total [MiB]"]) == ("0", "NVIDIA H200", "143770 MiB")
        assert (row["power.limit [W]"], row["clocks.max.sm [MHz]"]) == ("700.00 W", "1980 MHz")
        assert row["utilization.gpu [%]"] == "0 %"
        assert second.startswith("1, NVIDIA H200, GPU-")

    def test_header_and_units_can_be_left_out(self, host: PracticeHost) -> None:
        command = "nvidia-smi --query-gpu=index,memory.used,clocks.current.sm --format=csv,noheader,nounits"
        assert text_on(host, command) == "0, 614, 345\n1, 10854, 1980\n"

    def test_names_of_older_drivers_work(self, host: PracticeHost) -> None:
        command = (
            "nvidia-smi -i 0 --query-gpu=clocks_throttle_reasons.active,clocks_throttle_reasons.gpu_idle --format=csv"
        )
        expected = "clocks_throttle_reasons.active, clocks_throttle_reasons.gpu_idle\n0x0000000000000001, Active\n"
        assert text_on(host, command) == expected

    def test_an_unknown_field_is_refused_in_its_words(self, host: PracticeHost) -> None:
        result = run_on(host, "nvidia-smi --query-gpu=index,colour --format=csv")
        assert (result.returncode, result.stdout) == (2, b'Field "colour" is not a valid field to query.\n\n')

    def test_processes_are_those_that_hold_memory(self, host: PracticeHost) -> None:
        hold_gpu(host.state_dir, os.getpid(), title="sglang::scheduler", memory_mib={0: 2048}, busy=0.9)
        columns = "gpu_uuid,pid,used_memory"
        listed = text_on(host, f"nvidia-smi --query-compute-apps={columns} --format=csv,noheader,nounits")
        busy = text_on(host, "nvidia-smi -i 0 --query-gpu=utilization.gpu,memory.used --format=csv,noheader,nounits")
        rows = [tuple(line.split(", ")[1:]) for line in listed.splitlines()]
        assert rows == [(str(os.getpid()), "2048"), ("977", "10240")]
        assert busy == "90, 2662\n"

    def test_the_dead_hold_nothing(self, host: PracticeHost) -> None:
        path = host.state_dir / "gpu" / "424242.json"
        hold_gpu(host.state_dir, os.getpid(), title="x", memory_mib={0: 1})
        record = json.loads((host.state_dir / "gpu" / f"{os.getpid()}.json").read_text())
        path.write_text(json.dumps({**record, "ticks": 1}))
        assert [holding.pid for holding in gpu_holdings(host.state_dir)] == [os.getpid()]

    def test_the_list_and_the_topology(self, host: PracticeHost) -> None:
        assert text_on(host, "nvidia-smi -L").splitlines()[0].startswith("GPU 0: NVIDIA H200 (UUID: GPU-")
        lines = text_on(host, "nvidia-smi topo -m").splitlines()
        assert lines[0] == "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID"
        assert lines[2] == "GPU1\tNV18\t X \t8-15\t1\t\tN/A"

    def test_the_pages_for_people_name_memory_and_processes(self, host: PracticeHost) -> None:
        table = text_on(host, "nvidia-smi")
        assert "10854MiB / 143770MiB" in table
        assert len({len(line) for line in table.splitlines()[1:] if line}) == 1
        assert "Used                                      : 10854 MiB" in text_on(host, "nvidia-smi -q")
        assert " 977 " in text_on(host, "nvidia-smi pmon -c 1")
        assert text_on(host, "nvidia-smi nvlink -s").count("Link 0:") == 2

    def test_other_words_are_refused(self, host: PracticeHost) -> None:
        assert run_on(host, "nvidia-smi --make-coffee").returncode == 1
        assert run_on(host, "nvidia-smi -i 9 -L").returncode == 6


class TestMachine:
    def test_it_counts_the_world_s_processors(self, host: PracticeHost) -> None:
        program = "import os; print(os.cpu_count(), len(os.sched_getaffinity(0)))"
        assert text_on(host, f"nproc; python3 -c '{program}'") == "16\n16 16\n"
        assert "NUMA node1 CPU(s):               8-15" in text_on(host, "lscpu")

    def test_its_files_describe_the_world(self, host: PracticeHost) -> None:
        lines = text_on(
            host,
            "cat $HOST_PROC/sys/kernel/hostname $HOST_SYS/devices/system/node/node1/cpulist "
            "$HOST_SYS/devices/system/cpu/cpu0/cpufreq/scaling_governor "
            "$HOST_SYS/bus/pci/devices/0000:2a:00.0/numa_node; "
            "grep -c ^processor $HOST_PROC/cpuinfo; grep -c ^btime $HOST_PROC/stat; cut -d. -f1 $HOST_PROC/loadavg",
        ).splitlines()
        assert lines == ["gpu-01", "8-15", "performance", "1", "16", "1", "1"]

    def test_numactl_shows_nodes(self, host: PracticeHost) -> None:
        lines = text_on(host, "numactl -H").splitlines()
        assert lines[0] == "available: 2 nodes (0-1)"
        assert "node 1 cpus: 8 9 10 11 12 13 14 15" in lines
        assert "physcpubind: 0 1 2 3" in text_on(host, "numactl --show")

    @pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one CPU cannot be divided")
    def test_numactl_binds_what_it_runs(self, host: PracticeHost) -> None:
        program = "import os; print(min(os.sched_getaffinity(0)), max(os.sched_getaffinity(0)))"
        bound = text_on(host, f"numactl --cpunodebind=1 --membind=1 python3 -c '{program}'")
        assert bound == "8 15\n"
        assert text_on(host, f"taskset -c 0-7 python3 -c '{program}'") == "0 7\n"

    def test_numactl_refuses_a_node_that_is_not_there(self, host: PracticeHost) -> None:
        result = run_on(host, "numactl -N 5 true")
        assert result.returncode == 1
        assert b"<5> is invalid" in result.stderr

    def test_a_python_is_seen_under_host_proc_as_soon_as_it_is_there(self, host: PracticeHost) -> None:
        program = (
            "import os; proc = os.environ['HOST_PROC']; own = os.path.exists(f'{proc}/{os.getpid()}/stat'); "
            "pid = os.fork(); pid or os._exit(0); seen = os.path.lexists(f'{proc}/{pid}'); os.waitpid(pid, 0); "
            "print(own, seen)"
        )
        assert text_on(host, f'python3 -I -S -B -c "{program}"') == "True True\n"

    def test_dmesg_is_the_world_s(self, host: PracticeHost) -> None:
        assert text_on(host, "dmesg") == "[    0.0] Linux version 6.8.0\n"


class TestPython:
    def test_pip_lists_and_shows(self, host: PracticeHost) -> None:
        listed = {item["name"]: item["version"] for item in json.loads(text_on(host, "pip list --format=json"))}
        assert listed == {"sglang": "0.5.17", "sglang-kernel": "0.4.5", "torch": "2.11.0", "triton": "3.6.0"}
        assert text_on(host, "pip list").splitlines()[:3] == [
            "Package       Version",
            "------------- -------",
            "sglang        0.5.17",
        ]
        assert "Version: 0.4.5" in text_on(host, "pip show sglang_kernel")
        assert text_on(host, "pip --version").startswith("pip ")

    def test_pip_says_what_it_does_not_find(self, host: PracticeHost) -> None:
        result = run_on(host, "pip show nothing")
        assert (result.returncode, result.stderr) == (1, b"WARNING: Package(s) not found: nothing\n")

    def test_the_interpreter_finds_the_same_versions_and_nothing_else(self, host: PracticeHost) -> None:
        program = "import importlib.metadata as m; print(sorted((d.name, d.version) for d in m.distributions()))"
        found = text_on(host, f'python3 -c "{program}"')
        expected = [("sglang", "0.5.17"), ("sglang-kernel", "0.4.5"), ("torch", "2.11.0"), ("triton", "3.6.0")]
        assert found == f"{expected}\n"

    def test_the_interpreter_is_called_by_its_plain_name(self, host: PracticeHost) -> None:
        program = "print(open('/proc/self/cmdline').read().split(chr(0))[0])"
        assert text_on(host, f'python3 -c "{program}"; python -c "{program}"') == "python3\npython\n"

    def test_it_works_with_an_emptied_environment(self, host: PracticeHost) -> None:
        path = f"{host.state_dir}/bin:/usr/bin:/bin"
        assert text_on(host, f'env -i PATH={path} python3 -c "import sglang; print(sglang.__version__)"') == "0.5.17\n"
        assert "NVIDIA H200" in text_on(host, f"env -i PATH={path} nvidia-smi -L")

    def test_records_hold_the_right_hashes(self, host: PracticeHost) -> None:
        site = host.state_dir / "site-packages"
        rows = (site / "sglang-0.5.17.dist-info" / "RECORD").read_text().splitlines()
        checked = 0
        for row in rows:
            path, digest, size = row.split(",")
            if digest:
                data = (site / path).read_bytes()
                text = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
                assert (digest, size) == (f"sha256={text}", str(len(data)))
                checked += 1
        assert checked == len(rows) - 1 > 3

    def test_sglang_says_its_version(self, host: PracticeHost) -> None:
        assert text_on(host, "sglang version") == "sglang version: 0.5.17\n"
        assert run_on(host, "sglang dance").returncode == 2


class TestCpuShares:
    def test_halves_of_a_big_world_stand_on_halves_of_a_small_machine(self) -> None:
        assert real_cpus(range(56, 112), world_count=112, available=range(2)) == {1}
        assert world_cpus({1}, world_count=112, available=range(2)) == set(range(56, 112))

    def test_a_big_machine_gives_each_world_cpu_several(self) -> None:
        assert real_cpus({1}, world_count=2, available=range(8)) == {4, 5, 6, 7}

    @given(st.sets(st.integers(0, 300), min_size=1))
    def test_lists_survive_writing_and_reading(self, cpus: set[int]) -> None:
        assert parse_list(format_list(cpus)) == cpus

    @given(st.integers(1, 64), st.integers(1, 64))
    def test_all_stand_for_all(self, world_count: int, machine: int) -> None:
        real = real_cpus(range(world_count), world_count=world_count, available=range(machine))
        assert world_cpus(real, world_count=world_count, available=range(machine)) == set(range(world_count))


def test_the_answer_is_not_on_the_machine(host: PracticeHost) -> None:
    facts = json.loads(Path(host.state_dir / "world.json").read_text())
    assert not {"truth", "ask", "title"} & facts.keys()
