"""Names that libraries read or call, of which the honest answer is small."""

import pytest
import torch


@pytest.mark.parametrize("name", ["_scaled_mm"])
def test_functions_of_absent_dtypes_say_so(name):
    with pytest.raises(NotImplementedError, match=name):
        getattr(torch, name)(torch.ones(2, 2))


def test_a_removed_solver_names_what_took_its_place():
    with pytest.raises(RuntimeError, match=r"torch\.linalg\.solve"):
        torch.solve(torch.ones(2, 1), torch.eye(2))


def test_an_accelerator_that_is_not_there_has_no_memory():
    for name in ("get_memory_info", "max_memory_allocated", "reset_peak_memory_stats"):
        with pytest.raises(RuntimeError, match="none is available"):
            getattr(torch.accelerator, name)()


def test_classes_of_other_libraries_cannot_be_here():
    assert list(torch.classes.__path__) == []
    with pytest.raises(RuntimeError, match=r"torch\.classes\.vision\.Video does not exist"):
        torch.classes.vision.Video


def test_processes_are_not_bound():
    from torch.numa import binding

    options = binding.NumaOptions(binding.AffinityMode("socket"))
    assert options.affinity_mode is binding.AffinityMode.SOCKET and not options.should_fall_back_if_binding_fails
    assert binding.maybe_wrap_command_args_with_numa_binding(("a",), gpu_index=0, numa_options=None) == ("a",)
    with pytest.raises(NotImplementedError, match="numactl"):
        binding.maybe_wrap_command_args_with_numa_binding(("a",), gpu_index=0, numa_options=options)


def test_a_typed_storage_from_a_buffer():
    storage = torch.ShortStorage._from_buffer(bytes([1, 0, 2, 0]), byte_order="little")
    assert storage.tolist() == [1, 2] and storage.dtype == torch.int16
    with pytest.raises(RuntimeError, match="leave dtype"):
        torch.ShortStorage._from_buffer(b"ab", dtype=torch.int16)
    with pytest.raises(RuntimeError, match=r"torch\.ByteStorage"):
        torch.TypedStorage._from_buffer(b"ab")


def test_what_attention_asks_of_a_device():
    q = torch.ones(1, 1, 2, 3)
    params = torch.backends.cuda.SDPAParams(q, q, q, None, 0.0, True, False)
    assert params.query is q and params.is_causal and not torch.backends.cuda.can_use_flash_attention(params)


def test_functions_of_python_say_what_is_no_tensor():
    calls = {
        "is_complex": (3,), "is_floating_point": ([1.0],), "numel": (3,), "is_nonzero": ("x",), "is_same_size": (3, torch.ones(1)),
        "is_conj": (None,), "fill_": (3, 4), "zero_": (3,), "get_device": (3,), "size": (3,), "to_dlpack": (3,),
    }  # fmt: skip
    for name, arguments in calls.items():
        with pytest.raises(TypeError, match=rf"{name}\(\): argument '(input|tensor)' must be Tensor, not "):
            getattr(torch, name)(*arguments)
    with pytest.raises(TypeError, match=r"chain_matmul\(\): argument 'matrices\[1\]' must be Tensor, not int"):
        torch.chain_matmul(torch.ones(2, 2), 3)
