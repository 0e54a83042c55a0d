"""Write a target's own answers with the states of its residual stream into one file on this host.

The one program that needs more than the standard library: torch and transformers of the Python that runs it. Without
them it refuses. It reads a model's folder, starts no server, asks no hub, and never writes over a file.
"""

import os
import sys
import time
from typing import Any, Dict, List

from specdoctor.remote.parts.answer import Refusal, run_program

PARAMS_JSON = "{}"


def main(params: Dict[str, Any]) -> Dict[str, Any]:
    if os.path.exists(params["out"]):
        raise Refusal("exists", "%s exists and is not written over" % params["out"], "name another file with --out")
    if not os.path.isdir(os.path.dirname(os.path.abspath(params["out"]))):
        raise Refusal("no-folder", "the folder of %s does not exist" % params["out"], "make it, or name another")
    os.environ["HF_HUB_OFFLINE"] = "1"
    torch, transformers, save_file = libraries()
    begun = time.time()
    tell("loading %s" % params["model"])
    tokenizer, model = loaded(torch, transformers, params)
    layers = layer_count(model)
    entries = wanted_entries(params["entries"], layers)
    tensors: Dict[str, Any] = {}
    for number, prompt in enumerate(params["prompts"]):
        tell("sequence %d of %d" % (number + 1, len(params["prompts"])))
        add_sequence(torch, tensors, number, model, token_ids(tokenizer, prompt, params), entries, params)
    if params["with_embedding"]:
        tensors["embed_tokens.weight"] = model.get_input_embeddings().weight.detach().cpu().contiguous()
    if params["with_head"]:
        tensors["lm_head.weight"] = model.get_output_embeddings().weight.detach().cpu().clone().contiguous()
    meta = {"format": "pt", "made_by": "specdoctor", "model": str(params["model"])}
    save_file(tensors, params["out"] + ".part", metadata=meta)
    os.rename(params["out"] + ".part", params["out"])
    return {
        "path": os.path.abspath(params["out"]),
        "bytes": os.path.getsize(params["out"]),
        "sequences": len(params["prompts"]),
        "layers": layers,
        "states": [named(entry) for entry in entries],
        "seconds": round(time.time() - begun, 1),
    }


def libraries() -> Any:
    """torch, transformers and safetensors of this Python; refused without them."""
    try:
        import torch
        import transformers
        from safetensors.torch import save_file
    except ImportError as error:
        raise Refusal(
            "no-torch",
            "%s cannot import what is needed: %s" % (sys.executable, error),
            "name a Python that has torch and transformers with --python, such as the engine's own",
        ) from None
    return torch, transformers, save_file


def loaded(torch: Any, transformers: Any, params: Dict[str, Any]) -> Any:
    options: Dict[str, Any] = {"local_files_only": True, "trust_remote_code": bool(params["trust_remote_code"])}
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(params["model"], **options)
        if params["device"] == "auto":
            options["device_map"] = "auto"
        model = transformers.AutoModelForCausalLM.from_pretrained(params["model"], torch_dtype="auto", **options)
    except (OSError, ValueError, ImportError, RuntimeError, KeyError) as error:
        raise Refusal(
            "not-loaded", "%s was not loaded: %s" % (params["model"], str(error)[:300]), "check the folder"
        ) from None
    if params["device"] not in ("auto", "cpu"):
        model = model.to(params["device"])
    torch.manual_seed(0)
    return tokenizer, model.eval()


def layer_count(model: Any) -> int:
    config = getattr(model.config, "text_config", None) or model.config
    return int(config.num_hidden_layers)


def wanted_entries(asked: Any, layers: int) -> List[int]:
    """Places in the residual stream: 0 before the first layer, k behind layer k-1. By default those that engines and
    trainers take, with their neighbours. The last one is only seen after the last norm, so it cannot be had."""
    if asked is None:
        near = [0, 2, 3, layers // 2 - 1, layers // 2, layers // 2 + 1, layers - 4, layers - 3, layers - 2]
        asked = range(layers) if layers <= 12 else near
    entries = sorted({int(entry) for entry in asked if int(entry) >= 0})
    beyond = [entry for entry in entries if entry >= layers]
    if beyond:
        raise Refusal(
            "no-such-state",
            "%s: the target has %d layers, and its last state is shown only after its norm"
            % (named(beyond[0]), layers),
            "name states up to %s" % named(layers - 1),
        )
    return entries


def named(entry: int) -> str:
    return "embed" if entry == 0 else "out(%d)" % (entry - 1)


def token_ids(tokenizer: Any, prompt: Any, params: Dict[str, Any]) -> List[int]:
    """Ids of a prompt: given as they are, by the chat template, or as plain text."""
    if isinstance(prompt, list):
        return [int(token) for token in prompt]
    if params["chat"]:
        turns = [{"role": "user", "content": prompt}]
        text = tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
        return list(tokenizer(text, add_special_tokens=False)["input_ids"])
    return list(tokenizer(prompt)["input_ids"])


def add_sequence(
    torch: Any,
    tensors: Dict[str, Any],
    number: int,
    model: Any,
    ids: List[int],
    entries: List[int],
    params: Dict[str, Any],
) -> None:
    """The greedy answer, and what would come behind it, with all states of one pass over the whole."""
    if not ids:
        raise Refusal("empty-prompt", "prompt %d has no tokens" % number, "leave it out")
    device = model.get_input_embeddings().weight.device
    prompt = torch.tensor([ids], device=device)
    most = int(params["answer_tokens"]) + int(params["beyond"])
    with torch.no_grad():
        whole = model.generate(
            prompt,
            attention_mask=torch.ones_like(prompt),
            do_sample=False,
            num_beams=1,
            max_new_tokens=most,
            min_new_tokens=most if params["ignore_eos"] else None,
        )
        seen = model(whole, output_hidden_states=True, use_cache=False)
    answer = min(int(whole.shape[1]) - len(ids), int(params["answer_tokens"]))
    best = seen.logits[0].argmax(-1).cpu()
    greedy = torch.cat([whole[0, :1].cpu(), best[:-1]])
    tensors["%d.tokens" % number] = whole[0].cpu().contiguous()
    tensors["%d.greedy" % number] = greedy.to(torch.int64).contiguous()
    tensors["%d.answer" % number] = torch.tensor([len(ids), max(answer, 1)], dtype=torch.int64)
    for entry in entries:
        tensors["%d.%s" % (number, named(entry))] = seen.hidden_states[entry][0].cpu().contiguous()


def tell(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(run_program(main, PARAMS_JSON))
