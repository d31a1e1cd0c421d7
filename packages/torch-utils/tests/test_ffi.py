import sys

import pytest
import torch

pytest.importorskip("cffi")
from torch.utils.ffi import create_extension

HEADER = """
#pragma once
#ifdef __cplusplus
extern "C" {
#endif
torch_tensor *doubled(torch_tensor *x);
torch_tensor *spoiled(torch_tensor *x);
torch_status add_one(torch_tensor *x, int times);
torch_status refuse(int status, const char *why);
int64_t count(torch_tensor *a, torch_tensor *b);
double half(double x);
const char *greeting(int there);
#ifdef __cplusplus
}
#endif
"""
SOURCE = """
#include <torch/c/torch.h>
#include "small.h"
torch_tensor *doubled(torch_tensor *x) {
  torch_value arguments[2], result;
  arguments[0] = torch_value_tensor(x);
  arguments[1] = torch_value_double(2);
  return torch_call("mul", arguments, 2, &result, 1) == TORCH_OK ? result.as.tensor : NULL;
}
torch_tensor *spoiled(torch_tensor *x) {
  torch_value argument = torch_value_tensor(x), result;
  return torch_call("no_such_operator", &argument, 1, &result, 1) == TORCH_OK ? result.as.tensor : NULL;
}
torch_status add_one(torch_tensor *x, int times) {
  int i;
  for (i = 0; i < times; ++i) {
    torch_value arguments[2], result;
    torch_status status;
    arguments[0] = torch_value_tensor(x);
    arguments[1] = torch_value_int(1);
    status = torch_call("add_", arguments, 2, &result, 1);
    if (status != TORCH_OK) return status;
    torch_release(result.as.tensor);
  }
  return TORCH_OK;
}
torch_status refuse(int status, const char *why) { return torch_fail(status, why); }
int64_t count(torch_tensor *a, torch_tensor *b) { return torch_numel(a) + torch_numel(b); }
double half(double x) { return x / 2; }
const char *greeting(int there) { return there ? "hello" : NULL; }
"""


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ffi")
    (folder / "small.h").write_text(HEADER)
    (folder / "small.c").write_text(SOURCE)
    create_extension("_ext.small", "small.h", ["small.c"], relative_to=str(folder), verbose=False).build()
    sys.path.insert(0, str(folder))
    try:
        from _ext import small

        yield small
    finally:
        sys.path.remove(str(folder))


def test_tensors_go_into_c_and_come_back(small):
    x = torch.tensor([1.0, 2.5])
    assert small.doubled(x).tolist() == [2, 5]
    assert small.count(x, torch.ones(2, 3)) == 8
    assert small.half(3.0) == 1.5


def test_a_change_made_in_c_is_seen_and_counted(small):
    x = torch.zeros(4)
    before = x._version
    assert small.add_one(x[1:3], 3) is None
    assert x.tolist() == [0, 3, 3, 0]
    assert x._version == before + 3


def test_operators_called_from_c_are_recorded(small):
    if not hasattr(torch, "autograd"):
        pytest.skip("needs torch-autograd")
    x = torch.ones(2, requires_grad=True)
    small.doubled(x).sum().backward()
    assert x.grad.tolist() == [2, 2]


@pytest.mark.parametrize(
    "status,error",
    [
        (1, RuntimeError),
        (2, IndexError),
        (3, TypeError),
        (4, ValueError),
        (5, NotImplementedError),
        (6, MemoryError),
        (7, OverflowError),
    ],
)
def test_a_status_is_the_error_of_its_kind(small, status, error):
    with pytest.raises(error, match="^refuse: the reason$"):
        small.refuse(status, "the reason")


def test_a_tensor_that_could_not_be_made_is_an_error(small):
    with pytest.raises(RuntimeError, match="^spoiled: .*no_such_operator"):
        small.spoiled(torch.ones(2))


def test_wrong_arguments_are_told(small):
    with pytest.raises(TypeError, match="doubled: argument 0 must be a Tensor, got list"):
        small.doubled([1.0])
    with pytest.raises(TypeError, match="count takes 2 arguments, got 1"):
        small.count(torch.ones(1))
    with pytest.raises(TypeError, match=r"add_one: an integer is required; it is declared as \w+ add_one\("):
        small.add_one(torch.ones(1), "x")
    with pytest.raises(OverflowError, match="^add_one: "):
        small.add_one(torch.ones(1), 2**40)
    with pytest.raises(TypeError, match=r"^half\(\) got an unexpected keyword argument 'x'"):
        small.half(x=1.0)


def test_text_of_c_is_a_str(small):
    assert small.greeting(1) == "hello"
    assert small.greeting(0) is None


def test_files_that_are_not_there_are_named(tmp_path):
    (tmp_path / "a.h").write_text("int f(void);")
    for headers, sources in ((["a.h"], ["gone.c"]), ("gone.h", ["a.h"])):
        with pytest.raises(FileNotFoundError, match=f"create_extension: there is no file {tmp_path}/gone.[ch]"):
            create_extension("gone", headers, sources, relative_to=str(tmp_path)).build()


def test_functions_tell_their_declaration(small):
    assert small.add_one.__name__ == "add_one"
    assert "torch_status" in small.add_one.__doc__
    assert "torch_tensor *, int" in small.add_one.__doc__


def test_handles_live_and_die_with_their_references():
    x = torch.ones(3)
    handle = torch._C._handle(x)
    assert handle == torch._C._handle(x) != torch._C._handle(torch.ones(3))
    assert torch._C._from_handle(0) is None
    with pytest.raises(TypeError, match="_handle expects a Tensor, got int"):
        torch._C._handle(3)


def test_types_of_the_old_library_that_are_not_there_are_named(tmp_path):
    (tmp_path / "old.h").write_text("int add(THFloatTensor *a, THCudaTensor *b);")
    with pytest.raises(
        NotImplementedError, match=r"no THCudaTensor here, but THFloatTensor.*torch_tensor \*.*cpp_extension"
    ):
        create_extension("_ext.old", "old.h", ["old.c"], relative_to=str(tmp_path))
    with pytest.raises(NotImplementedError, match="THCTensor of 2017.*cpp_extension.load takes sources of CUDA"):
        create_extension("_ext.old", "old.h", [], with_cuda=True)
    with pytest.raises(ValueError, match="dotted module name"):
        create_extension("two words", "old.h", [])


OLD_HEADER = """
int my_lib_add_forward(THFloatTensor *input1, THFloatTensor *input2, THFloatTensor *output);
int my_lib_add_backward(THFloatTensor *grad_output, THFloatTensor *grad_input);
double use(THDoubleTensor *x, THLongTensor *places, THDoubleTensor *out);
THFloatTensor *table(long rows, long columns);
long beyond(THLongTensor *x, long i);
int stretch(THByteTensor *x, THFloatTensor *other);
"""
OLD_SOURCE = """
#include <TH/TH.h>
#include "old.h"
int my_lib_add_forward(THFloatTensor *input1, THFloatTensor *input2, THFloatTensor *output) {
  if (!THFloatTensor_isSameSizeAs(input1, input2)) return 0;
  THFloatTensor_resizeAs(output, input1);
  THFloatTensor_cadd(output, input1, 1.0, input2);
  return 1;
}
int my_lib_add_backward(THFloatTensor *grad_output, THFloatTensor *grad_input) {
  THFloatTensor_resizeAs(grad_input, grad_output);
  THFloatTensor_fill(grad_input, 1);
  return 1;
}
double use(THDoubleTensor *x, THLongTensor *places, THDoubleTensor *out) {
  long i;
  THDoubleTensor *own = THDoubleTensor_newContiguous(x), *copy = THDoubleTensor_newClone(x);
  double total, *data = THDoubleTensor_data(own);
  THDoubleTensor_resize2d(out, THDoubleTensor_size(x, 0), 2);
  for (i = 0; i < THLongTensor_nElement(places); ++i) {
    THDoubleTensor_set2d(out, i, 0, data[THLongTensor_get1d(places, i) * THDoubleTensor_stride(own, 0)]);
    THDoubleTensor_set2d(out, i, 1, THDoubleTensor_get2d(x, i, THDoubleTensor_size(x, 1) - 1));
  }
  THDoubleTensor_cmul(copy, x, copy);
  THDoubleTensor_add(copy, copy, 1);
  THDoubleTensor_mul(copy, copy, 2);
  total = THDoubleTensor_sumall(copy);
  if (!THDoubleTensor_isContiguous(own) || THDoubleTensor_nDimension(x) != 2) total = -1;
  THDoubleTensor_free(own);
  THDoubleTensor_free(copy);
  return total;
}
THFloatTensor *table(long rows, long columns) {
  THFloatTensor *made = THFloatTensor_newWithSize2d(rows, columns);
  THFloatTensor_zero(made);
  return made;
}
long beyond(THLongTensor *x, long i) { return THLongTensor_get1d(x, i); }
int stretch(THByteTensor *x, THFloatTensor *other) {
  THByteTensor_resize1d(x, -3);
  THFloatTensor_cadd(other, other, 1, other);
  return 1;
}
"""


@pytest.fixture(scope="module")
def old(tmp_path_factory):
    folder = tmp_path_factory.mktemp("old")
    (folder / "old.h").write_text(OLD_HEADER)
    (folder / "old.c").write_text(OLD_SOURCE)
    create_extension("_old.lib", "old.h", ["old.c"], relative_to=str(folder), verbose=False).build()
    sys.path.insert(0, str(folder))
    try:
        from _old import lib

        yield lib
    finally:
        sys.path.remove(str(folder))


def test_the_extension_of_the_old_tutorial_adds(old):
    x, y, out = torch.randn(2, 3), torch.randn(2, 3), torch.zeros(0)
    assert old.my_lib_add_forward(x, y, out) == 1
    assert torch.equal(out, x + y)
    assert old.my_lib_add_forward(x, torch.ones(3), out) == 0
    grad = torch.zeros(0)
    assert old.my_lib_add_backward(out, grad) == 1
    assert torch.equal(grad, torch.ones(2, 3))


def test_functions_of_the_old_library_compute(old):
    x = torch.arange(12.0, dtype=torch.float64).view(4, 3).t()  # 3 x 4, not contiguous
    out = torch.zeros(0, dtype=torch.float64)
    assert old.use(x, torch.tensor([2, 0, 1]), out) == float((x * x + 1).mul(2).sum())
    assert torch.equal(out, torch.stack([x[[2, 0, 1], 0], x[:, -1]], 1))
    assert torch.equal(old.table(2, 5), torch.zeros(2, 5))


def test_what_fails_in_the_old_library_is_an_exception(old):
    with pytest.raises(TypeError, match="my_lib_add_forward: argument 1 must be of float32, got torch.float64"):
        old.my_lib_add_forward(torch.ones(2), torch.ones(2, dtype=torch.float64), torch.zeros(0))
    with pytest.raises(IndexError, match="beyond: an index of get or set is outside"):
        old.beyond(torch.tensor([1, 2]), 2)
    assert old.beyond(torch.tensor([1, 2]), 1) == 2  # the next call begins anew
    with pytest.raises(RuntimeError, match="stretch: .*resize_"):
        old.stretch(torch.zeros(2, dtype=torch.uint8), torch.ones(2))
    with pytest.raises(RuntimeError, match="my_lib_add_backward: "):
        old.my_lib_add_backward(torch.ones(4), torch.frombuffer(bytearray(8), dtype=torch.float32))


def test_a_package_for_setuptools_gives_cffis_own_object(tmp_path):
    import cffi

    (tmp_path / "small.h").write_text(HEADER)
    ffi = create_extension("mine.small", "small.h", ["small.c"], package=True, relative_to=str(tmp_path))
    assert isinstance(ffi, cffi.FFI)
    assert "load_functions" in (tmp_path / "mine/small/__init__.py").read_text()
