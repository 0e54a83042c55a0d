"""Known failures of vLLM starts and servers, as data. Rows are tried in order on each telling line."""

from __future__ import annotations

from specdoctor.engines.explanation import Explanation, explanation

FAILURES: tuple[Explanation, ...] = (
    explanation(
        "vocabulary-size",
        r"Target and draft model should have the same vocabulary size\. Target model vocab_size=(?P<target>\d+)\. "
        r"Draft model vocab_size=(?P<draft>\d+)",
        "the draft model's vocabulary has {draft} entries and the target's {target}: only sizes are compared, padding "
        "included",
        "MIS-1",
        "compare the tokenizers: equal ones need only an embedding padded to the target's size, others another draft",
    ),
    explanation(
        "no-draft-named",
        r"num_speculative_tokens was provided (?:without|but without) (?:a )?(?:speculative_model|speculative model)",
        "drafts were asked for and no method or draft model: this target has no layer of its own that could draft",
        "CFG-2",
        "name a draft model or a method (ngram) in the speculative configuration, or leave speculation off",
    ),
    explanation(
        "eagle-by-path",
        r"Model architectures \['(?P<class>Eagle\w*)'.{0,20}\] are not supported",
        "the draft is loaded as the class {class}: parts of its path (eagle-, eagle3, dflash, dspark) decide the "
        "method and rename the class, whatever method was asked for",
        "CFG-1",
        "rename the folder of the draft so that it holds none of these parts, or give a draft of that method",
    ),
    explanation(
        "architecture",
        r"Model architectures \[(?P<class>[^\]]{1,200})\] are not supported",
        "this version has no model class {class}",
        "COMPAT-2",
        "look for the class in the list of supported models of this version, or upgrade",
    ),
    explanation(
        "fc-width",
        r"Tried to load weights of size torch\.Size\(\[(?P<given>[\d, ]+)\]\) ?to a parameter of size "
        r"torch\.Size\(\[(?P<wanted>[\d, ]+)\]\)",
        "a weight of the drafter has the shape [{given}] where its config makes room for [{wanted}]: the number of "
        "auxiliary layers in its config is not that of its fc layer",
        "WIRE-1",
        "give as many layer ids as the fc layer was made for (its input width / the target's hidden size)",
        frame=r"eagle|llama_eagle3|speculat|drafter",
    ),
    explanation(
        "weight-shape",
        r"Tried to load weights of size torch\.Size\(\[(?P<given>[\d, ]+)\]\) ?to a parameter of size "
        r"torch\.Size\(\[(?P<wanted>[\d, ]+)\]\)",
        "a weight of the checkpoint has the shape [{given}] where its config makes room for [{wanted}]",
        None,
        "compare config.json with the tensors of the checkpoint",
    ),
    explanation(
        "map-out-of-range",
        r"index (?P<index>-?\d+) is out of bounds for dimension \d+ with size (?P<size>\d+)",
        "the drafter's vocabulary map (d2t) points to token {index} of a vocabulary of {size}: it holds token ids "
        "where offsets are expected",
        "WIRE-3",
        "store d2t as offsets (target id - draft id), or take the drafter's own checkpoint anew",
        frame=r"logits_new\[|compute_logits|draft_id_to_target_id|d2t",
    ),
    explanation(
        "aux-width",
        r"shape '\[[-\d, ]+\]' is invalid for input of size \d+|mat1 and mat2 shapes cannot be multiplied",
        "the states taken from the target do not fill the drafter's fc layer: an auxiliary layer id is out of range or "
        "given twice, or their number is not the fc layer's",
        "WIRE-1",
        "give valid, distinct layer ids, as many as the fc layer was made for",
        frame=r"eagle|drafter|propose|combine_hidden_states",
    ),
    explanation(
        "tp-key",
        r"'tensor_parallel_size' is not a valid argument in the speculative_config",
        "tensor_parallel_size is refused inside --speculative-config",
        None,
        "write draft_tensor_parallel_size there",
    ),
    explanation(
        "draft-model-refused",
        r"Draft model speculative decoding is not supported yet",
        "this version refuses plain draft models: they came with 0.15.1",
        "COMPAT-2",
        "upgrade vLLM, or use an EAGLE head, MTP or n-grams",
    ),
    explanation(
        "tokens-not-multiple",
        r"num_speculative_tokens: ?(?P<k>\d+) must be divisible by n_predict=(?P<n>\d+)",
        "num_speculative_tokens {k} is no multiple of the {n} tokens that the MTP layers predict",
        "CFG-4",
        "choose a multiple",
    ),
    explanation(
        "tokens-missing",
        r"`?num_speculative_tokens`? was not provided|num_speculative_tokens must be provided",
        "num_speculative_tokens is missing: only MTP, suffix and DSpark drafts know it themselves",
        None,
        "add num_speculative_tokens to --speculative-config",
    ),
    explanation(
        "eagle3-target",
        r"Eagle3 is only supported for (?P<list>.{1,120}?) models|Model does not support EAGLE3 interface",
        "EAGLE-3 is not supported for this target's model class in this version",
        "COMPAT-2",
        "upgrade vLLM, or use another method for this target",
    ),
    explanation(
        "async-refused",
        r"[Cc]urrently, async scheduling is only supported with (?P<list>.{1,160}?) kind of speculative decoding",
        "--async-scheduling was asked for together with a method that has none",
        "COMPAT-2",
        "leave --async-scheduling out",
    ),
    explanation(
        "async-padded",
        r"[Aa]sync scheduling is not compatible with disable_padded_drafter_batch",
        "--async-scheduling was asked for together with disable_padded_drafter_batch",
        None,
        "leave one of them out",
    ),
    explanation(
        "graph-sizes",
        r"No valid cudagraph sizes after rounding to multiple of (?P<k>\d+)",
        "no captured graph size is left: they are rounded to multiples of {k} (draft tokens + 1), and none fits the "
        "limit",
        "CFG-5",
        "raise max_cudagraph_capture_size",
    ),
    explanation(
        "twice-given",
        r"(?P<flag>--spec-\w+) and --speculative-config.{0,60}are mutually exclusive",
        "{flag} and the same key of --speculative-config were both given",
        None,
        "leave one of them out",
    ),
    explanation(
        "method-unsupported",
        r"Unsupported speculative method",
        "the engine cannot tell the method of this draft",
        "CFG-2",
        "name the method in --speculative-config",
    ),
    explanation(
        "suffix-package",
        r"Arctic Inference is required for suffix decoding",
        "suffix decoding needs the package arctic-inference, which is not installed",
        None,
        "install arctic-inference in the server's environment",
    ),
    explanation(
        "cpu-refused",
        r"spec decode is not supported\.",
        "this version has no speculative decoding on CPUs: it came with 0.20.2",
        "COMPAT-2",
        "upgrade vLLM",
    ),
    explanation(
        "unknown-key",
        r"(?:Unexpected keyword argument|Extra inputs are not permitted).{0,120}",
        "--speculative-config (or another JSON argument) holds a key that this version does not know",
        "VER-1",
        "see the key named in the line above; keys come and go between versions",
        frame=r"SpeculativeConfig|create_speculative_config",
    ),
    explanation(
        "pipeline",
        r"(?:[Ss]peculative decoding|EAGLE|[Dd]raft).{0,80}pipeline[- ]parallel",
        "this kind of speculation does not run with pipeline parallelism here",
        "COMPAT-1",
        "start with --pipeline-parallel-size 1",
    ),
    explanation(
        "fast-prefill",
        r"Fast prefill optimization for KV sharing is not compatible with EAGLE",
        "--kv-sharing-fast-prefill was asked for together with an EAGLE-like method",
        "COMPAT-2",
        "leave --kv-sharing-fast-prefill out",
    ),
    explanation(
        "logits-processors",
        r"[Cc]ustom logits processors are not supported",
        "custom logits processors are refused under speculation",
        "COMPAT-2",
        "start without --logits-processors, or without speculation",
    ),
    explanation(
        "free-memory",
        r"Free memory on device .{0,60}is less than desired GPU memory utilization",
        "the GPU has less free memory than --gpu-memory-utilization asks for: something else holds it",
        "MEM-1",
        "find what holds the memory (nvidia-smi), or lower --gpu-memory-utilization",
    ),
    explanation(
        "no-cache-room",
        r"No available memory for the cache blocks",
        "target and drafter leave no memory for the KV cache",
        "MEM-1",
        "raise --gpu-memory-utilization, or shard over more GPUs",
    ),
    explanation(
        "context-too-long",
        r"(?:larger than the maximum number of tokens that can be stored in KV cache|"
        r"is larger than the available KV cache memory)",
        "one request of the full context does not fit into the KV cache that is left",
        "MEM-1",
        "lower --max-model-len or raise --gpu-memory-utilization",
    ),
    explanation(
        "out-of-memory",
        r"(?:torch\.(?:cuda\.)?OutOfMemoryError|CUDA out of memory)",
        "the GPU ran out of memory",
        "MEM-1",
        "lower --gpu-memory-utilization, --max-num-seqs or the captured graph sizes",
    ),
    explanation(
        "port-taken",
        r"\[Errno 98\]|address already in use",
        "the port is taken by another process",
        None,
        "end the other process or choose another --port",
    ),
    explanation(
        "model-missing",
        r"Repo id must be in the form .{0,120}: '(?P<path>[^']{1,300})'|is not a local folder and is not a valid model "
        r"identifier|does not appear to have a file named|RepositoryNotFoundError|Can't load the configuration of",
        "a model cannot be found: a path {path} that does not exist is taken for a hub name",
        None,
        "check the paths of target and draft on the server's host",
    ),
    explanation(
        "unknown-flag",
        r"error: unrecognized arguments: (?P<words>.{1,200})",
        "this version does not know the arguments {words}",
        "VER-1",
        "see `vllm serve --help=all` of this version",
    ),
    explanation(
        "bad-value",
        r"error: argument (?P<flag>[^:]{1,80}): (?P<why>.{1,200})",
        "the value of {flag} is refused: {why}",
        None,
        "correct the value",
    ),
    explanation(
        "dependency",
        r"operator torchvision::nms does not exist|No package metadata was found for vllm",
        "the Python environment of the server does not fit together",
        None,
        "reinstall vLLM with its own versions of torch and its companions",
    ),
)
