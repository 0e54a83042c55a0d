"""Why vLLM did not start or died: real failures of 0.32.0, and messages as other versions write them."""

from __future__ import annotations

import pytest

from specdoctor.engines.vllm import engine
from tests.engines.vllm_data import excerpt

START = "INFO 03-02 10:20:00 [api_utils.py:286] non-default args: {'model': '/m'}\n"
TRACE = "Traceback (most recent call last):\n"


@pytest.mark.parametrize(
    ("name", "cause", "words"),
    [
        ("vocabulary.log.txt", "MIS-1", "768 entries and the target's 1024"),
        ("aux-two.log.txt", "WIRE-1", "shape [128, 384] where its config makes room for [128, 256]"),
        ("d2t-absolute.log.txt", "WIRE-3", "token 1024 of a vocabulary of 1024"),
    ],
)
def test_real_failures_are_told_in_one_sentence(name: str, cause: str, words: str) -> None:
    text = excerpt(name)
    failure = engine.explain_failure(text)
    assert failure is not None
    assert failure.cause == cause
    assert words in failure.meaning
    assert failure.quote in text.split("\n")[failure.line - 1]
    assert engine.read_log(text, where="server.log").failure == failure


@pytest.mark.parametrize("name", ["eagle3", "ngram", "baseline", "aux-early"])
def test_a_server_that_was_stopped_in_order_did_not_fail(name: str) -> None:
    assert engine.explain_failure(excerpt(f"{name}.log.txt")) is None


@pytest.mark.parametrize(
    ("message", "cause", "words"),
    [
        (
            (
                "ValueError: Draft model speculative decoding is not supported yet. Please consider using other "
                "speculative "
                "decoding methods such as ngram, medusa, eagle, or deepseek_mtp."
            ),
            "COMPAT-2",
            "0.15.1",
        ),
        ("ValueError: num_speculative_tokens:5 must be divisible by n_predict=2", "CFG-4", "no multiple of the 2"),
        ("ValueError: Eagle3 is only supported for ['llama', 'qwen'] models. Got gemma", "COMPAT-2", "EAGLE-3"),
        ("RuntimeError: Model does not support EAGLE3 interface", "COMPAT-2", "EAGLE-3"),
        (
            (
                "ValueError: 'tensor_parallel_size' is not a valid argument in the speculative_config. Please pass "
                "'draft_tensor_parallel_size' instead."
            ),
            None,
            "refused inside --speculative-config",
        ),
        ("ValueError: No valid cudagraph sizes after rounding to multiple of 8", "CFG-5", "multiples of 8"),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", "MEM-1", "ran out of memory"),
        (
            (
                "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when "
                "initializing the engine."
            ),
            "MEM-1",
            "no memory for the KV cache",
        ),
        ("NotImplementedError: Unsupported speculative method: 'foo'", "CFG-2", "cannot tell the method"),
    ],
)
def test_messages_are_explained(message: str, cause: str | None, words: str) -> None:
    failure = engine.explain_failure(f'{START}{TRACE}  File "/v/vllm/config/speculative.py", line 1, in f\n{message}\n')
    assert failure is not None
    assert failure.cause == cause
    assert words in failure.meaning
    assert failure.quote == message[:300]


def test_the_path_that_decides_the_method_is_named() -> None:
    text = (
        f"{START}(APIServer pid=1) {TRACE}(APIServer pid=1) pydantic_core._pydantic_core.ValidationError: 1 validation "
        "error for SpeculativeConfig\n(APIServer pid=1)   Value error, Model architectures ['EagleQwen2ForCausalLM'] "
        "are not supported for now. Supported architectures: dict_keys(['A'])\n"
    )
    failure = engine.explain_failure(text)
    assert failure is not None
    assert (failure.cause, failure.line) == ("CFG-1", 4)
    assert "EagleQwen2ForCausalLM" in failure.meaning


def test_an_unknown_exception_is_quoted_and_echoes_are_not_preferred() -> None:
    text = (
        f"{START}(Worker pid=2) ERROR 03-02 10:20:01 [m.py:1] {TRACE}"
        "(Worker pid=2) ERROR 03-02 10:20:01 [m.py:1] ZeroDivisionError: division by zero\n"
        "(EngineCore pid=1) ERROR 03-02 10:20:02 [core.py:1] EngineCore failed to start.\n"
        f"{TRACE}RuntimeError: Engine core initialization failed. See root cause above.\n"
    )
    failure = engine.explain_failure(text)
    assert failure is not None
    assert failure.cause is None
    assert failure.meaning == "the server died with ZeroDivisionError: division by zero"


def test_an_exception_of_one_request_is_no_death() -> None:
    text = f"{START}INFO:     Application startup complete.\n{TRACE}ValueError: bad request\n"
    assert engine.explain_failure(text) is None
