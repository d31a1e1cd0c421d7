"""What torch.onnx, torch.ao and the compiler's inner modules answer in the absence of what they name."""

import pytest
import torch


def test_nothing_is_exported_and_symbols_are_noted():
    from torch.onnx import symbolic_opset11
    from torch.onnx.symbolic_helper import cast_pytorch_to_onnx, parse_args

    if "_faces" not in torch.onnx.__file__:
        pytest.skip("torch-onnx is here")
    assert not torch.onnx.is_in_onnx_export() and torch.onnx.TensorProtoDataType.INT64 == 7
    assert cast_pytorch_to_onnx["Float"] == torch.onnx.TensorProtoDataType.FLOAT == 1

    @parse_args("v", "i")
    def written(g, x, n):
        return n

    assert written(None, None, 3) == 3 and written._arg_descriptors == ["v", "i"]
    torch.onnx.register_custom_op_symbolic("mine::op", written, 11)
    torch.onnx.unregister_custom_op_symbolic("mine::op", 11)
    with pytest.raises(ValueError, match="expected 'namespace::name', got 'op'"):
        torch.onnx.register_custom_op_symbolic("op", written, 11)
    for refused in (lambda: torch.onnx.export(None), lambda: symbolic_opset11.squeeze(None), torch.onnx.ONNXProgram):
        with pytest.raises(
            NotImplementedError,
            match="in the distribution 'torch-onnx', which is not installed: pip install --no-index",
        ):
            refused()
    assert torch.onnx.operators.shape_as_tensor(torch.ones(2, 3)).tolist() == [2, 3]


def test_a_library_that_is_not_traced_maps_plain_tensors():
    from torch._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex
    from torch._dynamo.utils import is_compile_supported

    with TransformGetItemToIndex():
        assert torch.tensor([3, 4])[torch.tensor(1)] == 4
    assert not is_compile_supported("cpu")
    with pytest.raises(
        NotImplementedError, match="torch.jit._get_trace_graph: programs are in the distribution 'torch-jit'"
    ):
        torch.jit._get_trace_graph(None)


def test_devices_of_libraries():
    from torch._utils import _element_size, _get_device_index, _get_device_module

    assert (
        _get_device_index("cuda:1") == 1
        and _get_device_index(2) == 2
        and _get_device_index("cpu", allow_cpu=True) == -1
    )
    assert _get_device_module("cuda") is torch.cuda and _element_size(torch.complex128) == 16
    for wrong, kind in (
        (lambda: _get_device_index("cpu"), ValueError),
        (lambda: _get_device_index("cuda"), ValueError),
        (lambda: _get_device_module("nowhere"), RuntimeError),
        (lambda: _element_size(3), RuntimeError),
    ):
        with pytest.raises(kind):
            wrong()


def test_modes_of_functions_are_refused_when_entered():
    with torch._C.DisableTorchFunctionSubclass():
        assert (torch.ones(1) + 1).item() == 2
