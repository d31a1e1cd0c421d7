"""Operators that C++ extensions register by TORCH_LIBRARY: functions by device, gradients, layers, and what goes wrong."""

import os

import pytest
import torch

pytest.importorskip("pybind11")
from torch.utils import cpp_extension
from torch.utils.cpp_extension import load_inline

if not cpp_extension.check_compiler_abi_compatibility(os.environ.get("CXX", "c++")):
    pytest.skip("needs a C++20 compiler", allow_module_level=True)

pytestmark = pytest.mark.usefixtures("time_to_compile")

SOURCE = """
torch::Tensor scaled(const torch::Tensor& x, double by) { return x * by; }
torch::Tensor scaled_meta(const at::Tensor& x, double by) { return torch::empty_like(x); }
std::tuple<torch::Tensor, torch::Tensor> both(const torch::Tensor& x, c10::optional<torch::Tensor> y) {
  return {x + 1, y.has_value() ? *y * 2 : x};
}
torch::Tensor& bump_(torch::Tensor& x, int64_t by) { return x.add_(by), x; }
std::vector<torch::Tensor> parts(torch::TensorList all, torch::IntArrayRef places) {
  std::vector<torch::Tensor> out;
  for (int64_t i : places) out.push_back(all[i]);
  return out;
}
int64_t words(const std::string& text, bool twice, std::optional<int64_t> more) {
  return int64_t(text.size()) * (twice ? 2 : 1) + more.value_or(0);
}
torch::Tensor plain(const torch::Tensor& x) { return x.sin(); }

TORCH_LIBRARY(cpp_lib, m) {
  m.def("scaled(Tensor x, float by=2.0) -> Tensor");
  m.def("both(Tensor x, Tensor? y=None) -> (Tensor, Tensor)", &both);
  m.def("bump_(Tensor(a!) x, int by) -> Tensor(a!)", &bump_);
  m.def("parts", &parts);
  m.def("words(str text, bool twice=False, *, int? more=None) -> int", words);
  m.def("plain(Tensor x) -> Tensor");
  m.def("nothing(Tensor x) -> Tensor");
}
TORCH_LIBRARY_IMPL(cpp_lib, CPU, m) { m.impl("scaled", scaled); }
TORCH_LIBRARY_IMPL(cpp_lib, Meta, m) { m.impl("scaled", TORCH_FN(scaled_meta)); }
TORCH_LIBRARY_FRAGMENT(cpp_lib, m) { m.def("more(Tensor x) -> Tensor", [](const torch::Tensor& x) { return x * 10; }); }
TORCH_LIBRARY_IMPL(cpp_lib, CompositeImplicitAutograd, m) { m.impl("plain", plain); }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {}

#include <ATen/Parallel.h>
#include <torch/script.h>
std::vector<torch::Tensor> places(torch::Tensor x) {
  using namespace torch::indexing;
  x = x.clone();
  x.index_put_({0, Slice(None, None, 2)}, 30);
  x.index_put_({Slice(1), 1}, torch::ones({2}, x.options()) * 7);
  x.index_put_({2, 3}, -1.5);
  x.index_put_({x < 2}, true);
  torch::Tensor rows = torch::tensor({2, 0});
  return {x, x.index({"...", 0}), x.index({0, 1}), x.index({rows}), x.index({None, Ellipsis, Slice(1, 3)}), x.index({rows, rows})};
}
torch::Tensor doubled(torch::Tensor x) {
  TORCH_CHECK(x.is_cpu());
  torch::Tensor out = torch::empty_like(x);
  at::parallel_for(0, x.numel(), at::internal::GRAIN_SIZE, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) out.data_ptr<float>()[i] = 2 * x.data_ptr<float>()[i];
  });
  return out;
}
torch::Tensor word(torch::Tensor x) { return x.index({"word"}); }
static auto registry = torch::RegisterOperators()
                           .op("cpp_lib_of_before::places", &places)
                           .op("cpp_lib_of_before::doubled(Tensor x) -> Tensor", &doubled)
                           .op("cpp_lib_of_before::word", [](torch::Tensor x) { return word(x); });
"""


@pytest.fixture(scope="module")
def ops(tmp_path_factory):
    load_inline("cpp_lib_module", SOURCE, build_directory=str(tmp_path_factory.mktemp("lib")))
    return torch.ops.cpp_lib


def test_operators_are_under_their_namespace(ops):
    x = torch.ones(2)
    assert ops.scaled(x).tolist() == [2.0, 2.0] and ops.scaled(x, by=3).tolist() == [3.0, 3.0]
    a, b = ops.both(x)
    assert a.tolist() == [2.0, 2.0] and b.tolist() == [1.0, 1.0] and ops.both(x, x)[1].tolist() == [2.0, 2.0]
    assert [p.item() for p in ops.parts([torch.tensor(1), torch.tensor(2)], [1, 0, 1])] == [2, 1, 2]
    assert ops.words("four", True, more=3) == 11 and ops.words("four") == 4
    assert ops.more.default(x).tolist() == [10.0, 10.0]
    assert str(ops.scaled.default._schema) == "cpp_lib::scaled(Tensor x, float by=2.0) -> Tensor"


def test_operators_may_be_registered_in_the_manner_of_before(ops):
    before = torch.ops.cpp_lib_of_before
    assert before.doubled(torch.tensor([1.0, 2.0])).tolist() == [2, 4]
    assert str(before.doubled.default._schema) == "cpp_lib_of_before::doubled(Tensor x) -> Tensor"


def test_places_in_braces_are_those_of_python(ops):
    x = torch.arange(12.0).view(3, 4)
    y = x.clone()
    y[0, ::2] = 30
    y[1:, 1] = 7
    y[2, 3] = -1.5
    y[y < 2] = True
    rows = torch.tensor([2, 0])
    expected = [y, y[..., 0], y[0, 1], y[rows], y[None, ..., 1:3], y[rows, rows]]
    given = torch.ops.cpp_lib_of_before.places(x)
    assert all(map(torch.equal, given, expected)) and len(given) == len(expected)
    with pytest.raises(RuntimeError, match='index: the only text that is a place is "...", got "word"'):
        torch.ops.cpp_lib_of_before.word(x)


def test_a_change_in_place_is_noted(ops):
    x = torch.zeros(2)
    before = x._version
    assert ops.bump_(x, 5) is x and x.tolist() == [5.0, 5.0] and x._version > before


def test_devices_have_functions_of_their_own(ops):
    assert ops.scaled(torch.ones(3, device="meta")).is_meta
    with pytest.raises(
        NotImplementedError, match="Could not run 'cpp_lib::nothing'.*functions are registered for none"
    ):
        ops.nothing(torch.ones(1))


def test_gradients_pass_through_what_a_function_consists_of(ops):
    pytest.importorskip("torch.autograd")
    x = torch.tensor([0.5], requires_grad=True)
    ops.plain(x).backward()
    torch.testing.assert_close(x.grad, x.detach().cos())


def test_python_gives_a_derivative_to_an_operator_of_cpp(ops):
    pytest.importorskip("torch.autograd")
    torch.library.register_autograd("cpp_lib::scaled", lambda ctx, g: (g * 7, None))
    x = torch.ones(2, requires_grad=True)
    ops.scaled(x).sum().backward()
    assert x.grad.tolist() == [7.0, 7.0]


def test_layers_see_them(ops):
    from torch.utils._python_dispatch import TorchDispatchMode

    class Names(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            names.append((str(func), args[1:], kwargs))
            return func(*args, **kwargs)

    names = []
    with Names():
        ops.scaled(torch.ones(1), 4.0)
    assert names[-1] == ("cpp_lib.scaled.default", (4.0,), {})
    pytest.importorskip("torch.autograd")
    batch = torch.func.vmap(ops.scaled)(torch.ones(3, 2))
    assert batch.tolist() == [[2.0, 2.0]] * 3
    with torch.autograd.profiler.profile() as profile:
        ops.scaled(torch.ones(1))
    assert "cpp_lib::scaled" in [event.key for event in profile.key_averages()]


def test_arguments_are_checked(ops):
    with pytest.raises(
        RuntimeError, match="Expected a value of type 'Tensor' for argument 'x' but instead found type 'int'"
    ):
        ops.scaled(3)
    with pytest.raises(RuntimeError, match="missing value for argument 'by'"):
        ops.bump_(torch.ones(1))
    with pytest.raises(AttributeError, match="no attribute 'absent'"):
        ops.absent


WRONG = """
torch::Tensor f(const torch::Tensor& x) { return x; }
int64_t three(const torch::Tensor& x) { return 3; }
TORCH_LIBRARY(cpp_bad1, m) { m.def("f(Tensr x) -> Tensor"); }
TORCH_LIBRARY(cpp_bad2, m) { m.def("f(Tensor x)"); }
TORCH_LIBRARY(cpp_bad3, m) { m.def("f(Tensor x) -> Tensor"); m.def("f(Tensor x) -> Tensor"); }
TORCH_LIBRARY(cpp_bad4, m) { m.def("f(Tensor x) -> Tensor", f); }
TORCH_LIBRARY_IMPL(cpp_bad4, CompositeImplicitAutograd, m) { m.impl("f", f); }
TORCH_LIBRARY_IMPL(cpp_bad4, Nowhere, m) { m.impl("f", f); }
TORCH_LIBRARY(cpp_bad5, m) { m.def("f(Tensor x) -> Tensor", three); }
"""


def test_what_is_wrong_with_registrations_is_told_when_they_are_loaded(tmp_path):
    with pytest.raises(RuntimeError) as raised:
        load_inline("cpp_bad", WRONG, build_directory=str(tmp_path), is_python_module=False)
    lines = str(raised.value).splitlines()
    for line, message in zip(
        lines,
        [
            "unknown type specifier 'Tensr'",
            "the schema of an operator is 'name(type argument, ...) -> type', got 'f(Tensor x)'",
            "same name and overload name multiple times",
            "already a function registered for cpp_bad4::f and key CompositeImplicitAutograd",
            "no such dispatch key: 'Nowhere'",
        ],
        strict=True,
    ):
        assert message in line and "(registered at " in line
    with pytest.raises(TypeError, match="must return a Tensor, as its schema says, not int"):
        torch.ops.cpp_bad5.f(torch.ones(1))
    assert torch.ops.cpp_bad4.f(torch.ones(1)).item() == 1
