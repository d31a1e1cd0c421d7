"""Modules and names that programs ask torch for beside its operators."""

import operator
import subprocess
import sys
import typing

import pytest
import torch


def test_the_cpu_answers_as_a_device():
    assert torch.cpu.is_available() and torch.cpu.device_count() == 1 and torch.cpu.current_device() == "cpu"
    assert torch.cpu.synchronize() is None and torch.cpu.set_device("cpu") is None


def test_there_is_no_accelerator():
    accelerator = torch.accelerator
    assert not accelerator.is_available() and accelerator.device_count() == 0
    assert accelerator.current_accelerator() is accelerator.current_accelerator(check_available=True) is None
    with accelerator.device_index(None):
        assert torch.ones(1).device.type == "cpu"
    for name in ("current_device_index", "empty_cache", "memory_allocated", "set_device_index", "synchronize"):
        with pytest.raises(RuntimeError, match=f"accelerator.{name}: cannot access.*ask is_available"):
            getattr(accelerator, name)()


class Loud:
    """Records the calls that come to it."""

    def __init__(self, answer=None):
        self.answer, self.calls = answer, []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        self.calls.append((function, types, args, kwargs))
        return self.answer


class Louder(Loud):
    pass


def test_overrides_of_functions_in_python_are_called_derived_classes_first():
    overrides = torch.overrides
    loud, louder = Loud(3), Louder(NotImplemented)
    assert overrides.has_torch_function((1, loud)) and not overrides.has_torch_function((1, torch.ones(1), Loud))
    assert overrides.has_torch_function_unary(loud) and overrides.has_torch_function_variadic(2, loud)
    assert (
        overrides.is_tensor_like(loud) and overrides.is_tensor_like(torch.ones(1)) and not overrides.is_tensor_like(1)
    )
    assert overrides.handle_torch_function(operator.add, (loud, louder, loud), loud, 2, out=None) == 3
    assert len(louder.calls) == len(loud.calls) == 1
    assert loud.calls[0] == (operator.add, (Louder, Loud), (loud, 2), {"out": None})
    with pytest.raises(TypeError, match="no implementation found for '_operator.add'.*Louder"):
        overrides.handle_torch_function(operator.add, (louder,), louder, 2)


def test_annotations_have_their_names():
    assert typing.get_args(torch.types.Number) == (int, float, bool)
    assert set(typing.get_args(torch.types.Device)) == {torch.device, str, int, type(None)}


def test_functions_have_a_module_too():
    assert torch.functional.einsum is torch.einsum and torch.functional.split is torch.split
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        torch.functional.nonsense


def test_limits_are_named_on_their_classes():
    assert torch.finfo.eps is not None and torch.iinfo.bits is not None
    assert torch.finfo(float).eps == torch.finfo(complex).eps == 2.0**-52 and torch.iinfo(int).bits == 64
    with pytest.raises(TypeError, match="torch.iinfo to handle torch.int64"):
        torch.finfo(int)
    with pytest.raises(AttributeError):
        torch.finfo(torch.float32).nonsense = 1


def test_small_answers():
    from torch import torch as itself

    assert itself is torch and torch.has_lapack and not torch.has_mkl and not torch.has_openmp
    x = torch.tensor([12, 18])
    assert torch.gcd_(x, torch.tensor([8, 4])) is x and x.tolist() == [4, 2]
    assert torch.lcm_(x, torch.tensor([6, 5])).tolist() == [12, 10] and torch.get_device(x) == -1
    assert torch.xlogy_(torch.tensor([0.0]), torch.tensor([0.0])).tolist() == [0] and not torch.is_neg(x)
    assert not torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    assert torch.is_warn_always_enabled()
    torch.set_warn_always(False)
    assert not torch.is_deterministic_algorithms_warn_only_enabled()
    assert torch.ones(2, 3, 4).permute(1, 2, 0).dim_order() == (2, 0, 1)
    assert not any(getattr(x, f"is_{d}") for d in ("xla", "xpu", "mps", "vulkan"))
    assert torch.from_dlpack(torch.to_dlpack(x)).data_ptr() == x.data_ptr()


def test_a_file_as_a_tensor(tmp_path):
    path = str(tmp_path / "numbers")
    x = torch.from_file(path, shared=True, size=3, dtype=torch.int32)
    x.copy_(torch.tensor([1, 2, 3]))
    assert torch.from_file(path, size=2, dtype=torch.int32).tolist() == [1, 2]
    assert torch.from_file(path, size=2, dtype=torch.int32, device="cpu", layout=torch.strided).tolist() == [1, 2]
    with pytest.raises(RuntimeError, match="lies on the CPU, got device='meta'"):
        torch.from_file(path, size=2, device="meta")


@pytest.mark.parametrize(
    "name", ["float", "double", "half", "bfloat16", "int", "long", "short", "char", "byte", "bool", "cpu", "cfloat"]
)
def test_conversions_take_their_layout_by_name_alone(name):
    x = torch.ones(1, 2, 3, 4)
    with pytest.raises(TypeError, match=rf"{name}\(\) takes 1 positional argument but 2 were given"):
        getattr(x, name)(3)
    assert getattr(x, name)(memory_format=torch.channels_last).stride() == (24, 1, 8, 2)


@pytest.mark.parametrize(
    "function",
    [
        torch.q_scale, torch.q_zero_point, torch.q_per_channel_scales, torch.int_repr, torch.dequantize, torch.sparse.sum,
        lambda x: torch.sparse.mm(torch.ones(2, 2), x), lambda x: torch.sparse.mm(x, torch.ones(2, 2)),
    ],
)  # fmt: skip
def test_functions_of_layouts_refuse_what_is_no_tensor(function):
    with pytest.raises(TypeError, match=r"argument '\w+' must be Tensor, not int"):
        function(3)


def test_one_tensor_is_given_by_name():
    x = torch.ones(2)
    assert x.is_same_size(other=torch.zeros(2)) and x.is_set_to(tensor=x) and not x.is_set_to(tensor=torch.ones(2))
    assert x.copy_(other=torch.zeros(2)) is x and x.tolist() == [0, 0]
    assert torch.linalg.lstsq(torch.eye(2), b=torch.ones(2, 1)).solution.tolist() == [[1], [1]]
    with pytest.raises(TypeError, match="unexpected keyword argument 'tensor'; its argument is 'other'"):
        x.is_same_size(tensor=x)
    with pytest.raises(TypeError, match="is_set_to.. takes one argument, 'tensor', but 0 were given"):
        x.is_set_to()


def test_what_runs_in_python_refuses_what_is_no_tensor():
    for name, arguments in [
        ("gradient", ()),
        ("cov", ()),
        ("histogram", (3,)),
        ("combinations", ()),
        ("renorm", (2, 0, 1)),
    ]:
        with pytest.raises(TypeError, match=rf"{name}\(\): argument 'input' must be Tensor, not int"):
            getattr(torch, name)(3, *arguments)
    with pytest.raises(TypeError, match=r"cdist\(\): argument 'x2' must be Tensor, not NoneType"):
        torch.cdist(torch.ones(2, 2), None)


def test_operators_under_the_name_of_their_library():
    aten, x = torch.ops.aten, torch.arange(5)
    assert (
        aten.add(x, 1).equal(x + 1)
        and aten.add.Tensor(x, x).equal(2 * x)
        and aten.slice.Tensor(x, 0, 1, 3).tolist() == [1, 2]
    )
    assert aten.t_copy.default(x).equal(x) and repr(aten.add) == "<OpOverloadPacket(op='aten.add')>"
    rows = torch.tensor([[0.0, -float("inf")], [-float("inf"), -float("inf")]])
    assert aten._safe_softmax.default(rows, 1).tolist() == [[1, 0], [0, 0]]
    assert aten.native_dropout_backward(torch.ones(2), torch.tensor([True, False]), 2.0).tolist() == [2, 0]
    assert aten.native_dropout_backward(
        torch.ones(2, dtype=torch.int64), torch.tensor([True, False]), 0.5
    ).tolist() == [0.5, 0]
    assert not hasattr(torch.ops.torchvision, "nms")
    assert aten.sym_size.int(x, 0) == 5 and aten.sym_size(x) == (5,) and aten._local_scalar_dense.default(x[3]) == 3
    assert aten._unsafe_view.default(x, (5, 1)).shape == (5, 1) and aten._is_all_true.default(x > -1)
    assert aten.to.dtype(x, torch.float64).dtype == torch.float64 and "Tensor" in aten.add.overloads()
    assert aten.fill_diagonal_.default(torch.ones(2, 2), 5).tolist() == [[5, 1], [1, 5]]
    assert aten._assert_tensor_metadata.default(x, [5], [1], torch.int64) is None
    with pytest.raises(RuntimeError, match="Tensor dtype mismatch! Expected: torch.int32, Got: torch.int64"):
        aten._assert_tensor_metadata.default(x, None, None, torch.int32)
    with pytest.raises(RuntimeError, match="too small"):
        aten._assert_scalar.default(False, "too small")
    with pytest.raises(NotImplementedError, match="torch.ops.aten._scaled_dot_product_flash_attention is not part"):
        aten._scaled_dot_product_flash_attention(x, x, x)
    with pytest.raises(AttributeError, match="torch.ops.aten has no operator 'nonsense'"):
        aten.nonsense


def test_switches_of_backends_are_set_for_a_block():
    cudnn = torch.backends.cudnn
    with cudnn.flags(benchmark=True):
        assert cudnn.benchmark
    assert (
        not cudnn.benchmark
        and cudnn.set_flags(_deterministic=False)[3] is False
        and not cudnn.deterministic
        and cudnn.enabled
    )
    assert not cudnn.is_acceptable(torch.ones(1)) and torch.backends.mkldnn.set_flags(False) == (False,)
    with pytest.raises(AttributeError, match="no setting 'nonsense'"):
        cudnn.set_flags(nonsense=1)


def test_completing_names_of_torch_offers_all_of_them_and_loads_nothing():
    code = (
        "import sys, rlcompleter, torch\n"
        "before = {m for m in sys.modules if m.startswith('torch')}\n"
        "completer = rlcompleter.Completer({'torch': torch})\n"
        "completer.complete('torch.', 0)\n"
        "offered = {m.removesuffix(')').removesuffix('(') for m in completer.matches}\n"
        "print({m for m in sys.modules if m.startswith('torch')} - before)\n"
        "print({f'torch.{n}' for n in dir(torch) if n[0] != '_'} - offered)\n"
        "completer.complete('torch.linalg.', 0)\n"
        "print('torch.linalg.qr(' in completer.matches, 'torch.add(' in offered or 'torch.add' in offered)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines() == ["set()", "set()", "True True"], done.stderr


def test_the_cpu_says_what_it_can_do():
    can = torch.cpu.get_capabilities()
    assert can["avx2"] == torch.cpu._is_avx2_supported() and can["avx512_f"] == torch.cpu._is_avx512_supported()
    assert torch._C._cpu._get_cpu_capability() == can and can["num_logical_cores"] >= 1
    if sys.platform == "linux" and can["architecture"] == "x86_64":
        assert can["sse2"] and not (can["avx2"] and not can["avx"])
    stream = torch.cpu.current_stream()
    with torch.cpu.stream(stream):
        assert stream.record_event().query() and torch.cpu.is_initialized()


def test_assembly_of_a_gpu_is_refused_by_name():
    from torch._higher_order_ops.inline_asm_elementwise import inline_asm_elementwise

    with pytest.raises(NotImplementedError, match="inline_asm_elementwise: no compiler of GPU kernels"):
        inline_asm_elementwise(torch.ones(1), asm_str="mov", constraints="=r,r", dtype=torch.float32)


def test_whether_determinism_was_asked_for_is_remembered():
    before = torch.are_deterministic_algorithms_enabled()
    try:
        for mode in (True, False):
            torch.use_deterministic_algorithms(mode)
            assert torch.are_deterministic_algorithms_enabled() is mode
    finally:
        torch.use_deterministic_algorithms(before)
