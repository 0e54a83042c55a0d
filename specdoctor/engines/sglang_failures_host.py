"""Known failures of parallelism, memory, flags, ports and the host, and the last words that follow any failure."""

from __future__ import annotations

from specdoctor.engines.explanation import Explanation, explanation

HOST_FAILURES: tuple[Explanation, ...] = (
    explanation(
        "pipeline",
        r"Pipeline parallelism (?:currently only supports EAGLE|is not compatible with overlap schedule, speculative)"
        r"|PP \+ speculative decoding",
        "speculation does not work with pipeline parallelism here",
        "COMPAT-1",
        "use pipeline size 1",
    ),
    explanation(
        "data-parallel",
        r"(?:Currently (?P<algorithm>\w+) speculative decoding does not support dp attention"
        r"|with dp attention requires --enable-dp-lm-head)",
        "this algorithm does not work with data-parallel attention as asked",
        None,
        "drop data-parallel attention or change the algorithm",
    ),
    explanation(
        "attention-backend",
        r"EAGLE is not supported in attention backend (?P<name>\S+)",
        "the attention backend {name} cannot run this draft",
        None,
        "choose another --speculative-draft-attention-backend or --attention-backend",
    ),
    explanation(
        "kv-pool",
        r"Not enough memory\. Please try to increase --mem-fraction-static"
        r"|Loaded weights leave no GPU memory for the KV cache",
        "the weights, target and draft together, leave no room for the KV cache under --mem-fraction-static",
        "MEM-1",
        "raise --mem-fraction-static, or use more GPUs or smaller weights",
    ),
    explanation(
        "gpu-memory-capture",
        r"OutOfMemoryError: (?:CUDA|HIP) out of memory|CUDA out of memory",
        "the GPU ran out of memory while CUDA graphs were captured",
        "MEM-1",
        "lower --mem-fraction-static or the largest captured batch",
        frame=r"cuda_graph|graph_runner|[Cc]apture",
        alone=False,
    ),
    explanation(
        "gpu-memory",
        r"OutOfMemoryError: (?:CUDA|HIP) out of memory|CUDA out of memory",
        "the GPU ran out of memory",
        "MEM-1",
        "look for other processes on the GPU, then lower --mem-fraction-static or the batch",
    ),
    explanation(
        "decode-memory",
        r"Decode out of memory",
        "the KV cache was too small for the running requests",
        "MEM-1",
        "lower --max-running-requests or raise --mem-fraction-static",
    ),
    explanation(
        "illegal-access",
        r"CUDA error: an illegal memory access",
        "a GPU kernel read or wrote outside its memory",
        "CORR-2",
        "repeat with speculation off, then with CUDA graphs off, to find the part at fault",
    ),
    explanation(
        "capture-failed",
        r"Capture (?:\w+ )*(?:cuda|CUDA) graph failed: (?P<why>.{1,120})",
        "capturing CUDA graphs failed: {why}; any error of the first draft forward surfaces here",
        None,
        "read the exception before this one; the memory advice printed below it is general",
    ),
    explanation(
        "unknown-flag",
        r"error: unrecognized arguments: (?P<flags>.+)",
        "the installed version does not know {flags}",
        None,
        "check the flag against the installed version",
    ),
    explanation(
        "flag-value",
        r"error: argument (?P<flag>[^:]+): (?P<why>.+)",
        "the value of {flag} was refused: {why}",
        None,
        "correct the value",
    ),
    explanation(
        "flag-ambiguous",
        r"error: ambiguous option: (?P<flag>.+)",
        "a shortened flag fits several: {flag}",
        None,
        "write the flag out",
    ),
    explanation(
        "flag-required",
        r"error: the following arguments are required: (?P<flags>.+)",
        "required arguments are missing: {flags}",
        None,
        "add them",
    ),
    explanation(
        "port-in-use",
        r"\[Errno 98\].*\('[^']*', (?P<port>\d+)\).*address already in use|address already in use",
        "the HTTP port {port} is taken by another process",
        None,
        "stop what listens there, or choose another --port",
    ),
    explanation(
        "port-taken",
        r"(?P<name>\S+) at (?P<port>\d+) is not available in \d+ seconds|Port is already in use",
        "a port that the server needs inside is taken by another process ({name} {port})",
        None,
        "wait until the old server is gone, or choose ports further apart",
    ),
    explanation(
        "rendezvous-port",
        r"failed to listen on any local network address.*|EADDRINUSE",
        "the rendezvous port of the ranks is taken",
        None,
        "wait until the old server is gone, or set --nccl-port",
    ),
    explanation(
        "no-gpu",
        r"No CUDA GPUs are available|CUDA driver version is insufficient|no kernel image is available"
        r"|Found no NVIDIA driver",
        "the process found no GPU that this build can use",
        None,
        "check the driver, CUDA_VISIBLE_DEVICES and the build's GPU architectures",
    ),
    explanation(
        "weights-damaged",
        r"SafetensorError|Error while deserializing header|invalid header",
        "a weight file is damaged or only a pointer to the real one",
        None,
        "check the size of the files, and fetch them again",
    ),
    explanation(
        "import",
        r"^(?:ImportError|ModuleNotFoundError): (?P<why>.{1,120})",
        "a package does not load: {why}",
        None,
        "check that kernel package, torch and SGLang are the versions that belong together",
    ),
    explanation(
        "host-memory",
        r"scheduler died during initialization \(exit code: -9\)|^Killed\b",
        "the operating system killed a process, most often for want of host memory",
        None,
        "look into dmesg for the OOM killer",
    ),
    explanation(
        "watchdog",
        r"[Ww]atchdog timeout|Scheduler watchdog",
        "the scheduler hung until its watchdog ended it",
        None,
        "look at what the GPU did at that time; first starts may compile for minutes",
    ),
    explanation(
        "peer-lost",
        r"DistBackendError|Connection (?:reset|closed) by peer|BrokenPipeError|ConnectionResetError|EOFError",
        "a rank lost its peer, which died first",
        None,
        "look for the first exception among the other ranks",
    ),
    explanation(
        "child-died",
        r"Subprocess (?P<name>\S+) \(pid=\d+\) crashed with exit code (?P<code>-?\d+)",
        "the process {name} died with exit code {code}",
        None,
        "look for its last lines before this one, and into dmesg",
    ),
    explanation(
        "sigquit",
        r"Received sigquit from a child process|SIGQUIT received",
        "a process of the server died, and its exception is not in this log",
        None,
        "look into dmesg, or start again with the whole output kept",
    ),
    explanation(
        "killed-tree",
        r"kill_process_tree called: .*include_parent=True",
        "the launcher ended its own processes after one of them failed",
        None,
        "look for the exception before this line",
    ),
)

# Consequences of another failure: they count only where nothing else is told.
SECONDARY = frozenset({"peer-lost", "child-died", "sigquit", "killed-tree", "capture-failed"})
