"""Servers in a Slurm job and in a Kubernetes pod: read through the cluster's tools, and changed by hand."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

from specdoctor.lab.boot import boot
from specdoctor.lab.host import PracticeHost
from tests.lab.host_world import eventually, lives, run_on, small_world, text_on


def cluster_host(folder: Path, **keeper: Any) -> PracticeHost:
    return PracticeHost(small_world(keeper=keeper), state_dir=folder, time_scale=0.1)


def test_a_job_is_read_and_submitted_again_with_other_arguments(tmp_path: Path) -> None:
    with cluster_host(tmp_path / "host", kind="slurm", job_id=77, partition="h100") as host:
        pid = boot(host, wait_s=20).pid
        assert pid is not None
        proc = host.state_dir / "proc" / str(pid)
        cgroup = (proc / "cgroup").read_text()
        assert cgroup == "0::/system.slice/slurmstepd.scope/job_77/step_batch/user/task_0\n"
        assert b"SLURM_JOB_ID=77" in (proc / "environ").read_bytes()
        assert text_on(host, "squeue -h -j 77 -o '%i %P %T'") == "77 h100 RUNNING\n"
        assert "JobState=RUNNING" in text_on(host, "scontrol show job 77")
        assert run_on(host, "squeue -j 5").stderr == b"slurm_load_jobs error: Invalid job id specified\n"
        script = text_on(host, "scontrol write batch_script 77 -")
        (host.home / "new.sh").write_text(script.replace(" --enable-metrics", " --max-running-requests 7"))
        text_on(host, "scancel 77")
        assert not lives(pid)
        assert text_on(host, "sbatch new.sh") == "Submitted batch job 48214\n"
        log = host.home / "slurm-48214.out"
        assert eventually(lambda: log.exists() and "ready to roll" in log.read_text(), within_s=20)
        assert "max_running_requests=7" in log.read_text()


def test_a_pod_is_followed_to_its_owner_and_patched(tmp_path: Path) -> None:
    with cluster_host(tmp_path / "host", kind="kubernetes", namespace="infer", name="serve") as host:
        pid = boot(host, wait_s=20).pid
        assert pid is not None
        assert "kubepods-burstable" in (host.state_dir / "proc" / str(pid) / "cgroup").read_text()
        pod = json.loads(text_on(host, "kubectl -n infer get pods -o json"))["items"][0]
        owner = pod["metadata"]["ownerReferences"][0]
        above = json.loads(text_on(host, f"kubectl -n infer get rs {owner['name']} -o json"))
        assert (owner["kind"], above["metadata"]["ownerReferences"][0]["name"]) == ("ReplicaSet", "serve")
        assert pod["status"]["containerStatuses"][0]["ready"] is True
        name = pod["metadata"]["name"]
        assert text_on(host, f"echo hi | kubectl exec -i -n infer {name} -- cat") == "hi\n"
        assert "ready to roll" in text_on(host, f"kubectl logs -n infer {name} --tail=4000")
        arguments = [*pod["spec"]["containers"][0]["args"], "--max-running-requests", "7"]
        change = {"op": "replace", "path": "/spec/template/spec/containers/0/args", "value": arguments}
        patch = shlex.quote(json.dumps([change]))
        text_on(host, f"kubectl -n infer patch deployment serve --type json -p {patch}")
        assert "successfully rolled out" in text_on(host, "kubectl -n infer rollout status deployment/serve")
        assert not lives(pid)
        after = json.loads(text_on(host, "kubectl -n infer get pods -o json"))["items"]
        assert [each["spec"]["containers"][0]["args"] for each in after] == [arguments]
        assert after[0]["metadata"]["name"] != name
        wrong = run_on(host, "kubectl -n infer get pod nobody")
        assert wrong.stderr == b'Error from server (NotFound): pods "nobody" not found\n'
