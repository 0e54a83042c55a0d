"""Known failures of draft, target and the length of drafts."""

from __future__ import annotations

from specdoctor.engines.explanation import Explanation, explanation

_SPEC_FRAME = (
    r"speculative_hook\.py|_handle_speculative_decoding|_handle_eagle_family|speculative_(?:eagle_topk|num_steps)"
)
_MISSING = (
    r"Repo id must be in the form .*: '(?P<path>[^']+)'"
    r"|is not a local folder and is not a valid model identifier|does not appear to have a file named"
    r"|RepositoryNotFoundError|Repository Not Found"
)
_TRIPLE = "give all three of --speculative-num-steps, --speculative-eagle-topk, --speculative-num-draft-tokens, or none"

MODEL_FAILURES: tuple[Explanation, ...] = (
    explanation(
        "draft-missing",
        _MISSING,
        "the draft model {path} cannot be found: a path that does not exist is taken for a hub name",
        None,
        "check the path in --speculative-draft-model-path on the server's host",
        frame=r"_resolve_speculative_algorithm_alias|speculative_hook\.py|draft_worker|eagle_worker",
        alone=False,
    ),
    explanation(
        "model-missing",
        _MISSING,
        "the model path {path} cannot be found: a path that does not exist is taken for a hub name",
        None,
        "check --model-path, --tokenizer-path and --speculative-draft-model-path on the server's host",
        alone=False,
    ),
    explanation(
        "steps-without-topk",
        r"TypeError: '>' not supported between instances of 'NoneType' and 'int'",
        "--speculative-num-steps was given without --speculative-eagle-topk: steps, topk and draft tokens go together",
        "CFG-3",
        _TRIPLE,
        frame=_SPEC_FRAME,
    ),
    explanation(
        "topk-without-steps",
        r"^AssertionError:?\s*$",
        "topk or draft tokens were given without --speculative-num-steps: steps, topk and draft tokens go together",
        "CFG-3",
        _TRIPLE,
        frame=_SPEC_FRAME,
    ),
    explanation(
        "no-draft",
        r"object has no attribute 'hot_token_id'",
        "no draft model was given, so the target was loaded a second time as its own draft",
        "CFG-2",
        "add --speculative-draft-model-path, or an algorithm that needs no draft",
    ),
    explanation(
        "standalone-vocabulary",
        r"share the same vocabulary.*?target vocab_size=(?P<target>\d+) and draft vocab_size=(?P<draft>\d+)",
        "the draft model has another vocabulary ({draft} tokens) than the target ({target})",
        "MIS-1",
        "use a draft model of the target's family, with the same tokenizer",
    ),
    explanation(
        "sampling-vocabulary",
        r"one vocab, but the draft vocab \((?P<draft>\d+)\) != target vocab \((?P<target>\d+)\)",
        "rejection sampling needs one vocabulary, and the draft has {draft} tokens where the target has {target}",
        "MIS-1",
        "remove --speculative-use-rejection-sampling, or use a draft with the full vocabulary",
    ),
    explanation(
        "head-as-standalone",
        r"'NoneType' object has no attribute 'shape'",
        "an EAGLE-3 head was given to the STANDALONE algorithm, which hands it no hidden states",
        "CFG-2",
        "use --speculative-algorithm EAGLE3 for this draft",
        frame=r"llama_eagle3\.py",
    ),
    explanation(
        "no-hidden-state-hook",
        r"(?:does not implement|object has no attribute) '?set_eagle3_layers_to_capture",
        "this version cannot hand out the target's hidden states to an EAGLE-3 head for this target class",
        "COMPAT-2",
        "use a version that supports EAGLE-3 for this target, or another algorithm",
    ),
    explanation(
        "no-draft-dflash",
        r"(?:DFLASH|DSpark dense) speculative decoding requires setting",
        "this algorithm needs a draft model and none was given",
        "CFG-2",
        "add --speculative-draft-model-path",
    ),
    explanation(
        "draft-class",
        r"Model architectures \[(?P<names>[^\]]*(?:Speculator|Eagle3DraftModel)[^\]]*)\] are not supported",
        "the draft {names} is a checkpoint in the format of another engine's trainer, which SGLang cannot load",
        "COMPAT-2",
        "convert the draft to the EAGLE-3 layout of SGLang (names, config and layer ids)",
    ),
    explanation(
        "model-class",
        r"Model architectures \[(?P<names>[^\]]*)\] are not supported",
        "this version knows no model class {names}",
        "COMPAT-2",
        "use a version that supports the class, or check which checkpoint was given as target and as draft",
    ),
    explanation(
        "one-layer",
        r"EAGLE3 currently only supports 1 layer",
        "this version loads EAGLE-3 heads of one layer only",
        "COMPAT-2",
        "use a newer version, or a head with one layer",
    ),
    explanation(
        "draft-context",
        r"context_length \((?P<target>\d+)\) is greater than the derived context_length \((?P<draft>\d+)\)",
        "the draft's config allows {draft} positions where the target's context has {target}",
        "TRAIN-4",
        "correct max_position_embeddings of the draft, or shorten --context-length",
        alone=False,
    ),
    explanation(
        "feature-width",
        r"The size of tensor a \((?P<a>\d+)\) must match the size of tensor b \((?P<b>\d+)\)",
        "the target hands out {a} hidden features and the draft expects {b}: captured layers and draft do not match",
        "WIRE-1",
        "compare the draft's layer ids and fc width with the target's hidden size and layer count",
    ),
    explanation(
        "feature-matmul",
        r"mat1 and mat2 shapes cannot be multiplied \(\d+x(?P<a>\d+) and (?P<b>\d+)x\d+\)",
        "the draft gets {a} hidden features and its first layer takes {b}: wrong number of layers, or another target",
        "WIRE-1",
        "compare the draft's layer ids and fc width with the target's hidden size",
    ),
    explanation(
        "weight-shape",
        r"Attempted to load weight \((?P<a>torch\.Size\([^)]*\))\) into parameter \((?P<b>torch\.Size\([^)]*\))\)",
        "a tensor of the checkpoint has shape {a} where the model class expects {b}",
        "WIRE-1",
        "compare the draft's config.json (hidden sizes, layer ids) with the shapes in its weight file",
    ),
    explanation(
        "weight-shape-assert",
        r"^AssertionError",
        "a tensor of the checkpoint has another shape than the model class expects",
        "WIRE-1",
        "compare config.json with the shapes in the weight file",
        frame=r"weight_loader",
        alone=False,
    ),
    explanation(
        "no-draft-vocabulary",
        r"has no attribute 'draft_vocab_size'",
        "the draft's config.json lacks draft_vocab_size, which the EAGLE-3 class reads",
        "WIRE-3",
        "add draft_vocab_size to the draft's config.json (null: it shares the target's head)",
    ),
    explanation(
        "tree-too-large",
        r"selected index k out of range",
        "more draft tokens are asked for than the tree of these steps and topk has",
        "CFG-3",
        "lower --speculative-num-draft-tokens to at most 1 + topk + (steps - 1) * topk^2",
    ),
    explanation(
        "adaptive-steps",
        r"--speculative-num-steps=(?P<steps>\d+) is not in the adaptive config candidate_steps",
        "{steps} steps are none of the candidates of adaptive speculation",
        "CFG-3",
        "give one of the candidate steps, or none",
    ),
    explanation(
        "topk-page",
        r"speculative_eagle_topk.*> 1.*page_size.*> 1",
        "a tree (topk above 1) with pages larger than 1 is not supported by this attention backend",
        None,
        "use topk 1 or page size 1, or a backend that the message names",
    ),
    explanation(
        "topk-backend",
        r"(?:trtllm_mha backend|Spec v2 currently) only supports topk = 1",
        "trees (topk above 1) are not supported in this combination",
        None,
        "use --speculative-eagle-topk 1",
    ),
)
