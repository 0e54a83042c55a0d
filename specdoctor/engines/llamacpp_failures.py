"""Known failures of a llama.cpp start as data: the telling line, what it means, and what to do."""

from __future__ import annotations

from specdoctor.engines.explanation import Explanation, explanation

FAILURES: tuple[Explanation, ...] = (
    explanation(
        "eagle3-ids",
        r"EAGLE3 requires exactly 3 entries in '(?P<key>\w+)'",
        "the EAGLE-3 drafter's GGUF file does not name exactly three layers of the target ({key})",
        "WIRE-1",
        "convert the drafter again with the three ids it was trained on in its config.json",
    ),
    explanation(
        "eagle3-layer",
        r"EAGLE3: target layer id (?P<id>\d+) exceeds target n_layer (?P<n>\d+)",
        "the drafter asks for layer {id} of a target that has {n}",
        "WIRE-1",
        "take the drafter of this target, or convert it again with the ids it was trained on",
    ),
    explanation(
        "draft-map",
        r"GGML_ASSERT\((?P<what>i1 >= 0 && i1 < ne1)\) failed",
        "the drafter's vocabulary map (d2t) names tokens that the target does not have",
        "WIRE-3",
        "d2t in a GGUF file holds target ids: convert the drafter again from a checkpoint whose d2t holds offsets",
        frame=r"set_rows|eagle3|draft",
    ),
    explanation(
        "vocabulary-size",
        r"draft model vocab must (?:closely )?match target model to use speculation but target vocab size "
        r"(?P<target>\d+) does not match draft vocab size (?P<draft>\d+)",
        "target and draft have different tokenizers ({target} and {draft} entries)",
        "MIS-1",
        "take a drafter of the target's own family; no flag makes this pair fit",
    ),
    explanation(
        "vocabulary-tokens",
        r"draft model vocab must (?:closely )?match target model to use speculation but token (?P<id>\d+) content"
        r" differs",
        "target and draft have different tokenizers: the texts of their tokens differ (token {id})",
        "MIS-1",
        "take a drafter of the target's own family; sizes that agree do not make two tokenizers one",
    ),
    explanation(
        "vocabulary-type",
        r"draft model (?:vocab type|bos tokens|eos tokens|special tokens|vocab) must (?:closely )?match target model"
        r" to use speculation",
        "target and draft have different tokenizers (kind or special tokens)",
        "MIS-1",
        "take a drafter of the target's own family, converted with the same version",
    ),
    explanation(
        "architecture",
        r"unknown model architecture: '(?P<name>[^']+)'",
        "this build does not know the architecture {name} of the file",
        "COMPAT-2",
        "use a newer build of llama.cpp",
    ),
    explanation(
        "tensor-missing",
        r"missing tensor '(?P<name>[^']+)'|tensor '(?P<other>[^']+)' not found",
        "a tensor that this build needs is not in the file ({name}{other})",
        "WIRE-2",
        "convert the checkpoint again and look at what its converter leaves out",
    ),
    explanation(
        "tensor-shape",
        r"tensor '(?P<name>[^']+)' has wrong shape",
        "the tensor {name} has another shape than the file's own metadata asks for",
        "WIRE-2",
        "convert the checkpoint again, with the target that it belongs to",
    ),
    explanation(
        "gpu-memory",
        r"(?:cudaMalloc failed|out of memory|failed to allocate (?:buffer|\w+ buffer)|unable to allocate \S+ buffer"
        r"|OutOfDeviceMemory)",
        "there is not enough memory for the weights and contexts of target and draft",
        "MEM-1",
        "lower --ctx-size or --parallel, quantise the KV cache, or keep fewer layers of the draft on the GPU",
    ),
    explanation(
        "flag-removed",
        r"error while handling argument \"(?P<flag>[^\"]+)\": the argument has been removed\."
        r" ?(?:use (?P<use>[^\n]{0,120}))?",
        "the flag {flag} was removed from this build (use {use})",
        None,
        "start with the flag's present name; its default is another too",
    ),
    explanation(
        "flag-value",
        r"error while handling argument \"(?P<flag>[^\"]+)\": (?P<why>[^\n]{0,160})",
        "the value of {flag} was refused: {why}",
        None,
        "see llama-server --help for what the flag takes in this build",
    ),
    explanation(
        "flag-unknown",
        r"error: (?:invalid argument|unknown argument): (?P<flag>\S+)",
        "this build does not know the flag {flag}",
        None,
        "see llama-server --help for the flag's name in this build",
    ),
    explanation(
        "port",
        r"couldn't bind (?:HTTP )?server socket[^\n]{0,80}?(?:port: ?(?P<port>\d+))?$|address already in use",
        "the port {port} is taken by another process",
        None,
        "stop the other process or choose another --port",
    ),
    explanation(
        "file",
        r"failed to open GGUF file '?(?P<path>[^'\s]+)'?|(?P<other>\S+): No such file or directory",
        "the model file cannot be opened: {path}{other}",
        None,
        "look at the path, from the folder and the user that the server starts with",
    ),
    explanation(
        "lookup-cache",
        r"failed to open (?:static|dynamic) lookup cache: (?P<path>\S+)",
        "the lookup cache {path} cannot be read, which ends the process",
        None,
        "leave --lookup-cache-static out until the file is there",
    ),
    explanation(
        "assertion",
        r"GGML_ASSERT\((?P<what>[^\n]{1,120})\) failed",
        "the process stopped itself at an assertion ({what})",
        None,
        "look at the backtrace below it; try without speculation to see which model it is about",
    ),
    explanation(
        "model",
        r"error loading model: (?P<why>[^\n]{1,200})",
        "a model could not be loaded: {why}",
        None,
        "look which of the two files the lines before name",
    ),
)
SECONDARY: tuple[Explanation, ...] = (
    explanation(
        "draft-load",
        r"failed to load draft model, '(?P<path>[^']+)'",
        "the draft model {path} could not be loaded",
        None,
        "read the error above this line",
    ),
    explanation(
        "context",
        r"failed to create (?:llama_context|context) (?:from|with) model(?: '(?P<path>[^']+)')?",
        "no context could be made for the model {path}",
        None,
        "read the error above this line",
    ),
    explanation(
        "load",
        r"exiting due to model loading error|failed to load model",
        "the server ended because a model could not be loaded",
        None,
        "read the first error of the log",
    ),
    explanation(
        "crash",
        r"terminate called after throwing an instance of '(?P<what>[^']+)'|Segmentation fault|^Killed\b|Aborted \(core",
        "the process crashed ({what})",
        None,
        "read the lines before it; the kernel's log tells of a kill for memory",
    ),
)
