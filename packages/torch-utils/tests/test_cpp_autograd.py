"""Functions with a backward of their own in C++: torch::autograd::Function in extensions."""

import os
import threading

import pytest
import torch

pytest.importorskip("pybind11")
pytest.importorskip("torch.autograd", exc_type=ImportError)
from torch.utils import cpp_extension
from torch.utils.cpp_extension import load_inline

if not cpp_extension.check_compiler_abi_compatibility(os.environ.get("CXX", "c++")):
    pytest.skip("needs a C++20 compiler", allow_module_level=True)

pytestmark = pytest.mark.usefixtures("time_to_compile")

SOURCE = """
#include <ATen/Dispatch.h>
#include <ATen/OpMathType.h>
#include <ATen/TensorUtils.h>
#include <ATen/core/List.h>
#include <c10/util/irange.h>
#include <torch/csrc/autograd/custom_function.h>
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Cube : torch::autograd::Function<Cube> {
  static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& x, double scale, c10::optional<torch::Tensor> y) {
    ctx->save_for_backward({x, y.value_or(torch::Tensor())});
    ctx->saved_data["scale"] = scale;
    ctx->saved_data["sizes"] = x.sizes();
    return x * x * x * scale;
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    TORCH_CHECK(!saved[1] && ctx->saved_data["sizes"].toIntVector().size() == size_t(saved[0].dim()), "what was saved");
    return {grads[0] * saved[0] * saved[0] * (3 * ctx->saved_data["scale"].toDouble()), torch::Tensor(), torch::Tensor()};
  }
};
torch::Tensor cube(const torch::Tensor& x, double scale) { return Cube::apply(x, scale, c10::nullopt); }

struct Two : torch::autograd::Function<Two> {
  static variable_list forward(AutogradContext* ctx, torch::Tensor a, std::vector<torch::Tensor> more, int64_t k) {
    ctx->save_for_backward({a, more[0]});
    ctx->saved_data["k"] = k;
    const torch::Tensor last = more[1].clone();
    ctx->mark_non_differentiable({last});
    return {a * more[0], a + more[1] * k, last};
  }
  static variable_list backward(AutogradContext* ctx, variable_list g) {
    const auto saved = ctx->get_saved_variables();
    torch::Tensor a;
    if (ctx->needs_input_grad(0)) a = g[0] * saved[1] + g[1];
    return {a, g[0] * saved[0], g[1] * ctx->saved_data["k"].to<int>(), torch::Tensor()};
  }
};
variable_list two(torch::Tensor a, torch::Tensor b, torch::Tensor c) { return Two::apply(a, variable_list{b, c}, 3); }

struct Doubled : torch::autograd::Function<Doubled> {
  static torch::Tensor forward(AutogradContext* ctx, torch::Tensor x) {
    x.mul_(2);
    ctx->mark_dirty({x});
    return x;
  }
  static variable_list backward(AutogradContext*, variable_list grads) { return {grads[0] * 2}; }
};
torch::Tensor doubled_(torch::Tensor x) { return Doubled::apply(x); }

struct Wrong : torch::autograd::Function<Wrong> {
  static torch::Tensor forward(AutogradContext* ctx, torch::Tensor x, int how) {
    TORCH_CHECK(how > 0, "forward of ", x.sizes());
    ctx->saved_data["how"] = how;
    return x * 2;
  }
  static variable_list backward(AutogradContext* ctx, variable_list g) {
    const auto how = ctx->saved_data["how"];
    if (how.toInt() == 1) return {};
    if (how.toInt() == 2) return {g[0], g[0]};
    how.toDouble();
    return g;
  }
};
torch::Tensor wrong(torch::Tensor x, int how) { return Wrong::apply(x, how); }

torch::Tensor partly(torch::Tensor x) {
  torch::Tensor y;
  {
    torch::NoGradGuard nothing;
    y = x * 2;
    torch::AutoGradMode again(true);
    y = y + x;
  }
  return y;
}
torch::Tensor slope(torch::Tensor x) { return torch::autograd::grad({(x * x).sum()}, {x})[0]; }
void back(torch::Tensor x) { torch::autograd::backward({x.sin().sum()}); }
double total(torch::Tensor x) {
  const double* p = x.data_ptr<double>();
  auto part = [&](int64_t from, int64_t to, double sum) {
    for (auto i : c10::irange(from, to)) sum += p[i];
    return sum;
  };
  return at::parallel_reduce(0, x.numel(), 7, 0.0, part, std::plus<double>());
}

torch::Tensor of_tape(torch::Tensor x) {
  torch::Tensor y = x.detach().clone().requires_grad_();
  TORCH_CHECK(y.is_leaf() && !y.grad().defined() && torch::GradMode::is_enabled(), "a fresh leaf");
  (y * y).sum().backward();
  torch::InferenceMode nothing;
  TORCH_CHECK(!torch::GradMode::is_enabled() && !(y * 2).requires_grad(), "nothing is recorded");
  return y.grad();
}
std::string dispatched(torch::Tensor x, torch::Tensor i) {
  at::OptionalDeviceGuard guard(device_of(x));
  std::string words;
  AT_DISPATCH_ALL_TYPES_AND2(at::kHalf, at::kBool, x.scalar_type(), "dispatched", [&] {
    words = c10::str(sizeof(scalar_t), " bytes from ", double(x.const_data_ptr<scalar_t>()[0]));
    x.mutable_data_ptr<scalar_t>()[0] = scalar_t(3);
  });
  AT_DISPATCH_INDEX_TYPES(i.scalar_type(), "dispatched", [&] {
    auto places = i.packed_accessor32<index_t, 1, torch::RestrictPtrTraits>();
    words += c10::str(", ", sizeof(index_t), " bytes to ", places[places.size(0) - 1]);
  });
  return words;
}
std::string formats(torch::Tensor x) {
  const auto format = x.suggest_memory_format();
  return c10::str(format == at::MemoryFormat::ChannelsLast, x.is_contiguous(at::MemoryFormat::ChannelsLast),
                  x.is_contiguous(at::MemoryFormat::Contiguous), x.is_contiguous());
}
std::vector<torch::Tensor> made(torch::Tensor x) {
  torch::manual_seed(3);
  const torch::Tensor drawn = torch::rand({2});
  TORCH_CHECK_EQ(x.dim(), 2);
  TORCH_WARN_ONCE("told once");
  const c10::complex<double> z(1, 2);
  return {torch::einsum("ij,kj->ik", {x, x}), torch::tensor(std::vector<double>{1, z.imag()}), drawn,
          x.to(torch::kCPU, torch::kFloat32)};
}

std::vector<torch::Tensor> compared(torch::Tensor x) {
  torch::Tensor y = x.to(torch::kHalf);
  y.masked_fill_(y == 2, c10::Half(7.0f));
  return {x == 2, x != 2.0, std::get<1>(x.sort(/*stable=*/true, /*dim=*/0, /*descending=*/true)), y};
}
std::vector<double> limits(torch::Tensor x) {
  std::vector<double> found;
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "limits", [&] {
    using Limits = std::numeric_limits<scalar_t>;
    static_assert(Limits::is_specialized && !Limits::is_integer);
    for (scalar_t v : {Limits::lowest(), Limits::max(), Limits::min(), Limits::epsilon(), Limits::infinity(), Limits::denorm_min()})
      found.push_back(double(v));
    TORCH_CHECK(std::isnan(float(Limits::quiet_NaN())), "no number");
  });
  return found;
}
// Kernels for every dtype are written so: halves are added up in floats, compared with each other, and round.
template <typename scalar_t>
void fold(const scalar_t* in, scalar_t* out, int64_t n) {
  at::opmath_type<scalar_t> sum = 0;
  scalar_t most = std::numeric_limits<scalar_t>::lowest(), least = most;
  for (int64_t i = 0; i < n; i++) {
    sum += in[i];
    if (in[i] > most) most = in[i];
  }
  out[0] = most;
  out[1] = sum / n;
  out[2] = in[0] * in[1] + in[2];
  out[3] = sum;
  out[3] -= in[0];
  if (out[3] < 0 || 0 > in[0] || -out[3] > 1) out[3] = -in[0];
  out[4] = least;
}
std::tuple<torch::Tensor, int64_t> folded(torch::Tensor x) {
  torch::Tensor out = torch::empty({5}, x.options());
  AT_DISPATCH_ALL_TYPES_AND2(at::ScalarType::Half, at::ScalarType::BFloat16, x.scalar_type(), "folded", [&] {
    fold(x.data_ptr<scalar_t>(), out.data_ptr<scalar_t>(), x.numel());
    const scalar_t least = std::numeric_limits<scalar_t>::lowest();
    TORCH_CHECK(x.scalar_type() == c10::CppTypeToScalarType<scalar_t>::value);
    out.masked_fill_(out == least, (scalar_t)0);
    TORCH_CHECK(!(out < least).any().item<bool>() && (x * scalar_t(2)).dtype() == x.dtype());
  });
  TORCH_CHECK(!torch::autograd::any_variable_requires_grad({x, out}), "of plain numbers");
  const c10::List<int64_t> sizes = x.sizes().vec();
  return {out, sizes.get(0) + sizes[sizes.size() - 1]};
}
torch::Tensor checked(const torch::Tensor& a, const torch::Tensor& b) {
  at::CheckedFrom from = "checked";
  at::TensorArg first{a, "a", 1}, second{b, "b", 2};
  at::checkAllSameType(from, {first, second});
  at::checkAllSameGPU(from, {first, second});
  at::checkDim(from, first, 1);
  at::checkSameSize(from, first, second);
  return a + b;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("compared", compared);
  m.def("checked", checked);
  m.def("folded", folded);
  m.def("limits", limits);
  m.def("of_tape", of_tape);
  m.def("dispatched", dispatched);
  m.def("formats", formats);
  m.def("made", made);
  m.def("cube", cube, py::call_guard<py::gil_scoped_release>());
  m.def("two", two);
  m.def("doubled_", doubled_);
  m.def("wrong", wrong);
  m.def("partly", partly);
  m.def("slope", slope);
  m.def("back", back);
  m.def("total", total);
}
"""


@pytest.fixture(scope="module")
def cpp():
    return load_inline("cpp_autograd", SOURCE, extra_cflags=["-O0"])


def leaf(*values):
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


def test_a_function_has_its_own_gradient_to_the_second_order(cpp):
    x = leaf(1.0, -2.0)
    y = cpp.cube(x, 2.0)
    y.sum().backward()
    assert y.tolist() == [2.0, -16.0] and x.grad.tolist() == [6.0, 24.0]
    assert y.grad_fn.name() == "CubeBackward"
    assert torch.autograd.gradcheck(cpp.cube, (leaf(0.5, -1.5), 1.5))
    assert torch.autograd.gradgradcheck(cpp.cube, (leaf(0.5, -1.5), 1.5))


def test_tensors_of_lists_have_gradients_and_results_may_be_several(cpp):
    a, b, c = leaf(1.0, 2.0), leaf(3.0, 4.0), leaf(5.0, 6.0)
    first, second, third = cpp.two(a, b, c)
    assert not third.requires_grad
    (first + second).sum().backward()
    assert (a.grad.tolist(), b.grad.tolist(), c.grad.tolist()) == ([4.0, 5.0], [1.0, 2.0], [3.0, 3.0])
    assert torch.autograd.gradcheck(lambda *x: cpp.two(*x)[:2], (a, b, c))


def test_what_needs_no_gradient_is_told_to_backward(cpp):
    b = leaf(3.0, 4.0)
    cpp.two(torch.ones(2, dtype=torch.float64), b, b)[0].sum().backward()
    assert b.grad.tolist() == [1.0, 1.0]


def test_a_change_in_place_may_be_marked(cpp):
    x = leaf(1.0, 2.0)
    y = x * 1
    assert cpp.doubled_(y) is y
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


@pytest.mark.parametrize(
    ("how", "text"),
    [
        (0, r"forward of \(2,\)"),
        (1, "Wrong::backward: it gives 0 gradients, and forward has 2 arguments"),
        (2, "Wrong::backward: argument 2 is no tensor and has no gradient"),
        (3, "IValue: it is an int, and not a double"),
    ],
)
def test_what_is_wrong_is_told_by_the_name_of_the_function(cpp, how, text):
    with pytest.raises(RuntimeError, match=text):
        cpp.wrong(leaf(1.0, 2.0), how).sum().backward()


def test_guards_stop_recording_and_start_it_again(cpp):
    x = leaf(1.0)
    y = cpp.partly(x)
    y.sum().backward()
    assert y.item() == 3.0 and x.grad.tolist() == [1.0]
    with torch.no_grad():
        assert not cpp.cube(x, 1.0).requires_grad


def test_the_tape_may_be_run_from_cpp(cpp):
    x = leaf(0.5, 1.0)
    assert cpp.slope(x).tolist() == [1.0, 2.0]
    cpp.back(x)
    assert torch.equal(x.grad, x.detach().cos())


def test_many_threads_may_apply_one_function(cpp):
    found = []

    def run(k):
        x = leaf(float(k))
        cpp.cube(x, 1.0).sum().backward()
        found.append(x.grad.item() == 3 * k * k)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 8


def test_parts_are_put_together(cpp):
    assert cpp.total(torch.arange(100.0, dtype=torch.float64)) == 4950.0
    assert cpp.total(torch.zeros(0, dtype=torch.float64)) == 0.0


def test_tensors_ask_the_tape(cpp):
    assert cpp.of_tape(torch.tensor([1.0, 2.0])).tolist() == [2.0, 4.0]


def test_functions_are_dispatched_by_more_dtypes_and_by_those_of_indices(cpp):
    for dtype, size in ((torch.float16, 2), (torch.bool, 1), (torch.int64, 8)):
        x = torch.ones(2, dtype=dtype)
        for places, width in ((torch.int32, 4), (torch.int64, 8)):
            text = cpp.dispatched(x, torch.tensor([4, 7], dtype=places))
            assert text.endswith(f", {width} bytes to 7") and text.startswith(f"{size} bytes from ")
        assert x[0] == torch.tensor(3).to(dtype)
    with pytest.raises(NotImplementedError, match="\"dispatched\" not implemented for 'BFloat16'"):
        cpp.dispatched(torch.ones(1, dtype=torch.bfloat16), torch.tensor([0]))


def test_the_memory_format_of_a_tensor_is_told(cpp):
    x = torch.zeros(2, 3, 4, 5)
    assert cpp.formats(x) == "0011"
    assert cpp.formats(x.to(memory_format=torch.channels_last)) == "1100"
    assert cpp.formats(x[:, :, ::2]) == "0000"


def test_tensors_are_made_under_the_names_of_pytorch(cpp):
    x = torch.arange(6.0, dtype=torch.float64).view(2, 3)
    with pytest.warns(UserWarning, match="told once"):
        product, row, drawn, single = cpp.made(x)
    assert torch.equal(product, x @ x.T) and row.tolist() == [1.0, 2.0] and single.dtype == torch.float32
    torch.manual_seed(3)
    assert torch.equal(drawn, torch.rand(2))
    with pytest.raises(RuntimeError, match=r"x.dim\(\) == 2: they are 1 and 2"):
        cpp.made(x[0])


def test_elements_are_compared_with_numbers_and_sorted_stably(cpp):
    equal, different, order, filled = cpp.compared(torch.tensor([2.0, 1.0, 2.0]))
    assert equal.tolist() == [True, False, True] and different.tolist() == [False, True, False]
    assert order.tolist() == [0, 2, 1] and filled.tolist() == [7.0, 1.0, 7.0]


@pytest.mark.parametrize(
    ("a", "b", "text"),
    [
        (torch.ones(2), torch.ones(2).double(), "checked: a .*float32.* and b .*float64.* must have one dtype"),
        (torch.ones(2, 1), torch.ones(2), "checked: argument 1 a must have 1 dims"),
        (torch.ones(2), torch.ones(3), "checked: a .* and b .* must have one shape"),
    ],
)
def test_arguments_are_checked_by_pytorchs_words(cpp, a, b, text):
    assert torch.equal(cpp.checked(torch.ones(2), torch.ones(2)), torch.full((2,), 2.0))
    with pytest.raises(RuntimeError, match=text):
        cpp.checked(a, b)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_limits_are_those_of_the_dtype(cpp, dtype):
    info = torch.finfo(dtype)
    least = {torch.float16: 2.0**-24, torch.bfloat16: 2.0**-133, torch.float32: 2.0**-149, torch.float64: 2.0**-1074}
    expected = [info.min, info.max, info.tiny, info.eps, float("inf"), least[dtype]]
    assert cpp.limits(torch.zeros(1, dtype=dtype)) == expected


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64, torch.int32])
def test_kernels_compute_in_halves_as_in_other_numbers(cpp, dtype):
    x = torch.tensor([3, 5, 7, 2, 3], dtype=dtype)
    out, sizes = cpp.folded(x)
    assert out.tolist() == [7, 4, 22, 17, 0] and out.dtype == dtype and sizes == 10
