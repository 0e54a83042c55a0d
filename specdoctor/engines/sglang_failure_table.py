"""Known failures of SGLang as data: how the telling line reads, what it means, and what to do."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Explanation:
    """One failure. `frame` must be met in its traceback too; `alone`: the line tells it without a traceback.

    `meaning` is one sentence without a full stop, with the pattern's groups in braces. `cause` is an id of the fault
    taxonomy, None for plain mistakes of a start.
    """

    id: str
    pattern: re.Pattern[str]
    meaning: str
    cause: str | None
    next_step: str
    frame: re.Pattern[str] | None = None
    alone: bool = True


def _row(
    name: str,
    pattern: str,
    meaning: str,
    cause: str | None,
    next_step: str,
    *,
    frame: str | None = None,
    alone: bool = True,
) -> Explanation:
    return Explanation(
        id=name,
        pattern=re.compile(pattern),
        meaning=meaning,
        cause=cause,
        next_step=next_step,
        frame=re.compile(frame) if frame else None,
        alone=alone,
    )


_SPEC_FRAME = (
    r"speculative_hook\.py|_handle_speculative_decoding|_handle_eagle_family|speculative_(?:eagle_topk|num_steps)"
)
_MISSING = (
    r"Repo id must be in the form .*: '(?P<path>[^']+)'"
    r"|is not a local folder and is not a valid model identifier|does not appear to have a file named"
    r"|RepositoryNotFoundError|Repository Not Found"
)
_TRIPLE = "give all three of --speculative-num-steps, --speculative-eagle-topk, --speculative-num-draft-tokens, or none"

FAILURES: tuple[Explanation, ...] = (
    _row(
        "draft-missing",
        _MISSING,
        "the draft model {path} cannot be found: a path that does not exist is taken for a hub name",
        None,
        "check the path in --speculative-draft-model-path on the server's host",
        frame=r"_resolve_speculative_algorithm_alias|speculative_hook\.py|draft_worker|eagle_worker",
        alone=False,
    ),
    _row(
        "model-missing",
        _MISSING,
        "the model path {path} cannot be found: a path that does not exist is taken for a hub name",
        None,
        "check --model-path, --tokenizer-path and --speculative-draft-model-path on the server's host",
        alone=False,
    ),
    _row(
        "steps-without-topk",
        r"TypeError: '>' not supported between instances of 'NoneType' and 'int'",
        "--speculative-num-steps was given without --speculative-eagle-topk: steps, topk and draft tokens go together",
        "CFG-3",
        _TRIPLE,
        frame=_SPEC_FRAME,
    ),
    _row(
        "topk-without-steps",
        r"^AssertionError:?\s*$",
        "topk or draft tokens were given without --speculative-num-steps: steps, topk and draft tokens go together",
        "CFG-3",
        _TRIPLE,
        frame=_SPEC_FRAME,
    ),
    _row(
        "no-draft",
        r"object has no attribute 'hot_token_id'",
        "no draft model was given, so the target was loaded a second time as its own draft",
        "CFG-2",
        "add --speculative-draft-model-path, or an algorithm that needs no draft",
    ),
    _row(
        "standalone-vocabulary",
        r"share the same vocabulary.*?target vocab_size=(?P<target>\d+) and draft vocab_size=(?P<draft>\d+)",
        "the draft model has another vocabulary ({draft} tokens) than the target ({target})",
        "MIS-1",
        "use a draft model of the target's family, with the same tokenizer",
    ),
    _row(
        "sampling-vocabulary",
        r"one vocab, but the draft vocab \((?P<draft>\d+)\) != target vocab \((?P<target>\d+)\)",
        "rejection sampling needs one vocabulary, and the draft has {draft} tokens where the target has {target}",
        "MIS-1",
        "remove --speculative-use-rejection-sampling, or use a draft with the full vocabulary",
    ),
    _row(
        "head-as-standalone",
        r"'NoneType' object has no attribute 'shape'",
        "an EAGLE-3 head was given to the STANDALONE algorithm, which hands it no hidden states",
        "CFG-2",
        "use --speculative-algorithm EAGLE3 for this draft",
        frame=r"llama_eagle3\.py",
    ),
    _row(
        "no-hidden-state-hook",
        r"(?:does not implement|object has no attribute) '?set_eagle3_layers_to_capture",
        "this version cannot hand out the target's hidden states to an EAGLE-3 head for this target class",
        "COMPAT-2",
        "use a version that supports EAGLE-3 for this target, or another algorithm",
    ),
    _row(
        "no-draft-dflash",
        r"(?:DFLASH|DSpark dense) speculative decoding requires setting",
        "this algorithm needs a draft model and none was given",
        "CFG-2",
        "add --speculative-draft-model-path",
    ),
    _row(
        "draft-class",
        r"Model architectures \[(?P<names>[^\]]*(?:Speculator|Eagle3DraftModel)[^\]]*)\] are not supported",
        "the draft {names} is a checkpoint in the format of another engine's trainer, which SGLang cannot load",
        "COMPAT-2",
        "convert the draft to the EAGLE-3 layout of SGLang (names, config and layer ids)",
    ),
    _row(
        "model-class",
        r"Model architectures \[(?P<names>[^\]]*)\] are not supported",
        "this version knows no model class {names}",
        "COMPAT-2",
        "use a version that supports the class, or check which checkpoint was given as target and as draft",
    ),
    _row(
        "one-layer",
        r"EAGLE3 currently only supports 1 layer",
        "this version loads EAGLE-3 heads of one layer only",
        "COMPAT-2",
        "use a newer version, or a head with one layer",
    ),
    _row(
        "draft-context",
        r"context_length \((?P<target>\d+)\) is greater than the derived context_length \((?P<draft>\d+)\)",
        "the draft's config allows {draft} positions where the target's context has {target}",
        "TRAIN-4",
        "correct max_position_embeddings of the draft, or shorten --context-length",
        alone=False,
    ),
    _row(
        "feature-width",
        r"The size of tensor a \((?P<a>\d+)\) must match the size of tensor b \((?P<b>\d+)\)",
        "the target hands out {a} hidden features and the draft expects {b}: captured layers and draft do not match",
        "WIRE-1",
        "compare the draft's layer ids and fc width with the target's hidden size and layer count",
    ),
    _row(
        "feature-matmul",
        r"mat1 and mat2 shapes cannot be multiplied \(\d+x(?P<a>\d+) and (?P<b>\d+)x\d+\)",
        "the draft gets {a} hidden features and its first layer takes {b}: wrong number of layers, or another target",
        "WIRE-1",
        "compare the draft's layer ids and fc width with the target's hidden size",
    ),
    _row(
        "weight-shape",
        r"Attempted to load weight \((?P<a>torch\.Size\([^)]*\))\) into parameter \((?P<b>torch\.Size\([^)]*\))\)",
        "a tensor of the checkpoint has shape {a} where the model class expects {b}",
        "WIRE-1",
        "compare the draft's config.json (hidden sizes, layer ids) with the shapes in its weight file",
    ),
    _row(
        "weight-shape-assert",
        r"^AssertionError",
        "a tensor of the checkpoint has another shape than the model class expects",
        "WIRE-1",
        "compare config.json with the shapes in the weight file",
        frame=r"weight_loader",
        alone=False,
    ),
    _row(
        "no-draft-vocabulary",
        r"has no attribute 'draft_vocab_size'",
        "the draft's config.json lacks draft_vocab_size, which the EAGLE-3 class reads",
        "WIRE-3",
        "add draft_vocab_size to the draft's config.json (null: it shares the target's head)",
    ),
    _row(
        "tree-too-large",
        r"selected index k out of range",
        "more draft tokens are asked for than the tree of these steps and topk has",
        "CFG-3",
        "lower --speculative-num-draft-tokens to at most 1 + topk + (steps - 1) * topk^2",
    ),
    _row(
        "adaptive-steps",
        r"--speculative-num-steps=(?P<steps>\d+) is not in the adaptive config candidate_steps",
        "{steps} steps are none of the candidates of adaptive speculation",
        "CFG-3",
        "give one of the candidate steps, or none",
    ),
    _row(
        "topk-page",
        r"speculative_eagle_topk.*> 1.*page_size.*> 1",
        "a tree (topk above 1) with pages larger than 1 is not supported by this attention backend",
        None,
        "use topk 1 or page size 1, or a backend that the message names",
    ),
    _row(
        "topk-backend",
        r"(?:trtllm_mha backend|Spec v2 currently) only supports topk = 1",
        "trees (topk above 1) are not supported in this combination",
        None,
        "use --speculative-eagle-topk 1",
    ),
    _row(
        "pipeline",
        r"Pipeline parallelism (?:currently only supports EAGLE|is not compatible with overlap schedule, speculative)"
        r"|PP \+ speculative decoding",
        "speculation does not work with pipeline parallelism here",
        "COMPAT-1",
        "use pipeline size 1",
    ),
    _row(
        "data-parallel",
        r"(?:Currently (?P<algorithm>\w+) speculative decoding does not support dp attention"
        r"|with dp attention requires --enable-dp-lm-head)",
        "this algorithm does not work with data-parallel attention as asked",
        None,
        "drop data-parallel attention or change the algorithm",
    ),
    _row(
        "attention-backend",
        r"EAGLE is not supported in attention backend (?P<name>\S+)",
        "the attention backend {name} cannot run this draft",
        None,
        "choose another --speculative-draft-attention-backend or --attention-backend",
    ),
    _row(
        "kv-pool",
        r"Not enough memory\. Please try to increase --mem-fraction-static"
        r"|Loaded weights leave no GPU memory for the KV cache",
        "the weights, target and draft together, leave no room for the KV cache under --mem-fraction-static",
        "MEM-1",
        "raise --mem-fraction-static, or use more GPUs or smaller weights",
    ),
    _row(
        "gpu-memory-capture",
        r"OutOfMemoryError: (?:CUDA|HIP) out of memory|CUDA out of memory",
        "the GPU ran out of memory while CUDA graphs were captured",
        "MEM-1",
        "lower --mem-fraction-static or the largest captured batch",
        frame=r"cuda_graph|graph_runner|[Cc]apture",
        alone=False,
    ),
    _row(
        "gpu-memory",
        r"OutOfMemoryError: (?:CUDA|HIP) out of memory|CUDA out of memory",
        "the GPU ran out of memory",
        "MEM-1",
        "look for other processes on the GPU, then lower --mem-fraction-static or the batch",
    ),
    _row(
        "decode-memory",
        r"Decode out of memory",
        "the KV cache was too small for the running requests",
        "MEM-1",
        "lower --max-running-requests or raise --mem-fraction-static",
    ),
    _row(
        "illegal-access",
        r"CUDA error: an illegal memory access",
        "a GPU kernel read or wrote outside its memory",
        "CORR-2",
        "repeat with speculation off, then with CUDA graphs off, to find the part at fault",
    ),
    _row(
        "capture-failed",
        r"Capture (?:\w+ )*(?:cuda|CUDA) graph failed: (?P<why>.{1,120})",
        "capturing CUDA graphs failed: {why}; any error of the first draft forward surfaces here",
        None,
        "read the exception before this one; the memory advice printed below it is general",
    ),
    _row(
        "unknown-flag",
        r"error: unrecognized arguments: (?P<flags>.+)",
        "the installed version does not know {flags}",
        None,
        "check the flag against the installed version",
    ),
    _row(
        "flag-value",
        r"error: argument (?P<flag>[^:]+): (?P<why>.+)",
        "the value of {flag} was refused: {why}",
        None,
        "correct the value",
    ),
    _row(
        "flag-ambiguous",
        r"error: ambiguous option: (?P<flag>.+)",
        "a shortened flag fits several: {flag}",
        None,
        "write the flag out",
    ),
    _row(
        "flag-required",
        r"error: the following arguments are required: (?P<flags>.+)",
        "required arguments are missing: {flags}",
        None,
        "add them",
    ),
    _row(
        "port-in-use",
        r"\[Errno 98\].*\('[^']*', (?P<port>\d+)\).*address already in use|address already in use",
        "the HTTP port {port} is taken by another process",
        None,
        "stop what listens there, or choose another --port",
    ),
    _row(
        "port-taken",
        r"(?P<name>\S+) at (?P<port>\d+) is not available in \d+ seconds|Port is already in use",
        "a port that the server needs inside is taken by another process ({name} {port})",
        None,
        "wait until the old server is gone, or choose ports further apart",
    ),
    _row(
        "rendezvous-port",
        r"failed to listen on any local network address.*|EADDRINUSE",
        "the rendezvous port of the ranks is taken",
        None,
        "wait until the old server is gone, or set --nccl-port",
    ),
    _row(
        "no-gpu",
        r"No CUDA GPUs are available|CUDA driver version is insufficient|no kernel image is available"
        r"|Found no NVIDIA driver",
        "the process found no GPU that this build can use",
        None,
        "check the driver, CUDA_VISIBLE_DEVICES and the build's GPU architectures",
    ),
    _row(
        "weights-damaged",
        r"SafetensorError|Error while deserializing header|invalid header",
        "a weight file is damaged or only a pointer to the real one",
        None,
        "check the size of the files, and fetch them again",
    ),
    _row(
        "import",
        r"^(?:ImportError|ModuleNotFoundError): (?P<why>.{1,120})",
        "a package does not load: {why}",
        None,
        "check that kernel package, torch and SGLang are the versions that belong together",
    ),
    _row(
        "host-memory",
        r"scheduler died during initialization \(exit code: -9\)|^Killed\b",
        "the operating system killed a process, most often for want of host memory",
        None,
        "look into dmesg for the OOM killer",
    ),
    _row(
        "watchdog",
        r"[Ww]atchdog timeout|Scheduler watchdog",
        "the scheduler hung until its watchdog ended it",
        None,
        "look at what the GPU did at that time; first starts may compile for minutes",
    ),
    _row(
        "peer-lost",
        r"DistBackendError|Connection (?:reset|closed) by peer|BrokenPipeError|ConnectionResetError|EOFError",
        "a rank lost its peer, which died first",
        None,
        "look for the first exception among the other ranks",
    ),
    _row(
        "child-died",
        r"Subprocess (?P<name>\S+) \(pid=\d+\) crashed with exit code (?P<code>-?\d+)",
        "the process {name} died with exit code {code}",
        None,
        "look for its last lines before this one, and into dmesg",
    ),
    _row(
        "sigquit",
        r"Received sigquit from a child process|SIGQUIT received",
        "a process of the server died, and its exception is not in this log",
        None,
        "look into dmesg, or start again with the whole output kept",
    ),
    _row(
        "killed-tree",
        r"kill_process_tree called: .*include_parent=True",
        "the launcher ended its own processes after one of them failed",
        None,
        "look for the exception before this line",
    ),
)

# Consequences of another failure: they count only where nothing else is told.
SECONDARY = frozenset({"peer-lost", "child-died", "sigquit", "killed-tree", "capture-failed"})
