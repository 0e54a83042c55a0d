"""Which launches may be reckoned with together: those that differ in the draft length alone."""

from __future__ import annotations

import pytest

from specdoctor.core.hypothesis import ConfigEdit
from specdoctor.core.launch import ORIGINAL, START_MARK, CorrectedCopy, LaunchChange
from specdoctor.core.launch_family import family_of

COPY = CorrectedCopy(source="/m/head", edits=(ConfigEdit(key="rope_theta", value=1.0),))


def change(**parts: object) -> LaunchChange:
    return LaunchChange.model_validate({"label": "x", **parts})


LENGTHS = [
    ORIGINAL,
    change(
        set_flags={"--speculative-num-steps": ("5",), "--speculative-eagle-topk": ("1",)},
        remove_flags=("--speculative_num_steps", "--speculative-adaptive"),
    ),
    change(set_flags={"--speculative-num-draft-tokens": ("8",)}, set_env={START_MARK: "2"}),
    change(set_flags={"--spec-draft-n-max": ("5",)}, remove_env=("LLAMA_ARG_DRAFT_MAX",)),
    change(set_flags={"--draft-max": ("5",)}),
    change(set_flags={"--speculative-config": ('{"model":"m","num_speculative_tokens":5}',)}, lengths_only=True),
]
OTHERS = [
    change(set_flags={"--speculative-draft-model-path": (COPY.place,)}, copies=COPY),
    change(set_flags={"--speculative-draft-model-path": ("/m/other",)}),
    change(set_flags={"--speculative-config": ('{"model":"m","num_speculative_tokens":5}',)}),
    change(set_flags={"--speculative-attention-mode": ("decode",), "--speculative-num-steps": ("5",)}),
    change(set_flags={"--chat-template": ("t",)}),
    change(set_flags={"--max-running-requests": ("96",)}),
    change(remove_flags=("--disable-cuda-graph",)),
    change(set_env={"NCCL_P2P_DISABLE": "0"}),
    change(remove_env=("CUDA_LAUNCH_BLOCKING",)),
    change(words={"python": "/venv/bin/python"}),
    change(image="sglang:new"),
    change(set_flags={"--speculative-num-steps": ("5",)}, set_env={"OMP_NUM_THREADS": "1"}, lengths_only=True),
]


@pytest.mark.parametrize("one", LENGTHS, ids=lambda c: c.key)
def test_the_draft_length_alone_makes_no_other_family(one: LaunchChange) -> None:
    assert family_of(one, on=True).as_found


@pytest.mark.parametrize("one", OTHERS, ids=lambda c: c.key)
def test_whatever_else_is_changed_makes_one(one: LaunchChange) -> None:
    assert not family_of(one, on=True).as_found


def test_a_configuration_is_compared_less_its_length() -> None:
    five, two = (
        change(set_flags={"--speculative-config": (f'{{"model":"m","num_speculative_tokens":{k}}}',)}) for k in (5, 2)
    )
    other = change(set_flags={"--speculative-config": ('{"model":"n","num_speculative_tokens":5}',)})
    assert family_of(five, on=True) == family_of(two, on=True) != family_of(other, on=True)


@pytest.mark.parametrize(
    "off",
    [
        change(remove_flags=("--speculative-algorithm", "--speculative-draft-model-path", "--speculative-num-steps")),
        change(remove_flags=("--speculative-config",), set_flags={"--no-async-scheduling": ()}),
        change(remove_flags=("-md", "--draft-max"), remove_env=("LLAMA_ARG_MODEL_DRAFT",)),
        change(remove_flags=("--speculative-algorithm",), set_flags={"--max-running-requests": ("48",)}),
    ],
    ids=lambda c: c.key,
)
def test_no_speculation_stands_beside_every_drafter(off: LaunchChange) -> None:
    assert family_of(off, on=False).as_found


def test_no_speculation_in_another_environment_does_not() -> None:
    off = change(remove_flags=("--speculative-algorithm",), set_env={"NCCL_P2P_DISABLE": "1"})
    assert family_of(off, on=False).rest == "NCCL_P2P_DISABLE=1"
