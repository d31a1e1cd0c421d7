"""What crosses the border between Python and an extension: tensors, the other types of the core, errors."""

import os

import pytest
import torch

pytest.importorskip("pybind11")
from torch.utils import cpp_extension
from torch.utils.cpp_extension import load_inline

if not cpp_extension.check_compiler_abi_compatibility(os.environ.get("CXX", "c++")):
    pytest.skip("needs a C++20 compiler", allow_module_level=True)

pytestmark = pytest.mark.usefixtures("time_to_compile")

CASES = """
#include <stdexcept>
torch::Tensor scaled(const torch::Tensor& x, double by) { return 1 - torch::sigmoid(x) * by; }
bool given(std::optional<torch::Tensor> x) { return x.has_value(); }
std::optional<torch::Tensor> nothing() { return {}; }
torch::Tensor undefined() { return {}; }
torch::DType dtype_back(torch::DType t) { return t; }
torch::Device device_back(torch::Device d) { return d; }
torch::Scalar scalar_back(torch::Scalar s) { return s; }
torch::Tensor zeros_of(torch::IntArrayRef size) { return torch::zeros(size); }
torch::IntArrayRef shape(const torch::Tensor& x) { return x.sizes(); }
torch::Tensor joined(const std::vector<torch::Tensor>& all) { return torch::cat(all); }
std::vector<torch::Tensor> halves(const torch::Tensor& x) { return torch::chunk(x, 2); }
std::tuple<torch::Tensor, torch::Tensor> top(const torch::Tensor& x) { return torch::max_dim(x, 0); }
void fail(int kind) {
  if (kind == 6) throw std::invalid_argument("not ours");
  torch::throw_error(torch::ErrorKind(kind), "the words");
}
double trace(const torch::Tensor& x) {
  auto a = torch::accessor<double, 2>(x);
  double sum = 0;
  for (int64_t i = 0; i < std::min(a.size(0), a.size(1)); ++i) sum += a[i][i];
  return sum;
}
void fill(torch::Tensor x, float value) {
  auto a = torch::accessor<float, 1>(x);
  for (int64_t i = 0; i < a.size(0); ++i) a[i] = value;
  torch::mark_changed(x, "fill(Tensor(a!) x, float value) -> ()");
}
"""
NAMES = (
    "scaled given nothing undefined dtype_back device_back scalar_back zeros_of shape joined halves top fail trace fill"
)


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cases")
    return load_inline("cases", CASES, functions=NAMES.split(), extra_cflags=["-O0"], build_directory=folder)


def test_tensors_go_in_and_come_out(cases):
    x = torch.randn(3)
    assert torch.allclose(cases.scaled(x, 2.0), 1 - torch.sigmoid(x) * 2)
    assert cases.joined([x, x]).shape == (6,)
    assert [h.shape for h in cases.halves(torch.ones(4, 2))] == [(2, 2), (2, 2)]
    values, indices = cases.top(torch.tensor([[1.0, 5.0], [3.0, 2.0]]))
    assert values.tolist() == [3, 5]
    assert indices.tolist() == [1, 0]


def test_one_tensor_is_one_python_object_on_both_sides(cases):
    x = torch.nn.Parameter(torch.ones(2)) if hasattr(torch, "nn") else torch.ones(2)
    assert cases.joined([x]).shape == (2,)
    assert type(cases.scaled(x, 1.0)) is torch.Tensor


def test_none_is_an_absent_tensor(cases):
    assert (cases.given(None), cases.given(torch.ones(1))) == (False, True)
    assert cases.nothing() is None
    assert cases.undefined() is None


def test_other_types_of_the_core_cross_the_border(cases):
    assert cases.dtype_back(torch.float16) is torch.float16
    assert cases.device_back("cpu") == torch.device("cpu")
    assert cases.device_back(torch.device("meta")) == torch.device("meta")
    for value in (True, 3, 2.5, 1 + 2j):
        assert cases.scalar_back(value) == value
        assert type(cases.scalar_back(value)) is type(value)
    assert cases.zeros_of([2, 3]).shape == (2, 3)
    assert cases.zeros_of(torch.Size([4])).shape == (4,)
    assert type(cases.shape(torch.ones(2, 1))) is torch.Size


def test_wrong_arguments_are_told_with_the_signatures(cases):
    with pytest.raises(TypeError, match=r"\(arg0: torch.Tensor, arg1: .*\) -> torch.Tensor"):
        cases.scaled("x", 1.0)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        cases.scaled(None, 1.0)
    with pytest.raises(TypeError):
        cases.zeros_of([2, "3"])
    with pytest.raises(TypeError):
        cases.zeros_of([2**70])
    with pytest.raises(TypeError):
        cases.dtype_back("float32x")


@pytest.mark.parametrize(
    "kind,error",
    list(enumerate([RuntimeError, IndexError, TypeError, ValueError, NotImplementedError, torch.OutOfMemoryError])),
)
def test_an_error_has_the_class_of_its_kind(cases, kind, error):
    with pytest.raises(error, match="^the words$") as caught:
        cases.fail(kind)
    assert caught.type is error


def test_errors_of_others_stay_theirs(cases):
    with pytest.raises(ValueError, match="not ours"):
        cases.fail(6)


def test_an_operators_error_arrives_in_words(cases):
    with pytest.raises(RuntimeError, match="Expected size 2 but got size 3 for tensor number 1"):
        cases.joined([torch.ones(2, 2), torch.ones(3, 3)])


def test_an_accessor_reads_strided_tensors_and_checks_them(cases):
    x = torch.arange(6.0, dtype=torch.float64).view(2, 3)
    assert cases.trace(x) == 4
    assert cases.trace(x.t()) == 4
    assert cases.trace(x[:, 1:]) == 1 + 5
    with pytest.raises(RuntimeError, match=r"expected elements of torch.float64, got \(2, 2\) torch.float32"):
        cases.trace(torch.ones(2, 2))
    with pytest.raises(RuntimeError, match=r"expected 2 dims, got \(3,\) torch.float64"):
        cases.trace(torch.ones(3, dtype=torch.float64))
    with pytest.raises(RuntimeError, match="expected a tensor on the CPU, got one on meta"):
        cases.trace(torch.empty(2, 2, dtype=torch.float64, device="meta"))


def test_a_marked_change_raises_the_version(cases):
    x = torch.zeros(4)
    before = x._version
    cases.fill(x[::2], 5.0)
    assert x.tolist() == [5, 0, 5, 0]
    assert x._version == before + 1


def test_operators_called_from_cpp_are_differentiated(cases):
    if not hasattr(torch, "autograd"):
        pytest.skip("needs torch-autograd")
    x = torch.randn(3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: cases.scaled(x, 3.0), x)
    assert torch.autograd.gradgradcheck(lambda x: cases.scaled(x, 3.0), x)
