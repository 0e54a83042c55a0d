"""What a server runs in, read from its process."""

from __future__ import annotations

from specdoctor.app.surroundings import surroundings_text
from specdoctor.core.facts import CommandFacts, Facts, HostFacts, ProcessFacts
from specdoctor.core.server import Keeper, LaunchTraits, ServerView
from specdoctor.keepers.surroundings import surroundings_of

ID = "4f0c2a" * 10 + "beef"
HOST = HostFacts(cpu_count=8, booted_at=1_000_000.0)


def server(**fields: object) -> ProcessFacts:
    base: dict[str, object] = {"pid": 100, "ppid": 1, "start_ticks": 9, "argv": ("python3", "-m", "sglang")}
    return ProcessFacts.model_validate({**base, **fields})


def test_a_plain_server_has_its_program_and_no_wrapper() -> None:
    process = server(exe="/usr/bin/python3.12", cpus_allowed="0-7", numa_policy="default")
    found = surroundings_of(Facts(host=HOST, processes=(process,)), process, LaunchTraits())
    assert (found.software, found.wrappers, found.container_started_at) == ("/usr/bin/python3.12", (), None)


def test_wrappers_that_became_the_server_are_known_by_what_they_set() -> None:
    srun = ProcessFacts(pid=50, ppid=1, start_ticks=5, argv=("/usr/bin/srun", "-n1"))
    process = server(
        ppid=50,
        cpus_allowed="0-1",
        numa_policy="bind:0",
        env={"CONDA_PREFIX": "/opt/conda/envs/serve", "LOADEDMODULES": "cuda/12.9:gcc/13"},
    )
    found = surroundings_of(Facts(host=HOST, processes=(process, srun)), process, LaunchTraits())
    assert found.software == "conda environment /opt/conda/envs/serve"
    assert found.wrappers == (
        "srun (pid 50)",
        "bound to 2 of 8 CPUs (0-1)",
        "memory policy bind:0",
        "modules cuda/12.9:gcc/13",
    )


def test_a_virtual_environment_is_known_without_its_variable() -> None:
    word = "/home/ml/venv/bin/python3"
    process = server(argv=(word, "-m", "sglang"), exe="/usr/bin/python3.12")
    found = surroundings_of(Facts(processes=(process,), packages={word: ()}), process, LaunchTraits())
    assert found.software == "virtual environment /home/ml/venv"


def test_the_start_of_a_container_is_not_that_of_its_host() -> None:
    process = server(cgroup=f"0::/system.slice/docker-{ID}.scope", container_id=ID, container_started_at=1_086_400.0)
    inspect = CommandFacts(argv=("docker", "inspect", ID), exit_code=0, stdout="/prod no lmsysorg/sglang:v0.5.17\n")
    found = surroundings_of(
        Facts(host=HOST, processes=(process,), commands={"container": inspect}), process, LaunchTraits(nodes=2, rank=1)
    )
    assert found.software == "image lmsysorg/sglang:v0.5.17"
    view = ServerView(
        engine="sglang", state="running", keeper=Keeper(kind="docker", detail="container prod"),
        surroundings=found, started_at=1_090_000.0,
    )  # fmt: skip
    assert surroundings_text(view) == (
        "kept by docker (container prod); image lmsysorg/sglang:v0.5.17; node 1 of 2; "
        "host up since 12 Jan 1970 13:46 UTC; container up since 13 Jan 1970 13:46 UTC; "
        "server up since 13 Jan 1970 14:46 UTC"
    )
