"""How a drafter was trained: arguments of a training run, one "name value" on each line, JSON or YAML."""

from __future__ import annotations

import re
from typing import NamedTuple

from specdoctor.core.reader import Reading

_TOLD = re.compile(
    r"\b(?:target_model_path|draft_model_config|ttt_length|max_length|max_seq_len(?:gth)?|learning_rate|num_epochs|num_train_"
    r"epochs|train_data_path|cutoff_len|chat_template|batch_size|trained_on|capture_layers|aux_hidden_state_layer_ids"
    r"|hidden_state_indices|gradient_accumulation_steps|lr_scheduler_type|warmup_ratio|output_dir|weight_decay)\b"
)
_FEWEST = 3
_MOST_CHARS = 256 * 1024
_SURE = re.compile(r"\b(?:ttt_length|draft_model_config|trained_on|capture_layers|output_hidden_states)\b")


class _Reader(NamedTuple):
    name: str = "training_args"
    summary: str = "arguments or record of a drafter's training"
    rank: int = 22

    def read(self, text: str, *, where: str) -> Reading | None:
        if len(text) > _MOST_CHARS or "python" in text[:400]:
            return None
        names = set(_TOLD.findall(text))
        sure = bool(_SURE.search(text))
        if len(names) < (2 if sure else _FEWEST) and not re.search(r"^[^\w\n]*trained_on\W*:", text, re.MULTILINE):
            return None
        prose = max((len(line) for line in text.split("\n")), default=0) > 400 and text.lstrip()[:1] not in "{["
        return None if prose or "server_args=" in text else Reading(kind="training record")


reader = _Reader()
