"""The server_args line in both its forms."""

from __future__ import annotations

from specdoctor.engines.sglang_server_args import masked, parse_server_args


def test_the_call_form_with_nested_objects_and_enums() -> None:
    found = parse_server_args(
        "[2026-11-29 18:46:57] server_args=ServerArgs(model_path='/models/a, b', tp_size=2, mem_fraction_static=0.5, "
        "trust_remote_code=False, context_length=None, cuda_graph_bs=[1, 2], device=<Device.CUDA: 'cuda'>, "
        "cuda_graph_config=CudaGraphConfig(decode=PhaseConfig(backend='full', bs=[1, 2]), prefill=None), "
        "hook=<function f at 0x7f>)"
    )
    assert found is not None
    assert found.complete
    assert found.form == "call"
    assert found.values == {
        "model_path": "/models/a, b",
        "tp_size": 2,
        "mem_fraction_static": 0.5,
        "trust_remote_code": False,
        "context_length": None,
        "cuda_graph_bs": [1, 2],
        "device": "cuda",
        "cuda_graph_config": {"decode": {"backend": "full", "bs": [1, 2]}, "prefill": None},
        "hook": "<function f at 0x7f>",
    }


def test_the_dict_form() -> None:
    found = parse_server_args("server_args={'model_path': '/m', 'speculative_num_steps': 3, 'limits': {'a': [1]}}")
    assert found is not None
    assert found.form == "dict"
    assert found.values == {"model_path": "/m", "speculative_num_steps": 3, "limits": {"a": [1]}}


def test_a_cut_line_gives_what_it_has() -> None:
    found = parse_server_args("server_args=ServerArgs(model_path='/m', tp_size=2, served_mod")
    assert found is not None
    assert not found.complete
    assert found.values == {"model_path": "/m", "tp_size": 2}


def test_secrets_are_masked_in_lines_and_documents() -> None:
    found = parse_server_args("server_args=ServerArgs(api_key='sesame', admin_api_key=None, port=3)")
    assert found is not None
    assert found.values == {"api_key": "***", "admin_api_key": None, "port": 3}
    assert masked({"internal_states": [{"api_key": "sesame"}], "port": 3}) == {
        "internal_states": [{"api_key": "***"}],
        "port": 3,
    }


def test_other_lines_have_no_arguments() -> None:
    assert parse_server_args("server_args were checked") is None
