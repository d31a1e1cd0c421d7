"""Extensions that were compiled for PyTorch's stable ABI: one of our own, in C functions by their names."""

import os
import pathlib
import shutil
import subprocess
import sys
import warnings

import pytest
import torch

LIBRARIES = pathlib.Path(torch.__file__).parent / "lib" / "stable"
COMPILER = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
SPACE = "stable_test"

SOURCE = r"""
#include <cstdint>
#include <cstring>
#include <stdexcept>

using Bits = uint64_t;
struct Tensor;
struct List;
struct Text;
struct Library;
extern "C" {
uint64_t aoti_torch_abi_version();
const char* torch_exception_get_what();
int32_t aoti_torch_library_init_def(const char*, const char*, uint32_t, Library**);
int32_t aoti_torch_library_init_impl(const char*, const char*, const char*, uint32_t, Library**);
int32_t aoti_torch_library_def(Library*, const char*);
int32_t torch_library_impl(Library*, const char*, void (*)(Bits*, uint64_t, uint64_t), uint64_t);
int32_t aoti_torch_delete_library_object(Library*);
int32_t aoti_torch_get_data_ptr(Tensor*, void**);
int32_t aoti_torch_get_numel(Tensor*, int64_t*);
int32_t aoti_torch_get_dtype(Tensor*, int32_t*);
int32_t aoti_torch_dtype_float64();
int32_t aoti_torch_delete_tensor_object(Tensor*);
int32_t aoti_torch_aten_narrow(Tensor*, int64_t, int64_t, int64_t, Tensor**);
int32_t torch_call_dispatcher(const char*, const char*, Bits*, uint64_t);
int32_t torch_list_size(List*, size_t*);
int32_t torch_list_get_item(List*, size_t, Bits*);
int32_t torch_new_list_reserve_size(size_t, List**);
int32_t torch_list_push_back(List*, Bits);
int32_t torch_delete_list(List*);
int32_t torch_string_length(Text*, size_t*);
int32_t torch_delete_string(Text*);
int32_t torch_new_stable_ivalue(Bits**);
int32_t torch_delete_stable_ivalue(Bits*);
int32_t torch_parallel_for(int64_t, int64_t, int64_t, void (*)(int64_t, int64_t, void*), void*);
void aoti_torch_warn(const char*, const char*, uint32_t, const char*);
// of libstdc++ 13
void replace_within(void*, char*, size_t, const char*, size_t, size_t)
    __asm__("_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE15_M_replace_coldEPcmPKcmm");
}

static void check(int32_t failed) {
  if (failed) throw std::runtime_error(torch_exception_get_what());
}
static double number(Bits b) {
  double d;
  memcpy(&d, &b, 8);
  return d;
}
template <class T>
T* pointer(Bits b) { return reinterpret_cast<T*>(b); }
static Bits bits(const void* p) { return reinterpret_cast<Bits>(p); }

// scaled(Tensor x, float by, int[] dims, bool negative, str? text) -> Tensor: x * by, written to a new tensor
static void scaled(Bits* stack, uint64_t arguments, uint64_t results) {
  if (arguments != 5 || results != 1) throw std::runtime_error("wrong counts");
  Tensor* x = pointer<Tensor>(stack[0]);
  double by = number(stack[1]);
  size_t dims;
  check(torch_list_size(pointer<List>(stack[2]), &dims));
  for (size_t i = 0; i < dims; ++i) {
    Bits dim;
    check(torch_list_get_item(pointer<List>(stack[2]), i, &dim));
    by += double(int64_t(dim));
  }
  check(torch_delete_list(pointer<List>(stack[2])));
  if (stack[3] & 0xff) by = -by;
  if (Bits* text = pointer<Bits>(stack[4])) {
    size_t length;
    check(torch_string_length(pointer<Text>(*text), &length));
    by *= double(length);
    check(torch_delete_string(pointer<Text>(*text)));
    check(torch_delete_stable_ivalue(text));
  }
  int32_t dtype;
  check(aoti_torch_get_dtype(x, &dtype));
  if (dtype != aoti_torch_dtype_float64()) {
    check(aoti_torch_delete_tensor_object(x));
    throw std::runtime_error("scaled: float64 only");
  }
  Bits call[] = {bits(x), 0};  // clone(x, memory_format=None) uses x up
  check(torch_call_dispatcher("aten::clone", "", call, aoti_torch_abi_version()));
  void* data;
  int64_t numel;
  check(aoti_torch_get_data_ptr(pointer<Tensor>(call[0]), &data));
  check(aoti_torch_get_numel(pointer<Tensor>(call[0]), &numel));
  struct Context { double* at; double by; } context{static_cast<double*>(data), by};
  check(torch_parallel_for(0, numel, 2, [](int64_t from, int64_t to, void* p) {
    auto* c = static_cast<Context*>(p);
    for (int64_t i = from; i < to; ++i) c->at[i] *= c->by;
  }, &context));
  stack[0] = call[0];
}

// halves(Tensor x) -> (Tensor, Tensor)
static void halves(Bits* stack, uint64_t, uint64_t) {
  Tensor *x = pointer<Tensor>(stack[0]), *first, *second;
  int64_t n;
  check(aoti_torch_get_numel(x, &n));
  check(aoti_torch_aten_narrow(x, 0, 0, n / 2, &first));
  check(aoti_torch_aten_narrow(x, 0, n / 2, n - n / 2, &second));
  check(aoti_torch_delete_tensor_object(x));
  stack[0] = bits(first);
  stack[1] = bits(second);
}

// clones(Tensor x) -> Tensor: operators are called by name from the threads of a loop
static void clones(Bits* stack, uint64_t, uint64_t) {
  check(torch_parallel_for(0, 64, 1, [](int64_t from, int64_t to, void* x) {
    for (int64_t i = from; i < to; ++i) {
      Tensor* whole;
      check(aoti_torch_aten_narrow(static_cast<Tensor*>(x), 0, 0, 1, &whole));
      Bits call[] = {bits(whole), 0};
      check(torch_call_dispatcher("aten::clone", "", call, aoti_torch_abi_version()));
      check(aoti_torch_delete_tensor_object(pointer<Tensor>(call[0])));
    }
  }, pointer<Tensor>(stack[0])));
}

// zeros(int n) -> Tensor: aten::empty filled by its extension; the dtype is an optional code
static void zeros(Bits* stack, uint64_t, uint64_t) {
  List* sizes;
  check(torch_new_list_reserve_size(1, &sizes));
  check(torch_list_push_back(sizes, stack[0]));
  Bits* dtype;
  check(torch_new_stable_ivalue(&dtype));
  *dtype = Bits(uint32_t(aoti_torch_dtype_float64()));
  Bits call[] = {bits(sizes), bits(dtype), 0, 0, 0, 0};
  check(torch_call_dispatcher("aten::empty", "memory_format", call, aoti_torch_abi_version()));
  check(torch_call_dispatcher("aten::zero_", "", call, aoti_torch_abi_version()));
  stack[0] = call[0];
  aoti_torch_warn("zeros", "source.cpp", 7, "zeros are made");
}

static void unknown(Bits* stack, uint64_t, uint64_t) {
  check(torch_call_dispatcher("aten::lstm", "input", stack, aoti_torch_abi_version()));
}
static void version(Bits* stack, uint64_t, uint64_t) { stack[0] = aoti_torch_abi_version() >> 48; }

// spliced() -> bool: "bc" of "abcdef" replaced by "cdef" of the same text
static void spliced(Bits* stack, uint64_t, uint64_t) {
  char text[16] = "abcdef";
  replace_within(nullptr, text + 1, 2, text + 2, 4, 4);
  stack[0] = strcmp(text, "acdefdef") == 0;
}

// codes(Device d, ScalarType t, MemoryFormat m) -> int: what stands for each of them, side by side
static void codes(Bits* stack, uint64_t, uint64_t) {
  stack[0] = (stack[0] >> 32) * 10000 + (stack[1] & 0xffffffff) * 100 + (stack[2] & 0xffffffff);
}

static int start = [] {
  Library *def, *impl;
  // Functions may come before the definitions: initializers have no order.
  check(aoti_torch_library_init_impl("stable_test", "CPU", "source.cpp", 1, &impl));
  check(torch_library_impl(impl, "scaled", scaled, 0));
  check(torch_library_impl(impl, "stable_test::halves", halves, 0));
  check(torch_library_impl(impl, "later", halves, 0));
  check(torch_library_impl(impl, "clones", clones, 0));
  check(aoti_torch_delete_library_object(impl));
  check(aoti_torch_library_init_impl("stable_test", "CompositeExplicitAutograd", "source.cpp", 2, &impl));
  check(torch_library_impl(impl, "zeros", zeros, 0));
  check(torch_library_impl(impl, "unknown", unknown, 0));
  check(torch_library_impl(impl, "version", version, 0));
  check(torch_library_impl(impl, "spliced", spliced, 0));
  check(torch_library_impl(impl, "codes", codes, 0));
  check(torch_library_impl(impl, "versions", version, 0));
  check(aoti_torch_delete_library_object(impl));
  check(aoti_torch_library_init_def("stable_test", "source.cpp", 3, &def));
  check(aoti_torch_library_def(def, "scaled(Tensor x, float by, SymInt[] dims, bool negative, str? text=None) -> Tensor"));
  check(aoti_torch_library_def(def, "halves(Tensor x) -> (Tensor, Tensor)"));
  check(aoti_torch_library_def(def, "stable_test::zeros(SymInt n) -> Tensor"));
  check(aoti_torch_library_def(def, "unknown(Tensor x) -> Tensor"));
  check(aoti_torch_library_def(def, "version() -> int"));
  check(aoti_torch_library_def(def, "clones(Tensor x) -> Tensor"));
  check(aoti_torch_library_def(def, "spliced() -> bool"));
  check(aoti_torch_library_def(def, "codes(Device d, ScalarType t, MemoryFormat m) -> int"));
  check(aoti_torch_library_def(def, "versions() -> (int, int)"));
  check(aoti_torch_delete_library_object(def));
  return 0;
}();
"""

pytestmark = pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler to build an extension with")


def build(folder, source, *libraries):
    path, text = folder / "extension.so", folder / "extension.cpp"
    text.write_text(source)
    links = [f"-l:{name}" for name in libraries]
    command = [
        COMPILER,
        "-std=c++17",
        "-shared",
        "-fPIC",
        "-O1",
        text,
        "-o",
        path,
        f"-L{LIBRARIES}",
        "-Wl,--no-as-needed",
        *links,
    ]
    # What libtorch_cpu.so needs in turn is found when the extension is loaded.
    subprocess.run([*map(str, command), "-Wl,--allow-shlib-undefined"], check=True)
    return path


@pytest.fixture(scope="module")
def operators(tmp_path_factory):
    names = ["libtorch_cpu.so", "libtorch.so", "libc10.so", "libtorch_cuda.so", "libc10_cuda.so", "libtorch_python.so"]
    torch.ops.load_library(build(tmp_path_factory.mktemp("stable"), SOURCE, *names, "libcudart.so.13"))
    return getattr(torch.ops, SPACE)


def test_an_extension_of_the_stable_abi_runs(operators):
    x = torch.arange(6, dtype=torch.float64)
    assert operators.scaled(x, 2.0, [1, 2], False).equal(x * 5)
    assert operators.scaled(x, 2.0, [], True, "four").equal(x * -8)
    first, second = operators.halves(x)
    assert first.tolist() == [0, 1, 2] and second.tolist() == [3, 4, 5]
    second.zero_()
    assert x.tolist() == [0, 1, 2, 0, 0, 0]  # narrow is a view
    assert operators.version() == 2 << 8 | int(torch.__version__.split(".")[1])


def test_a_function_waits_for_its_operator_to_be_defined(operators):
    torch.library.define(f"{SPACE}::later", "(Tensor x) -> (Tensor, Tensor)")
    assert [t.tolist() for t in operators.later(torch.arange(3))] == [[0], [1, 2]]


def test_an_extension_calls_operators_by_name_and_warns(operators):
    with pytest.warns(UserWarning, match="zeros are made"):
        z = operators.zeros(3)
    assert z.dtype == torch.float64 and z.tolist() == [0, 0, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeError):
            operators.scaled(torch.ones(2), 1.0, [], False)


def test_threads_of_an_extension_call_operators_while_the_one_that_started_them_waits(operators):
    x = torch.arange(4, dtype=torch.float64)
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    try:
        for _ in range(20):
            assert operators.clones(x) is x
    finally:
        torch.set_num_threads(before)


def test_errors_of_an_extension_and_of_what_it_calls_are_python_errors(operators):
    with pytest.raises(RuntimeError, match="scaled: float64 only"):
        operators.scaled(torch.ones(2), 1.0, [], False)
    with pytest.raises(RuntimeError, match=r"aten::lstm.input: an extension called it, and its order of arguments"):
        operators.unknown(torch.ones(1))
    with pytest.raises(RuntimeError, match="Expected a value of type 'Tensor' for argument 'x'"):
        operators.halves(3)
    with pytest.raises(NotImplementedError, match="'meta'"):
        operators.halves(torch.ones(2, device="meta"))


def test_a_function_whose_results_have_no_place_here_is_refused_when_it_is_called(operators):
    with pytest.raises(NotImplementedError, match=r"stable_test::versions.*\(int, int\)"):
        operators.versions()


# Those of PyTorch's c10::DeviceType, ScalarType and MemoryFormat.
DTYPES = {
    "uint8": 0, "int8": 1, "int16": 2, "int32": 3, "int64": 4, "float16": 5, "float32": 6, "float64": 7, "complex32": 8,
    "complex64": 9, "complex128": 10, "bool": 11, "bfloat16": 15, "float8_e5m2": 23, "float8_e4m3fn": 24,
    "float8_e5m2fnuz": 25, "float8_e4m3fnuz": 26, "uint16": 27, "uint32": 28, "uint64": 29, "float8_e8m0fnu": 44,
}  # fmt: skip


@pytest.mark.parametrize("name, code", DTYPES.items())
def test_dtypes_have_the_numbers_of_pytorch(operators, name, code):
    assert operators.codes("cpu", getattr(torch, name), torch.contiguous_format) == code * 100


def test_devices_and_memory_formats_have_the_numbers_of_pytorch(operators):
    assert operators.codes("meta", torch.uint8, torch.contiguous_format) == 14 * 10000
    formats = torch.contiguous_format, torch.preserve_format, torch.channels_last, torch.channels_last_3d
    assert [operators.codes("cpu", torch.uint8, one) for one in formats] == [0, 1, 2, 3]


def test_a_step_of_a_newer_standard_library_is_lent_as_well(operators):
    assert operators.spliced() is True


def test_no_tensor_is_left_behind(operators):
    x = torch.ones(4, dtype=torch.float64)
    before = sys.getrefcount(x)
    storage = x.untyped_storage()._use_count()
    for _ in range(3):
        operators.scaled(x, 1.0, [2], False, "text")
        operators.halves(x)
        with pytest.raises(RuntimeError):
            operators.scaled(x.float(), 1.0, [], False)
    assert sys.getrefcount(x) == before and x.untyped_storage()._use_count() == storage


def test_a_library_that_uses_the_classes_of_pytorch_is_refused_by_the_loader(tmp_path):
    source = 'namespace at { struct Tensor; Tensor* made(); }\nextern "C" void* f() { return at::made(); }\n'
    path = build(tmp_path, source, "libtorch.so")
    with pytest.raises(OSError, match="undefined symbol: .*made"):
        torch.ops.load_library(path)


def test_a_file_that_is_missing_is_an_error_of_its_own(tmp_path):
    with pytest.raises(OSError, match="libtorch_nowhere.so: cannot open shared object file"):
        torch.ops.load_library(tmp_path / "libtorch_nowhere.so")
