"""Small read-only commands run on the host: bounded in time and output; a missing tool is a value."""

import os
import re
import subprocess
from typing import Any, Dict, List, Optional, Sequence, Tuple

GPU_FIELDS = (
    "index,name,uuid,driver_version,pstate,clocks.sm,clocks.mem,clocks.max.sm,clocks.applications.graphics,power.draw,"
    "power.limit,power.default_limit,power.max_limit,temperature.gpu,utilization.gpu,memory.used,memory.total,"
    "clocks_event_reasons.active,persistence_mode,ecc.mode.current,mig.mode.current,compute_mode,"
    "pcie.link.gen.current,pcie.link.width.current,pci.bus_id"
).split(",")
OLDER_FIELDS = {"clocks_event_reasons.active": "clocks_throttle_reasons.active"}
APP_FIELDS = "gpu_uuid,pid,used_memory"
CSV = "--format=csv,noheader,nounits"
KILLED_S = 2.0
COMMAND_OUTPUT_LIMIT = 1 << 20


def run_command(
    argv: Sequence[str],
    timeout_s: float = 10.0,
    env: Optional[Dict[str, str]] = None,
    limit: int = COMMAND_OUTPUT_LIMIT,
) -> Dict[str, Any]:
    """{"argv", "exit_code", "stdout", "error"}: standard error goes into `error` when the command failed."""
    found: Dict[str, Any] = {"argv": list(argv), "exit_code": None, "stdout": "", "error": None}
    surroundings = dict(os.environ if env is None else env, LC_ALL="C")
    try:
        process = subprocess.Popen(
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=surroundings,
            start_new_session=True,
        )
    except OSError as failure:
        found["error"] = "%s: %s" % (argv[0], failure.strerror or failure)
        return found
    try:
        stdout, stderr = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        process.kill()
        stdout, stderr = _last_output(process)
        found["error"] = "no end after %g s" % timeout_s
    found["stdout"] = stdout[-limit:].decode("utf-8", "replace")
    if process.returncode and not found["error"]:
        found["error"] = stderr[-4096:].decode("utf-8", "replace").strip() or "exit %d" % process.returncode
    found["exit_code"] = process.returncode
    return found


def _last_output(process: "subprocess.Popen[bytes]") -> Tuple[bytes, bytes]:
    """What a killed command has written; one that cannot be killed, or whose children hold its output, is let go."""
    try:
        return process.communicate(timeout=KILLED_S)
    except subprocess.TimeoutExpired as late:
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()
        return late.output or b"", late.stderr or b""


def query_gpus(timeout_s: float = 10.0) -> Dict[str, Any]:
    """nvidia-smi's table of GPUs, without the fields that this driver does not know; `argv` tells the columns."""
    fields = list(GPU_FIELDS)
    reply: Dict[str, Any] = {}
    for _ in range(len(GPU_FIELDS)):
        reply = run_command(["nvidia-smi", "--query-gpu=" + ",".join(fields), CSV], timeout_s)
        unknown = re.search(r'Field "([^"]+)" is not a valid field', str(reply["stdout"]) + str(reply["error"] or ""))
        if not reply["exit_code"] or not unknown or unknown.group(1) not in fields:
            break
        older = OLDER_FIELDS.get(unknown.group(1))
        place = fields.index(unknown.group(1))
        fields[place : place + 1] = [older] if older else []
    return reply


def query_gpu_apps(timeout_s: float = 10.0) -> Dict[str, Any]:
    return run_command(["nvidia-smi", "--query-compute-apps=" + APP_FIELDS, CSV], timeout_s)


def gpu_holders(reply: Dict[str, Any]) -> Dict[int, int]:
    """MiB of GPU memory by pid, from the answer of `query_gpu_apps`."""
    held: Dict[int, int] = {}
    for line in str(reply["stdout"]).splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) == 3 and cells[1].isdigit():
            held[int(cells[1])] = held.get(int(cells[1]), 0) + (int(cells[2]) if cells[2].isdigit() else 0)
    return held


def gpu_memory_used(timeout_s: float = 10.0) -> List[int]:
    """MiB in use on each GPU, in index order; empty without nvidia-smi."""
    reply = run_command(["nvidia-smi", "--query-gpu=memory.used", CSV], timeout_s)
    cells = [line.strip() for line in str(reply["stdout"]).splitlines()] if not reply["exit_code"] else []
    return [int(cell) for cell in cells if cell.isdigit()]
