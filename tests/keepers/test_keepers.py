"""Who keeps a server, and so whether it may be restarted."""

from __future__ import annotations

import pytest

from specdoctor.core.facts import CommandFacts, Facts, KeptFacts, ProcessFacts, ScriptLoop
from specdoctor.core.server import Keeper
from specdoctor.engines.sglang_traits import traits_of
from specdoctor.keepers import table

ID = "4f0c2a" * 10 + "beef"
LAUNCH = ("python3", "-m", "sglang.launch_server", "--model-path", "/m")
SESSION = "0::/user.slice/user-1000.slice/session-3.scope"
INIT = ProcessFacts(pid=1, ppid=0, start_ticks=1, comm="systemd", argv=("/sbin/init",), cgroup="0::/init.scope")


def server(**fields: object) -> ProcessFacts:
    base: dict[str, object] = {"pid": 100, "ppid": 1, "start_ticks": 9, "argv": LAUNCH, "cgroup": SESSION}
    return ProcessFacts.model_validate({**base, **fields})


def facts(process: ProcessFacts, *others: ProcessFacts, **fields: object) -> Facts:
    first = () if any(p.pid == 1 for p in (process, *others)) else (INIT,)
    return Facts.model_validate({"processes": (*first, process, *others), **fields})


def keeper_of(facts: Facts, process: ProcessFacts, asked: dict[str, str], *, port: int) -> Keeper:
    return table.keeper_of(facts, process, traits_of(asked), port=port)


@pytest.mark.parametrize(
    "cgroup",
    [
        SESSION,
        "0::/user.slice/user-1000.slice/user@1000.service/app.slice/run-r1.scope",
        "0::/system.slice/ssh.service",
        "0::/system.slice/sshd@12-10.0.0.1:22-10.0.0.2:5.service",
        "0::/system.slice/cron.service",
        "",
    ],
)
def test_a_server_started_by_hand_may_be_restarted(cgroup: str) -> None:
    process = server(cgroup=cgroup)
    keeper = keeper_of(facts(process), process, {}, port=30000)
    assert (keeper.kind, keeper.restartable, keeper.reason) == ("plain", True, "")


@pytest.mark.parametrize(
    ("fields", "asked", "kind", "says"),
    [
        ({"cgroup": f"0::/system.slice/docker-{ID}.scope", "container_id": ID}, {}, "docker", "docker stop -t 60"),
        ({"cgroup": f"12:pids:/docker/{ID}", "container_id": ID}, {}, "docker", "docker stop"),
        ({"cgroup": f"0::/machine.slice/libpod-{ID}.scope", "container_id": ID}, {}, "podman", "podman stop"),
        (
            {"cgroup": f"0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-{ID}.scope", "container_id": ID},
            {}, "kubernetes", "kubectl",
        ),
        ({"cgroup": "0::/system.slice/sglang-prod.service"}, {}, "systemd", "systemctl restart sglang-prod.service"),
        (
            {"cgroup": "0::/user.slice/user-1.slice/user@1.service/app.slice/serve.service"},
            {}, "systemd", "systemctl --user restart serve.service",
        ),
        ({"cgroup": "0::/system.slice/slurmstepd.scope/job_77/step_0"}, {}, "slurm", "scancel 77"),
        ({"env": {"SLURM_JOB_ID": "88"}, "env_names": ("SLURM_JOB_ID",)}, {}, "slurm", "scancel 88"),
        ({}, {"nnodes": "2"}, "multi-node", "every node"),
        ({}, {"disaggregation_mode": "prefill"}, "disaggregation", "router"),
        ({}, {"use_ray": "True"}, "ray", "ray stop"),
    ],
)  # fmt: skip
def test_what_somebody_keeps_is_not_restarted(
    fields: dict[str, object], asked: dict[str, str], kind: str, says: str
) -> None:
    process = server(**fields)
    keeper = keeper_of(facts(process), process, asked, port=30000)
    assert (keeper.kind, keeper.restartable) == (kind, False)
    assert keeper.reason
    assert says in keeper.by_hand


@pytest.mark.parametrize(
    ("parent", "says"),
    [
        (("/usr/bin/python3", "/usr/bin/supervisord", "-n"), "supervisord"),
        (("runsv", "sglang"), "runsv"),
        (("bash", "-c", "while true; do python3 -m sglang.launch_server; done"), "a shell loop"),
        (("python3", "-m", "sglang_router.launch_server", "--dp-size", "2"), "a worker of a router"),
    ],
)
def test_a_parent_that_would_start_it_again_keeps_it(parent: tuple[str, ...], says: str) -> None:
    process = server(ppid=50)
    above = ProcessFacts(pid=50, ppid=1, start_ticks=5, argv=parent, comm=parent[0].rsplit("/", 1)[-1])
    keeper = keeper_of(facts(process, above), process, {}, port=30000)
    assert not keeper.restartable
    assert says in keeper.reason


def test_a_script_whose_loop_starts_it_keeps_it_where_that_is_proved() -> None:
    process = server(ppid=50)
    proved = ScriptLoop(path="keep.sh", line=3, proved=True)
    above = ProcessFacts(pid=50, ppid=1, start_ticks=5, argv=("bash", "keep.sh"), comm="bash", script_loop=proved)
    keeper = keeper_of(facts(process, above), process, {}, port=30000)
    assert (keeper.kind, keeper.restartable) == ("loop", False)
    assert "line 3 of keep.sh, process 50" in keeper.reason
    assert keeper.by_hand.startswith("kill 50, then")
    for how, says in (("bounded", "up to as often as the loop runs"), ("itself", "runs itself again")):
        other = above.model_copy(update={"script_loop": proved.model_copy(update={"how": how})})
        keeper = keeper_of(facts(process, other), process, {}, port=30000)
        assert (keeper.kind, keeper.restartable) == ("loop", False)
        assert says in keeper.reason
    may = above.model_copy(update={"script_loop": proved.model_copy(update={"proved": False, "how": "maybe"})})
    keeper = keeper_of(facts(process, may), process, {}, port=30000)
    assert (keeper.kind, keeper.restartable) == ("plain", True)
    assert keeper.remarks == (
        "line 3 of keep.sh (process 50) starts it in a loop: allow this only if that does not start it again",
    )


UNREAD = ScriptLoop(path="keep.pl", line=0, proved=False, how="unread", why="specdoctor does not read programs of perl")


@pytest.mark.parametrize("in_tmux", [False, True])
def test_a_program_that_is_not_read_forbids_a_restart(in_tmux: bool) -> None:
    process = server(ppid=50)
    shell = ProcessFacts(pid=50, ppid=51, start_ticks=6, argv=("bash", "serve.sh"), comm="bash")
    above = ProcessFacts(
        pid=51, ppid=40 if in_tmux else 1, start_ticks=5, argv=("perl", "keep.pl"), comm="perl", script_loop=UNREAD
    )
    tmux = ProcessFacts(pid=40, ppid=1, start_ticks=4, argv=("tmux", "new"), comm="tmux: server")
    keeper = keeper_of(facts(process, shell, above, tmux), process, {}, port=30000)
    assert (keeper.kind, keeper.restartable) == ("loop", False)
    assert keeper.reason == (
        "it is not known what process 51 (perl keep.pl) does when the server ends: "
        "specdoctor does not read programs of perl"
    )
    assert keeper.by_hand.startswith("kill 51 first, then start the server by hand without it")


def test_a_program_that_is_not_read_leaves_a_unit_to_systemd() -> None:
    cgroup = "0::/system.slice/watch.service"
    above = ProcessFacts(
        pid=50, ppid=1, start_ticks=5, argv=("perl", "k.pl"), comm="perl", script_loop=UNREAD, cgroup=cgroup
    )
    process = server(ppid=50, cgroup=cgroup)
    keeper = keeper_of(facts(process, above), process, {}, port=30000)
    assert (keeper.kind, keeper.restartable) == ("systemd", False)


def test_a_router_that_names_the_port_keeps_its_worker_and_another_does_not() -> None:
    process = server()
    router = ProcessFacts(
        pid=7, ppid=1, start_ticks=5,
        argv=("python3", "-m", "sglang_router.launch_router", "--worker-urls", "http://127.0.0.1:30000"),
    )  # fmt: skip
    assert not keeper_of(facts(process, router), process, {}, port=30000).restartable
    assert keeper_of(facts(process, router), process, {}, port=3000).restartable


def test_a_shell_that_waits_is_no_keeper() -> None:
    process = server(ppid=50)
    shell = ProcessFacts(pid=50, ppid=1, start_ticks=5, argv=("bash", "run.sh"), comm="bash")
    keeper = keeper_of(facts(process, shell), process, {}, port=30000)
    assert keeper.restartable
    assert "bash (pid 50)" in keeper.detail


def test_the_container_tool_gives_name_and_restart_policy() -> None:
    process = server(cgroup=f"0::/docker/{ID}", container_id=ID)
    command = CommandFacts(
        argv=("docker", "inspect", "--format", "{{.Name}}", ID),
        exit_code=0,
        stdout="/sglang-prod always lmsysorg/sglang:v1\n",
    )
    keeper = keeper_of(facts(process, commands={"container": command}), process, {}, port=30000)
    assert keeper.detail == "container sglang-prod, restart policy always"
    assert keeper.by_hand.startswith("docker stop -t 60 sglang-prod && docker run")


@pytest.mark.parametrize(
    ("first", "process", "restartable"),
    [
        (("sleep", "infinity"), {"ppid": 1, "started_at": 900.0}, True),
        (("sshd", "-D"), {"ppid": 1, "started_at": 11.0}, True),
        (("tini", "--", "python3", "-m", "sglang.launch_server"), {"ppid": 1, "started_at": 11.0}, False),
        (("bash", "/entrypoint.sh"), {"ppid": 1, "started_at": 11.0}, False),
        (("bash", "/entrypoint.sh"), {"ppid": 1, "started_at": 4000.0}, True),
    ],
)
def test_inside_a_container_only_its_main_process_is_kept(
    first: tuple[str, ...], process: dict[str, object], restartable: bool
) -> None:
    cgroup = f"0::/docker/{ID}"
    init = ProcessFacts(pid=1, ppid=0, start_ticks=1, argv=first, cgroup=cgroup, started_at=10.0)
    found = server(cgroup=cgroup, **process)
    assert keeper_of(facts(found, init), found, {}, port=30000).restartable is restartable


def test_a_server_that_is_itself_the_first_process_is_kept() -> None:
    process = server(pid=1, ppid=0, cgroup="0::/")
    keeper = keeper_of(facts(process), process, {}, port=30000)
    assert (keeper.kind, keeper.restartable) == ("docker", False)


@pytest.mark.parametrize(
    ("argv", "comm", "kind"),
    [
        (("tmux", "new", "-d"), "tmux: server", "tmux"),
        (("SCREEN", "-S", "serve"), "screen", "screen"),
    ],
)
def test_a_terminal_that_outlives_its_user_is_no_obstacle_while_its_shell_waits(
    argv: tuple[str, ...], comm: str, kind: str
) -> None:
    terminal = ProcessFacts(pid=40, ppid=1, start_ticks=4, argv=argv, comm=comm)
    shell = ProcessFacts(pid=50, ppid=40, start_ticks=5, argv=("-bash",), comm="bash")
    process = server(ppid=50)
    keeper = keeper_of(facts(process, terminal, shell), process, {}, port=30000)
    assert (keeper.kind, keeper.restartable) == (kind, True)
    assert "pid 40" in keeper.detail
    assert "bash (pid 50)" in keeper.detail
    alone = server(ppid=40)
    assert not keeper_of(facts(alone, terminal), alone, {}, port=30000).restartable


UNIT = "sglang-prod.service"
OF_USER = f"0::/user.slice/user-1.slice/user@1.service/app.slice/{UNIT}"


@pytest.mark.parametrize(
    ("comm", "argv", "told"),
    [
        ("python3", ("python3", "/opt/watch.py"), "process 50 (python3 /opt/watch.py) started it and is still there"),
        ("bash", ("bash",), ""),
        ("tmux: server", ("tmux",), ""),
    ],
)
def test_a_program_that_started_a_server_and_is_still_there_is_told(
    comm: str, argv: tuple[str, ...], told: str
) -> None:
    parent = ProcessFacts(pid=50, ppid=1, start_ticks=2, comm=comm, argv=argv, cgroup=SESSION)
    process = server(ppid=50)
    keeper = keeper_of(facts(process, parent), process, {}, port=30000)
    assert " ".join(keeper.remarks)[: len(told) or 1] == told


def test_a_unit_whose_main_process_is_another_is_not_to_be_edited_into_a_server() -> None:
    cgroup = "0::/system.slice/watch.service"
    watch = ProcessFacts(pid=50, ppid=1, start_ticks=2, comm="keepalive", argv=("python3", "/opt/k.py"), cgroup=cgroup)
    process = server(cgroup=cgroup, ppid=50)
    keeper = keeper_of(facts(process, watch), process, {}, port=30000)
    assert keeper.by_hand.startswith("change the arguments where keepalive of watch.service takes them from")
    assert "systemctl" not in keeper.by_hand


@pytest.mark.parametrize(("cgroup", "scope"), [(f"0::/system.slice/{UNIT}", "system"), (OF_USER, "user")])
def test_a_unit_without_obstacles_is_restarted_through_systemd(cgroup: str, scope: str) -> None:
    process = server(cgroup=cgroup)
    kept = KeptFacts(pid=100, kind="systemd", name=UNIT, scope=scope, remarks=("ExecStartPre runs at each restart: x",))
    keeper = keeper_of(facts(process, kept=(kept,)), process, {}, port=30000)
    assert keeper.restartable
    assert (keeper.through.kind, keeper.through.name, keeper.through.scope) == ("systemd", UNIT, scope)
    assert keeper.remarks == kept.remarks


def test_an_obstacle_of_the_unit_is_the_reason() -> None:
    process = server(cgroup=f"0::/system.slice/{UNIT}")
    kept = KeptFacts(pid=100, kind="systemd", name=UNIT, obstacles=("the unit is of Type=forking",))
    keeper = keeper_of(facts(process, kept=(kept,)), process, {}, port=30000)
    assert not keeper.restartable
    assert keeper.reason == f"systemd keeps it ({UNIT}), and the unit is of Type=forking"
    other = kept.model_copy(update={"pid": 7, "obstacles": ()})
    assert not keeper_of(facts(process, kept=(other,)), process, {}, port=30000).restartable


@pytest.mark.parametrize("tool", ["docker", "podman"])
def test_a_container_without_obstacles_is_restarted_through_its_tool(tool: str) -> None:
    cgroup = f"0::/machine.slice/libpod-{ID}.scope" if tool == "podman" else f"0::/docker/{ID}"
    process = server(cgroup=cgroup, container_id=ID)
    kept = KeptFacts(pid=100, kind=tool, name=ID, remarks=("compose made it",))
    keeper = keeper_of(facts(process, kept=(kept,)), process, {}, port=30000)
    assert (keeper.kind, keeper.restartable, keeper.through.kind, keeper.through.name) == (tool, True, tool, ID)
    gone = kept.model_copy(update={"obstacles": ("the container was started with --rm",)})
    keeper = keeper_of(facts(process, kept=(gone,)), process, {}, port=30000)
    assert not keeper.restartable
    assert "--rm" in keeper.reason


def test_a_forbidding_keeper_counts_before_an_allowing_one() -> None:
    process = server(cgroup=f"0::/system.slice/docker-{ID}.scope", container_id=ID)
    assert keeper_of(facts(process), process, {"nnodes": "2", "node_rank": "1"}, port=30000).kind == "multi-node"


def test_pm2_is_known_by_the_title_that_it_gives_itself() -> None:
    god = ProcessFacts(
        pid=50, ppid=1, start_ticks=5, argv=("PM2 v5.3.0: God Daemon (/home/ml/.pm2)",), comm="PM2 v5.3.0: God"
    )
    process = server(ppid=50)
    assert keeper_of(facts(process, god), process, {}, port=30000).kind == "supervisor"


def test_every_kind_has_one_row_with_all_its_sentences() -> None:
    kinds = [row.kind for row in table.ROWS]
    assert len(kinds) == len(set(kinds))
    for row in table.ROWS:
        for sentence in (row.title, row.recognised_by, row.restart, row.way_back, row.refused_when, row.by_hand):
            assert sentence.strip(), row.kind


def test_a_server_reached_through_a_container_is_left_alone_whatever_else_it_is() -> None:
    process = server()
    keeper = keeper_of(facts(process, via="docker:prod"), process, {}, port=30000)
    assert (keeper.kind, keeper.restartable, keeper.by_hand) == ("via", False, "docker inspect prod")
