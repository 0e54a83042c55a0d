"""What asking for speculation does to the arguments, by version: overrides with their notices, and refusals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from specdoctor.lab.sglang_failures import ParseCrash
from specdoctor.lab.world import Model

Release = tuple[int, int, int]
Args = dict[str, Any]

_BUNDLED_HEAD = frozenset(
    {
        "DeepseekV3ForCausalLM",
        "DeepseekV32ForCausalLM",
        "DeepseekV4ForCausalLM",
        "Glm4MoeForCausalLM",
        "Glm4MoeLiteForCausalLM",
        "GlmMoeDsaForCausalLM",
        "BailingMoeForCausalLM",
        "BailingMoeV2ForCausalLM",
        "BailingMoeV2_5ForCausalLM",
        "MistralLarge3ForCausalLM",
        "PixtralForConditionalGeneration",
        "HYV3ForCausalLM",
    }
)
_CAP_TEXT = "Max running requests is reset to 48 for speculative decoding."
_CAP_HINT = " You can override this by explicitly setting --max-running-requests."
_ADJUSTED = "speculative_num_draft_tokens is adjusted to speculative_num_steps + 1 when speculative_eagle_topk == 1"
_HOOK = "sglang/srt/arg_groups/speculative_hook.py"
_OLD = "sglang/srt/server_args.py"


def _frames(release: Release, line: int, code: str) -> list[tuple[str, int, str, str]]:
    if release >= (0, 5, 13):
        return [
            (_OLD, 8470, "from_cli_args", "return cls(**{attr: getattr(args, attr) for attr in attrs})"),
            (_OLD, 3592, "__post_init__", "handle_speculative_decoding(self)"),
            (_HOOK, line, "_handle_eagle_family", code),
        ]
    return [
        (_OLD, 7702, "from_cli_args", "return cls(**{attr: getattr(args, attr) for attr in attrs})"),
        (_OLD, 976, "__post_init__", "self._handle_speculative_decoding()"),
        (_OLD, 3838, "_handle_speculative_decoding", code),
    ]


def draft_path_frames(release: Release) -> list[tuple[str, int, str, str]]:
    """Frames of a draft folder that cannot be read."""
    file = _HOOK if release >= (0, 5, 13) else _OLD
    return [
        *_frames(release, 36, "cfg = get_config(")[:2],
        (file, 36, "_resolve_speculative_algorithm_alias", "cfg = get_config("),
        ("transformers/utils/hub.py", 488, "cached_files", 'raise OSError(f"{e}") from e'),
    ]


def auto_parameters(release: Release, architecture: str, algorithm: str) -> tuple[int, int, int]:
    """(steps, topk, draft tokens) that are chosen when none of the three is given."""
    if algorithm == "STANDALONE":
        return (3, 1, 4)
    if architecture in {"LlamaForCausalLM", "Grok1ForCausalLM", "Grok1VForCausalLM"}:
        return (5, 4, 8)
    short = {
        "DeepseekV3ForCausalLM",
        "DeepseekV2ForCausalLM",
        "DeepseekV32ForCausalLM",
        "GptOssForCausalLM",
        "BailingMoeForCausalLM",
        "BailingMoeV2ForCausalLM",
    }
    return (3, 1, 4) if architecture in short or release >= (0, 5, 8) else (5, 4, 8)


def apply_speculation(
    args: Args, *, release: Release, target: Model, env: Mapping[str, str], notices: list[str]
) -> None:
    """Change `args` as the installed version does, and append its warnings.

    Raises ParseCrash for the combinations that end in a traceback.
    """
    if args["speculative_draft_model_path"] is not None and args.get("speculative_draft_model_revision") is None:
        args["speculative_draft_model_revision"] = "main"
    if "speculative_moe_runner_backend" in args and args["speculative_moe_runner_backend"] is None:
        args["speculative_moe_runner_backend"] = args.get("moe_runner_backend")
    if "speculative_draft_model_quantization" in args:
        given = args["speculative_draft_model_quantization"]
        args["speculative_draft_model_quantization"] = args["quantization"] if given is None else given
        if given == "unquant":
            args["speculative_draft_model_quantization"] = None
    if args["speculative_algorithm"] is None:
        return
    algorithm = str(args["speculative_algorithm"]).upper()
    args["speculative_algorithm"] = "EAGLE" if algorithm == "NEXTN" else algorithm
    if args["speculative_algorithm"] == "NGRAM":
        _ngram(args, release, notices)
    elif args["speculative_algorithm"] in {"EAGLE", "EAGLE3", "STANDALONE"}:
        _eagle_family(args, release, target, env, notices)
    else:
        name = args["speculative_algorithm"]
        raise ParseCrash(f"ValueError: Unknown speculative algorithm name: {name}", _frames(release, 60, "raise"))


def _cap_requests(args: Args, release: Release, notices: list[str]) -> None:
    if args["max_running_requests"] is not None:
        return
    args["max_running_requests"] = 48
    if release >= (0, 5, 5):
        notices.append(_CAP_TEXT + _CAP_HINT)
    elif release >= (0, 5, 4):
        notices.append(_CAP_TEXT)


def _eagle_family(args: Args, release: Release, target: Model, env: Mapping[str, str], notices: list[str]) -> None:
    if args["speculative_algorithm"] == "STANDALONE" and args.get("enable_dp_attention"):
        said = "ValueError: Currently standalone speculative decoding does not support dp attention."
        raise ParseCrash(said, _frames(release, 540, "raise ValueError("))
    _cap_requests(args, release, notices)
    _choose_worker(args, release, env, notices)
    if args.get("enable_mixed_chunk") and (release < (0, 5, 19) or args["speculative_algorithm"] == "STANDALONE"):
        args["enable_mixed_chunk"] = False
        notices.append("Mixed chunked prefill is disabled because of using eagle speculative decoding.")
    if target.architecture in _BUNDLED_HEAD:
        if args["speculative_draft_model_path"] is None:
            args["speculative_draft_model_path"] = args["model_path"]
            args["speculative_draft_model_revision"] = args["revision"]
        elif target.architecture not in {"MistralLarge3ForCausalLM", "PixtralForConditionalGeneration"}:
            notices.append("DeepSeek MTP does not require setting speculative_draft_model_path.")
    _settle_tree(args, release, target, notices)


def _choose_worker(args: Args, release: Release, env: Mapping[str, str], notices: list[str]) -> None:
    topk = args["speculative_eagle_topk"]
    if release >= (0, 5, 13):
        if args["disable_overlap_schedule"]:
            notices.append(
                "Non-overlap (synchronous) spec v2 is used for eagle/eagle3/standalone speculative decoding."
            )
        elif release == (0, 5, 13):
            notices.append("Overlap spec v2 is enabled by default for eagle/eagle3/standalone speculative decoding.")
        return
    wanted_v2 = env.get("SGLANG_ENABLE_SPEC_V2", "").lower() in {"1", "true", "yes"}
    if release >= (0, 5, 11):
        _choose_default_v2(args, env, notices)
    elif release >= (0, 5, 5) and wanted_v2 and args["speculative_algorithm"] != "STANDALONE":
        if topk is not None and topk > 1:
            said = "ValueError: Spec v2 currently only supports topk = 1 for speculative decoding."
            raise ParseCrash(said, _frames(release, 2380, "raise ValueError("))
        notices.append("Spec v2 is enabled for eagle/eagle3 speculative decoding and overlap schedule is turned on.")
    else:
        args["disable_overlap_schedule"] = True
        if release >= (0, 5, 7):
            notices.append(
                "Overlap scheduler is disabled when spec v2 is off or using unsupported speculative algorithm. "
                "You can set env SGLANG_ENABLE_SPEC_V2=True to enable the experimental overlap scheduler. "
            )
        else:
            notices.append("Overlap scheduler is disabled because of using eagle3 or standalone speculative decoding.")


def _choose_default_v2(args: Args, env: Mapping[str, str], notices: list[str]) -> None:
    topk, reason = args["speculative_eagle_topk"], None
    if topk is not None and topk > 1 and not args["disable_overlap_schedule"]:
        args["disable_overlap_schedule"] = True
        reason = "spec v2 currently only supports topk = 1"
    elif env.get("SGLANG_ENABLE_SPEC_V2", "true").lower() in {"0", "false", "no"}:
        if not args["disable_overlap_schedule"]:
            reason = "SGLANG_ENABLE_SPEC_V2=False"
        args["disable_overlap_schedule"] = True
    if args["disable_overlap_schedule"]:
        why = reason or "overlap schedule is disabled"
        notices.append(f"Spec v1 is used for eagle/eagle3/standalone speculative decoding because {why}.")
    else:
        notices.append("Spec v2 is enabled by default for eagle/eagle3/standalone speculative decoding.")


def _settle_tree(args: Args, release: Release, target: Model, notices: list[str]) -> None:
    steps, topk, tokens = (
        args["speculative_num_steps"],
        args["speculative_eagle_topk"],
        args["speculative_num_draft_tokens"],
    )
    if steps is None:
        if topk is not None or tokens is not None:
            raise ParseCrash("AssertionError", _frames(release, 590, "server_args.speculative_eagle_topk is None"))
        steps, topk, tokens = auto_parameters(release, target.architecture, args["speculative_algorithm"])
    if topk is None:
        last = "TypeError: '>' not supported between instances of 'NoneType' and 'int'"
        raise ParseCrash(last, _frames(release, 673, "server_args.speculative_eagle_topk > 1"))
    backends = {args[name] for name in ("attention_backend", "decode_attention_backend", "prefill_attention_backend")}
    if topk > 1 and "trtllm_mha" in backends:
        said = "ValueError: trtllm_mha backend only supports topk = 1 for speculative decoding."
        raise ParseCrash(said, _frames(release, 600, "raise ValueError("))
    if topk == 1 and tokens != steps + 1:
        notices.append(_ADJUSTED)
        tokens = steps + 1
    if tokens is None:
        last = "TypeError: unsupported operand type(s) for -: 'NoneType' and 'int'"
        raise ParseCrash(last, _frames(release, 700, "server_args.speculative_num_draft_tokens - 1"))
    args["speculative_num_steps"], args["speculative_eagle_topk"], args["speculative_num_draft_tokens"] = (
        steps,
        topk,
        tokens,
    )
    if topk > 1 and (args["page_size"] or 1) > 1:
        _check_pages(args, release)


def _check_pages(args: Args, release: Release) -> None:
    backend = args["attention_backend"]
    if release >= (0, 5, 15):
        allowed = ("flashinfer", "fa3", "triton")
        said = (
            f"ValueError: speculative_eagle_topk > 1 with page_size > 1 is only supported on {allowed}; got "
            f"attention_backend={backend!r}. Use page_size == 1 or one of those backends."
        )
    else:
        allowed = ("flashinfer", "fa3", "")
        said = (
            "ValueError: speculative_eagle_topk > 1 with page_size > 1 is unstable and produces incorrect results "
            "for paged attention backends. This combination is only supported for the 'flashinfer' backend."
        )
    if backend not in allowed:
        raise ParseCrash(said, _frames(release, 720, "raise ValueError("))


def _ngram(args: Args, release: Release, notices: list[str]) -> None:
    _cap_requests(args, release, notices)
    if release < (0, 5, 14):
        args["disable_overlap_schedule"] = True
    args["enable_mixed_chunk"] = False
    args["speculative_eagle_topk"] = args["speculative_ngram_max_bfs_breadth"]
    if args["speculative_num_draft_tokens"] is None:
        args["speculative_num_draft_tokens"] = 12
        if release >= (0, 5, 10):
            notices.append(
                "speculative_num_draft_tokens is set to 12 by default for ngram speculative decoding. "
                "You can override this by explicitly setting --speculative-num-draft-tokens."
            )
    if release >= (0, 5, 14) and args["speculative_num_steps"] is None:
        args["speculative_num_steps"] = args["speculative_num_draft_tokens"] // args["speculative_eagle_topk"]
    overlap = (
        "The mixed chunked prefill are"
        if release >= (0, 5, 14)
        else ("The overlap scheduler and mixed chunked prefill are")
    )
    notices.append(f"{overlap} disabled because of using ngram speculative decoding.")
    if args.get("enable_dp_attention"):
        said = "ValueError: Currently ngram speculative decoding does not support dp attention."
        raise ParseCrash(said, _frames(release, 760, "raise ValueError("))
