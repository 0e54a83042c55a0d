"""Small files that say what a server runs: configs of its models, its YAML file, tensors of its draft."""

import glob
import json
import os
import re
import struct
from typing import Any, Dict, List, Optional, Sequence

from specdoctor.remote.parts.gguf_file import gguf_files
from specdoctor.remote.parts.local_http import values_of
from specdoctor.remote.parts.procfs import text_of
from specdoctor.remote.parts.small_tensors import small_tensors

CONFIG_NAMES = (
    "config.json",
    "generation_config.json",
    "hf_quant_config.json",
    "quantize_config.json",
    "tokenizer_config.json",
    "chat_template.jinja",
    "model.safetensors.index.json",
)
MODEL_FLAGS = ("--model-path", "--model_path", "--model")
DRAFT_FLAGS = (
    "--speculative-draft-model-path",
    "--speculative-draft-model",
    "--speculative_draft_model_path",
    "--speculative-model",
    "--spec-model",
    "--spec-draft-model",
    "--model-draft",
    "-md",
    "--speculative-config.model",
    "--speculative_config.model",
    "-sc.model",
)
MODEL_VARIABLES = ("LLAMA_ARG_MODEL",)
DRAFT_VARIABLES = ("LLAMA_ARG_SPEC_DRAFT_MODEL", "LLAMA_ARG_MODEL_DRAFT")
GGUF = ".gguf"
MAP_FLAGS = ("--speculative-token-map",)
CONFIG_FLAGS = ("--config", "--extra_llm_api_options")
NO_RECORDS = ("tokenizer.json", "special_tokens_map.json", "vocab.json", "added_tokens.json")
RECORD_ENDINGS = (".yaml", ".yml", ".json", ".py")
RECORD_LIMIT = 65536
MOST_RECORDS = 24
TEXT_LIMIT = 400000
HEADER_LIMIT = 1 << 23
MOST_TENSORS = 4000
MOST_PARTS = 16
ARRAY_ENDINGS = (".safetensors", ".npz")
MOST_STORED = 64
_YAML_SCALAR = re.compile(r"^([A-Za-z][\w-]*)[ \t]*:[ \t]*[\"']?([^\s\"'#\[{|>][^\s\"'#]*)", re.MULTILINE)


def read_file(key: str, path: str, limit: int = TEXT_LIMIT) -> Dict[str, Any]:
    """One small text file as FileFacts; `key` is what the server calls it."""
    found: Dict[str, Any] = {"path": path or key, "text": None, "size": None, "mtime": None, "error": None}
    try:
        state = os.stat(path)
        found.update(size=state.st_size, mtime=state.st_mtime)
        if not os.path.isfile(path):
            found["error"] = "not a regular file"
        elif state.st_size > limit:
            found["error"] = "%d bytes, more than the %d that are read" % (state.st_size, limit)
        else:
            with open(path, "rb") as stream:
                found["text"] = text_of(stream.read(limit))
    except OSError as failure:
        found["error"] = failure.strerror or str(failure)
    return found


def model_folder(name: str, env: Dict[str, str], cwd: Optional[str], root: str) -> str:
    """Where a model lies as seen from here: a path, or the snapshot of a hub name in the server's cache."""
    path = os.path.join(cwd or "/", name)
    if name.startswith(("/", "./", "../")) or os.path.isdir(root + path) or name.count("/") != 1:
        return root + path
    home = env.get("HF_HOME") or (env.get("XDG_CACHE_HOME") or env.get("HOME", "/root") + "/.cache") + "/huggingface"
    cache = env.get("HF_HUB_CACHE") or env.get("HUGGINGFACE_HUB_CACHE") or home + "/hub"
    folder = "%s%s/models--%s" % (root, cache, name.replace("/", "--"))
    main = read_file("", folder + "/refs/main")["text"]
    snapshots = sorted(glob.glob(folder + "/snapshots/*"))
    if main and os.path.isdir(folder + "/snapshots/" + str(main).strip()):
        return folder + "/snapshots/" + str(main).strip()
    return snapshots[-1] if snapshots else root + path


def tensor_list(path: str) -> Optional[str]:
    """One line "name dtype shape" per tensor, by a safetensors header; a last line "..." where it is cut."""
    try:
        with open(path, "rb") as stream:
            size = struct.unpack("<Q", stream.read(8))[0]
            if size > HEADER_LIMIT:
                return None
            header = json.loads(stream.read(size).decode("utf-8"))
    except (OSError, ValueError, struct.error):
        return None
    if not isinstance(header, dict):
        return None
    lines = [
        "%s %s %s" % (name, entry.get("dtype"), json.dumps(entry.get("shape")))
        for name, entry in sorted(header.items())
        if name != "__metadata__" and isinstance(entry, dict)
    ]
    return "\n".join(lines[:MOST_TENSORS] + ["..."] * (len(lines) > MOST_TENSORS)) + "\n"


def draft_tensors(key: str, folder: str) -> Dict[str, Dict[str, Any]]:
    """The tensors of a draft under the key FOLDER/tensors.txt, and what its small ones hold under FOLDER/values.txt.

    Both are lists that are made here, not files there.
    """
    parts = sorted(glob.glob(glob.escape(folder) + "/*.safetensors"))
    read = [tensor_list(part) for part in parts[:MOST_PARTS]]
    lists = [text for text in read if text]
    if not lists:
        return {}
    if len(lists) < len(parts):
        lists.append("...\n")
    size = sum(os.path.getsize(part) for part in parts)
    made = {"path": parts[0], "text": "".join(lists), "size": size, "mtime": os.path.getmtime(parts[0]), "error": None}
    values = dict(made, text="".join(small_tensors(part) for part in parts[:MOST_PARTS]))
    return {key + "/tensors.txt": made, key + "/values.txt": values}


def stored_files(key: str, folder: str, inside: Sequence[str], below: str) -> Dict[str, Dict[str, Any]]:
    """KEY/stored.txt: "BYTES NAME" of a draft's weights and of arrays in folders, which may be stored states.

    Names count from `folder`; `below` is the pattern of those folders. Nothing where there are no such arrays.
    """
    arrays: List[str] = []
    for ending in ARRAY_ENDINGS:
        arrays += sorted(glob.glob(below + "/*" + ending))
    if not inside or not arrays:
        return {}
    try:
        found = [(os.path.getsize(path), path[len(folder) + 1 :]) for path in [*inside, *arrays][:MOST_STORED]]
        state = os.stat(arrays[0])
    except OSError:
        return {}
    made = {
        "path": folder,
        "text": "".join("%d %s\n" % pair for pair in found),
        "size": state.st_size,
        "mtime": state.st_mtime,
        "error": None,
    }
    return {key + "/stored.txt": made}


def stored_in(key: str, folder: str) -> Dict[str, Dict[str, Any]]:
    """What is stored with a draft that is a folder: its weights, and arrays one folder below."""
    plain = glob.escape(folder)
    return stored_files(key, folder, sorted(glob.glob(plain + "/*.safetensors")), plain + "/*")


def stored_beside(key: str, path: str) -> Dict[str, Dict[str, Any]]:
    """What is stored with a draft that is one file: that file, and arrays in folders that are named like it."""
    stem = path[: -len(GGUF)]
    return stored_files(key, os.path.dirname(path), [path], glob.escape(stem) + ".*")


def draft_records(key: str, folder: str) -> Dict[str, Dict[str, Any]]:
    """Small texts that lie with a draft, here or one folder below, and may say what it was trained on.

    Its own config.json is none of them; one a folder below is that of the trainer.
    """
    found: Dict[str, Dict[str, Any]] = {}
    for depth, known in (("", CONFIG_NAMES + NO_RECORDS), ("*/", NO_RECORDS)):
        for ending in RECORD_ENDINGS:
            for path in sorted(glob.glob(glob.escape(folder) + "/" + depth + "*" + ending)):
                name = path[len(folder) + 1 :]
                if os.path.basename(path) not in known and len(found) < MOST_RECORDS and os.path.isfile(path):
                    found[key + "/" + name] = read_file(name, path, RECORD_LIMIT)
    return found


def records_beside(key: str, path: str) -> Dict[str, Dict[str, Any]]:
    """Small texts beside a draft that is one file: those named like it, or all where it has the folder for itself."""
    folder, name = os.path.split(path)
    stem = name[: -len(GGUF)]
    alone = len(glob.glob(glob.escape(folder) + "/*" + GGUF)) == 1
    return {
        place: file
        for place, file in draft_records(key, folder).items()
        if alone or place[len(key) + 1 :].startswith(stem + ".")
    }


def _given(env: Dict[str, str], names: Sequence[str]) -> List[str]:
    return [env[name] for name in names if env.get(name)]


def config_words(argv: Sequence[str], cwd: Optional[str], root: str) -> List[str]:
    """The top-level scalars of the server's own YAML file as `--name=value`, to be read like flags."""
    found: List[str] = []
    for name in values_of(argv, *CONFIG_FLAGS):
        text = str(read_file(name, root + os.path.join(cwd or "/", name))["text"] or "")
        pairs = [(match.group(1), match.group(2)) for match in _YAML_SCALAR.finditer(text)]
        found += ["--%s=%s" % (key.replace("_", "-"), value) for key, value in pairs]
    return found


def _draft_in_json(argv: Sequence[str]) -> List[str]:
    found: List[str] = []
    for text in values_of(argv, "--speculative-config", "--speculative_config", "-sc"):
        try:
            model = json.loads(text).get("model")
        except (ValueError, AttributeError):
            continue
        found += [model] if isinstance(model, str) else []
    return found


def _positional_model(argv: Sequence[str]) -> List[str]:
    """`vllm serve MODEL`, `sglang serve MODEL`, `trtllm-serve MODEL`."""
    for index, word in enumerate(argv[:-1]):
        if word in ("serve", "trtllm-serve") or word.endswith("/trtllm-serve"):
            return [] if argv[index + 1].startswith("-") else [argv[index + 1]]
    return []


def architectures(text: Optional[str]) -> List[str]:
    """Class names in a model's config.json, the outermost first."""
    try:
        config = json.loads(text or "{}")
    except ValueError:
        return []
    found: List[str] = []
    for part in [config] + [config.get(key) for key in ("text_config", "llm_config") if isinstance(config, dict)]:
        names = part.get("architectures") if isinstance(part, dict) else None
        found += [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
    return found


def served_models(argv: Sequence[str]) -> List[str]:
    """The model that a server was told to serve, as it is called on the command line."""
    short = [name for name in values_of(argv, "-m") if name.endswith(GGUF)]
    return list(dict.fromkeys(values_of(argv, *MODEL_FLAGS) + _positional_model(argv) + short))


def files_of_server(argv: Sequence[str], env: Dict[str, str], cwd: Optional[str], root: str) -> Dict[str, Any]:
    """FileFacts by the name that the server uses: MODEL/config.json, DRAFT/config.json, the YAML file, ..."""
    found: Dict[str, Any] = {}
    for name in values_of(argv, *CONFIG_FLAGS) + values_of(argv, *MAP_FLAGS):
        found[name] = read_file(name, root + os.path.join(cwd or "/", name))
    targets = served_models(argv) + _given(env, MODEL_VARIABLES)
    drafts = values_of(argv, *DRAFT_FLAGS) + _draft_in_json(argv) + _given(env, DRAFT_VARIABLES)
    for name in dict.fromkeys(targets + drafts):
        if name.endswith(GGUF):
            path = root + os.path.join(cwd or "/", name)
            found.update(gguf_files(name, path, name in drafts))
            found.update(records_beside(name, path) if name in drafts else {})
            found.update(stored_beside(name, path) if name in drafts else {})
            continue
        folder = model_folder(name, env, cwd, root)
        present = [each for each in CONFIG_NAMES if os.path.exists(folder + "/" + each)]
        for each in dict.fromkeys(["config.json", *present]):
            found[name.rstrip("/") + "/" + each] = read_file(name, folder + "/" + each)
        if name in drafts:
            found.update(draft_tensors(name.rstrip("/"), folder))
            found.update(draft_records(name.rstrip("/"), folder))
            found.update(stored_in(name.rstrip("/"), folder))
    return found
