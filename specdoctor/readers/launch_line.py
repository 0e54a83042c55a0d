"""How a server was started: a command, a script, a unit, a pod's or a container's description."""

from __future__ import annotations

import re
from typing import NamedTuple

from specdoctor.core.launch_text import commands_in
from specdoctor.core.material import Material, Notes
from specdoctor.core.reader import Reading

_STARTS = re.compile(
    r"sglang\.launch_server|\bsglang serve\b|--speculative-|\bvllm serve\b|vllm\.entrypoints|--speculative_config|"
    r"\bllama-(?:server|cli|speculative\w*)\b|--spec-type|--spec-draft|(?:^|[\s/])(?:speculative|server)\s+-m\s|--model-draft|"
    r"trtllm-(?:serve|bench)|bench_eagle3\.py|spec_decode\.py|(?:lmsysorg/sglang|vllm/vllm-openai|ghcr\.io/\S*llama\.cpp)\S*",
    re.MULTILINE,
)
_BENCH = re.compile(r"bench_serving|vllm bench|bench_sglang\w*\.py|genai-perf|guidellm|llama-bench|bench_one_batch")
_MOST_CHARS = 200_000
_PROGRAMS = frozenset(
    {"vllm", "sglang", "llama-server", "llama-cli", "llama-speculative", "speculative", "trtllm-serve"}
)
_SHELL = re.compile(
    r"^[ \t]*(?:#!|export |python3? |vllm |\./|docker |podman |srun |for |if |trtllm|llama-|sudo |exec )|ExecStart=|"
    r"^[ \t]*(?:command|args|image|entrypoint):|\\[ \t\r]*$|^#SBATCH",
    re.MULTILINE,
)


class _Reader(NamedTuple):
    name: str = "launch_line"
    summary: str = "how a server was started: shell, docker, compose, Kubernetes, systemd, Slurm"
    rank: int = 21

    def read(self, text: str, *, where: str) -> Reading | None:
        if len(text) > _MOST_CHARS or text.lstrip()[:1] in ("{", "["):
            return None
        starts = bool(_STARTS.search(text))
        if not _SHELL.search(text) and not (starts and _is_command(text)):
            return None
        if starts:
            return Reading(kind="launch line", pieces=Material(notes=(_comments(text, where),)))
        return Reading(kind="script") if _BENCH.search(text) or text.lstrip().startswith("#!") else None


def _is_command(text: str) -> bool:
    """Whether a command of the text is a server's own, and not a sentence that names one."""
    for command in commands_in(text):
        program = command.words[0].rpartition("/")[2]
        if command.carrier != "shell" or program in _PROGRAMS or re.fullmatch(r"python[\d.]*", program):
            return True
    return False


def _comments(text: str, where: str) -> Notes:
    """What a person wrote beside the commands; the commands are empty lines of it."""
    kept = tuple(
        line.strip() if line.lstrip().startswith("#") and not line.startswith("#!") else "" for line in text.split("\n")
    )
    return Notes(where=where, lines=kept)


reader = _Reader()
