"""Extensions that are written with PyTorch's C++ names."""

import os

import pytest
import torch
from torch import _cold

pytest.importorskip("pybind11")
from torch.utils import cpp_extension
from torch.utils.cpp_extension import load_inline

if not cpp_extension.check_compiler_abi_compatibility(os.environ.get("CXX", "c++")):
    pytest.skip("needs a C++20 compiler", allow_module_level=True)

pytestmark = pytest.mark.usefixtures("time_to_compile")

SOURCE = """
#include <ATen/ATen.h>
#include <ATen/record_function.h>

// A leaky gate with its gradient by hand, as such code is written: methods, numbers on both sides, in-place operators.
at::Tensor gate(at::Tensor x, at::Tensor w, double slope) {
  RECORD_FUNCTION("gate", std::vector<at::Tensor>({x, w}));
  AT_CHECK(x.dim() == 2 && x.size(1) == w.size(0), "gate: ", x.sizes(), " does not go with ", w.sizes());
  auto z = x.mm(w);
  return (z > 0).type_as(z) * z + (z <= 0).to(z.scalar_type()) * (z * slope);
}
std::vector<torch::Tensor> gate_backward(torch::Tensor g, torch::Tensor x, torch::Tensor w, double slope) {
  auto z = torch::mm(x, w);
  auto dz = torch::where(z > 0, torch::ones_like(z), torch::full(z.sizes(), slope, z.options()));
  dz *= g;
  return {dz.mm(w.t()), x.t().mm(dz)};
}

template <typename scalar_t>
void cube(const scalar_t* in, scalar_t* out, int64_t n) {
  at::parallel_for(0, n, 100, [&](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; i++) out[i] = in[i] * in[i] * in[i];
  });
}
torch::Tensor cubed(torch::Tensor x) {
  TORCH_CHECK(x.is_contiguous());
  auto out = at::empty_like(x);
  AT_DISPATCH_ALL_TYPES(x.type(), "cubed", ([&] { cube<scalar_t>(x.data<scalar_t>(), out.data_ptr<scalar_t>(), x.numel()); }));
  return out;
}

at::ScalarType wider(const at::Tensor& x, c10::optional<at::ScalarType> other) {
  const at::ScalarType mine = x.scalar_type();
  switch (mine) {
    case at::ScalarType::Half: return torch::ScalarType::Float;
    case at::ScalarType::Int: return at::kLong;
    case at::ScalarType::Float: return at::kDouble;
    default: return other.value_or(mine);
  }
}
at::Tensor of_dtype(at::ScalarType t) { return torch::ones({2}, torch::dtype(t)).to(t); }

std::vector<at::Tensor> methods(at::Tensor x) {  // (2, 3) float64
  std::vector<at::Tensor> out{
      x.sum(), x.sum(0), x.sum({0, 1}, true), x.mean({1}), x.view({3, -1}), x.view(-1), x.permute({1, 0}), x.max(),
      std::get<0>(x.max(1)), x.max(x * 0 + 2), x.clamp(1, 3), x.clamp(2), x.pow(2), x.add(1), x.add(x, 2), x.std(), x.std(0),
      x.var(0, false), x.norm(), x.norm(1), x.repeat({2, 1}), x.expand({4, 2, 3}), x.transpose(0, 1), x[1], x.slice(1, 1),
      x.split(2, 1)[1], x.chunk(3, 1)[0], x.flatten(), x.unsqueeze(-1), x.softmax(1), x.argmax(1), x.roll(1, 0), x.masked_fill(x > 2, 0),
      torch::max(x, x.flip({0})), std::get<1>(torch::max(x, 0)), torch::cat({x, x}, 1), torch::stack({x, x}),
      torch::add(x, 1), torch::pow(x, 0), torch::where(x > 2, x, 0), torch::div(x, 2, "floor")};
  auto copy = x.clone();
  copy.fill_(3).add_(x);
  copy -= 1;
  copy[0].zero_();
  out.push_back(copy);
  return out;
}

std::vector<at::Tensor> made(at::Tensor like) {
  auto options = torch::TensorOptions().dtype(torch::kInt32).device(torch::kCPU).requires_grad(false);
  static double numbers[] = {1, 2, 3, 4, 5, 6};
  return {torch::zeros({2}, like.options()), torch::ones({2}, at::kHalf), torch::full({2}, 7, options), torch::arange(1, 4, options),
          torch::arange(3.0), torch::eye(2, options), torch::linspace(0, 1, 3, like.options()), like.new_zeros({2}),
          like.new_ones({1}, options), torch::tensor({1, 2}), torch::tensor({1.5, 2.0}), torch::tensor(2.5, torch::kDouble),
          torch::tensor({true, false}), torch::from_blob(numbers, {2, 2}, torch::kFloat64),
          torch::from_blob(numbers, {2, 2}, {1, 2}, torch::dtype<double>()), torch::randint(5, 6, {2}, torch::kLong),
          like.to(torch::kFloat), like.to(options)};
}

py::tuple facts(at::Tensor x) {
  return py::make_tuple(x.item<double>(), x.item().to<int64_t>(), x.ndimension(), x.scalar_type() == at::kDouble, x.is_cuda(),
                        x.type().is_cuda(), x.toString(), x.nbytes(), x.element_size(), x.is_floating_point());
}
bool given(c10::optional<at::Tensor> x) { return x != c10::nullopt; }
void warn(at::Tensor x) { TORCH_WARN("got ", x.type(), " and ", toString(x.scalar_type())); }
at::Tensor nothing_said() { return at::empty({}); }
void wrong(int which) {
  if (which == 0) AT_ERROR("no ", which);
  if (which == 1) AT_ASSERT(which == 0);
  if (which == 2) TORCH_INTERNAL_ASSERT(false, "words");
  if (which == 3) torch::zeros({1}, torch::TensorOptions().requires_grad(true));
  if (which == 4) torch::ones({2}).item<float>();
  if (which == 5) torch::ones({2}).data_ptr<double>();
}
int64_t freed = 0;
at::Tensor borrowed() {
  return torch::from_blob(new float[2]{1, 2}, {2}, [](void* p) { delete[] static_cast<float*>(p); freed++; });
}

struct Product {  // a class of Python that holds a tensor
  explicit Product(int64_t n) : w_(torch::eye(n)) {}
  at::Tensor forward(at::Tensor x) { return w_.mm(x); }
  at::Tensor w_;
};

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("gate", &gate);
  m.def("gate_backward", &gate_backward);
  m.def("cubed", &cubed, "x * x * x");
  m.def("wider", &wider);
  m.def("of_dtype", &of_dtype);
  m.def("methods", &methods);
  m.def("made", &made);
  m.def("facts", &facts);
  m.def("given", &given);
  m.def("warn", &warn);
  m.def("nothing_said", &nothing_said);
  m.def("wrong", &wrong);
  m.def("borrowed", &borrowed);
  m.def("freed", [] { return freed; });
  py::class_<Product>(m, "Product").def(py::init<int64_t>()).def("forward", &Product::forward).def_readonly("w", &Product::w_);
}
"""


@pytest.fixture(scope="module")
def module(tmp_path_factory):
    folder = tmp_path_factory.mktemp("built")
    return load_inline(
        "aten_names", "#include <torch/torch.h>\n" + SOURCE, extra_cflags=["-O0"], build_directory=folder
    )


def test_a_layer_written_for_pytorch_has_the_right_gradient(module):
    autograd = pytest.importorskip("torch.autograd")

    class Gate(autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            return module.gate(x, w, 0.1)

        @staticmethod
        def backward(ctx, g):
            return tuple(module.gate_backward(g, *ctx.saved_tensors, 0.1))

    x, w = (torch.randn(3, 3, dtype=torch.float64, requires_grad=True) for _ in range(2))
    assert autograd.gradcheck(Gate.apply, (x, w))
    assert autograd.gradcheck(lambda x, w: module.gate(x, w, 0.1), (x, w))  # its operators are recorded, too
    with pytest.raises(RuntimeError, match=r"^gate: \(3, 3\) does not go with \(2, 3\)$"):
        module.gate(x, w[:2], 0.1)


def test_dispatch_gives_each_dtype_its_type(module):
    for dtype in (torch.float32, torch.float64, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64):
        x = torch.arange(5).to(dtype)
        assert module.cubed(x).dtype is dtype
        assert module.cubed(x).tolist() == [0, 1, 8, 27, 64]
    x = torch.randn(1000)
    assert torch.equal(module.cubed(x), x * x * x)
    with pytest.raises(RuntimeError, match="\"cubed\" not implemented for 'Half'"):
        module.cubed(torch.ones(2, dtype=torch.float16))
    with pytest.raises(RuntimeError, match=r"expected x.is_contiguous\(\)"):
        module.cubed(torch.ones(2, 3).t())


def test_dtypes_have_their_names_of_before(module):
    ones = torch.ones(2)
    assert module.wider(ones.half(), None) is torch.float32
    assert module.wider(ones.int(), None) is torch.int64
    assert module.wider(ones, torch.int8) is torch.float64
    assert module.wider(ones.bool(), torch.int8) is torch.int8
    assert module.of_dtype(torch.complex64).tolist() == [1, 1] and module.of_dtype(torch.int16).dtype is torch.int16


def test_methods_in_cpp_are_the_methods_of_python(module):
    x = torch.tensor([[1.0, 5.0, 2.5], [3.0, 2.0, 4.0]], dtype=torch.float64)
    copy = x + 2
    copy[0] = 0
    expected = [
        x.sum(), x.sum(0), x.sum((0, 1), True), x.mean(1), x.view(3, 2), x.view(-1), x.permute(1, 0), x.max(),
        x.max(1)[0], x.maximum(torch.tensor(2.0, dtype=torch.float64)), x.clamp(1, 3), x.clamp(2), x**2, x + 1, 3 * x, x.std(), x.std(0),
        x.var(0, unbiased=False), x.norm(), x.norm(1), x.repeat(2, 1), x.expand(4, 2, 3), x.t(), x[1], x[:, 1:],
        x[:, 2:], x[:, :1], x.flatten(), x.unsqueeze(-1), x.softmax(1), x.argmax(1), x.roll(1, 0), x.masked_fill(x > 2, 0),
        x.maximum(x.flip(0)), x.max(0)[1], torch.cat((x, x), 1), torch.stack((x, x)),
        x + 1, x**0, x.where(x > 2, 0), x // 2, copy,
    ]  # fmt: skip
    found = module.methods(x)
    assert len(found) == len(expected)
    for i, (a, b) in enumerate(zip(found, expected)):
        assert a.dtype is b.dtype and a.shape == b.shape and torch.equal(a, b), (i, a, b)


def test_new_tensors_follow_their_options(module):
    like = torch.tensor([1.5, 2.5], dtype=torch.float64)
    i32, f64 = torch.int32, torch.float64
    expected = [
        ([0, 0], f64), ([1, 1], torch.float16), ([7, 7], i32), ([1, 2, 3], i32), ([0, 1, 2], torch.float32), ([[1, 0], [0, 1]], i32),
        ([0, 0.5, 1], f64), ([0, 0], f64), ([1], i32), ([1, 2], torch.int64), ([1.5, 2.0], torch.float32), (2.5, f64),
        ([True, False], torch.bool), ([[1, 2], [3, 4]], f64), ([[1, 3], [2, 4]], f64), ([5, 5], torch.int64),
        ([1.5, 2.5], torch.float32), ([1, 2], i32),
    ]  # fmt: skip
    assert [(x.tolist(), x.dtype) for x in module.made(like)] == expected


def test_the_default_dtype_is_that_of_python(module):
    torch.set_default_dtype(torch.float64)
    try:
        assert module.nothing_said().dtype is torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    assert module.nothing_said().dtype is torch.float32


def test_facts_of_a_tensor_are_there_under_their_names(module):
    x = torch.tensor([[2.5]], dtype=torch.float64)
    assert module.facts(x) == (2.5, 2, 2, True, False, False, "CPUDoubleType", 8, 8, True)
    for value in (True, 3, -4):
        assert module.facts(torch.tensor(value))[:2] == (value, value)
    assert module.facts(torch.tensor(1.5, dtype=torch.bfloat16))[0] == 1.5
    assert (module.given(None), module.given(x)) == (False, True)


def test_errors_and_warnings_of_cpp_are_those_of_python(module):
    with pytest.warns(UserWarning, match="^got CPUShortType and Short$"):
        module.warn(torch.ones(1, dtype=torch.int16))
    said = [
        "no 0",
        r"AT_ASSERT\(which == 0\) failed at .*aten_names",
        r"TORCH_INTERNAL_ASSERT\(false\) failed at .*: words",
    ]
    said += [
        "require a gradient in Python",
        "one element is needed",
        r"expected elements of torch.float64, got \(2,\) torch.float32",
    ]
    for which, words in enumerate(said):
        with pytest.raises(NotImplementedError if which == 3 else RuntimeError, match=words):
            module.wrong(which)


def test_memory_that_is_lent_goes_back_when_the_tensor_goes(module):
    x = module.borrowed()
    y = x[1:]
    del x
    assert (y.tolist(), module.freed()) == ([2], 0)
    del y
    assert module.freed() == 1


def test_a_class_that_holds_a_tensor_is_bound(module):
    product = module.Product(2)
    x = torch.rand(2, 3)
    assert torch.equal(product.forward(x), x)
    assert product.w is product.w


def test_a_range_of_an_extension_is_in_the_profile(module):
    x, w = torch.ones(2, 3), torch.ones(3, 2)
    session = _cold.start_profile(False, False, False)
    module.gate(x, w, 0.1)
    names = {(event[0], event[8]) for event in _cold.stop_profile(session)["events"]}  # and the parent's index
    assert {("gate", -1), ("aten::mm", 0)} <= names
