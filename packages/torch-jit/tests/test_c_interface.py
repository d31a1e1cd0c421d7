"""The C interface of programs (torch/c/program.h), called through ctypes."""

import ctypes
import io
from ctypes import POINTER, byref, c_char_p, c_double, c_int, c_int64, c_size_t, c_void_p
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.jit import _tool

OK, RUNTIME, INDEX, TYPE, VALUE = range(5)
NONE, BOOL, INT, FLOAT, DEVICE, TENSOR, COMPLEX, STRING, LIST, TUPLE, DICT = range(11)

core = ctypes.CDLL(_tool.core_library())
lib = ctypes.CDLL(str(Path(_tool.path()).parents[1] / "libtorch_program.so"))
core.torch_last_error.restype = c_char_p
core.torch_data.restype = c_void_p
core.torch_numel.restype = c_int64
core.torch_data.argtypes = core.torch_numel.argtypes = core.torch_release.argtypes = [c_void_p]
lib.torch_program_method.restype = lib.torch_program_signature.restype = c_char_p
lib.torch_program_method.argtypes = [c_void_p, c_int]
lib.torch_program_signature.argtypes = [c_void_p, c_char_p]
lib.torch_program_release.argtypes = lib.torch_cell_release.argtypes = lib.torch_cell_size.argtypes = [c_void_p]
lib.torch_cell_get_kind.argtypes = [c_void_p]
lib.torch_program_load.argtypes = [c_char_p, POINTER(c_void_p)]
lib.torch_program_load_memory.argtypes = [c_char_p, c_size_t, c_char_p, POINTER(c_void_p)]
lib.torch_program_run.argtypes = [c_void_p, c_char_p, POINTER(c_void_p), c_int, POINTER(c_void_p)]
lib.torch_program_run_tensors.argtypes = [
    c_void_p, c_char_p, POINTER(c_void_p), c_int, POINTER(c_void_p), c_int, POINTER(c_int),
]  # fmt: skip
lib.torch_cell_parse.argtypes = [c_char_p, POINTER(c_void_p)]
lib.torch_cell_item.argtypes = lib.torch_cell_key.argtypes = [c_void_p, c_int64, POINTER(c_void_p)]
lib.torch_cell_find.argtypes = [c_void_p, c_char_p, POINTER(c_void_p)]
lib.torch_cell_size.restype = c_int64
lib.torch_cell_show.argtypes, lib.torch_cell_show.restype = [c_void_p, c_char_p, c_size_t], c_size_t
lib.torch_cell_tuple.argtypes = lib.torch_cell_list.argtypes = [POINTER(c_void_p), c_int64, POINTER(c_void_p)]
lib.torch_cell_dict.argtypes = [POINTER(c_void_p), POINTER(c_void_p), c_int64, POINTER(c_void_p)]
for name in ("tensor", "bool", "int", "double", "string"):
    getattr(lib, f"torch_cell_to_{name}").argtypes = [c_void_p, c_void_p, c_void_p][: 3 if name == "string" else 2]


class Net(nn.Module):
    def forward(self, x, n: int = 2):
        return x * n, {"sum": x.sum()}

    @torch.jit.export
    def words(self, d: dict[str, list[int]], pair: tuple[str, float], flag: bool = True) -> dict[str, float]:
        if len(d) == 0:
            raise KeyError("there are no words")
        found: dict[str, float] = {}
        if flag:
            found[pair[0]] = pair[1] * len(d["a"])
        return found


def error():
    return core.torch_last_error().decode()


def made(function, *args):
    out = c_void_p()
    assert function(*args, byref(out)) == OK, error()
    return out


def parsed(text):
    return made(lib.torch_cell_parse, text.encode())


def array(*cells):
    return (c_void_p * len(cells))(*[c.value for c in cells])


def shown(cell):
    size = lib.torch_cell_show(cell, None, 0)
    text = ctypes.create_string_buffer(size + 1)
    assert lib.torch_cell_show(cell, text, size + 1) == size
    return text.value.decode()


@pytest.fixture
def program(tmp_path):
    torch.jit.save(torch.jit.script(Net()), tmp_path / "net.pt")
    p = made(lib.torch_program_load, str(tmp_path / "net.pt").encode())
    yield p
    lib.torch_program_release(p)


def test_methods_and_their_signatures(program):
    assert [lib.torch_program_method(program, i) for i in range(-1, 3)] == [None, b"forward", b"words", None]
    assert (
        lib.torch_program_signature(program, b"forward") == b"forward(Tensor x, int n=2) -> (Tensor, Dict(str, Tensor))"
    )
    assert lib.torch_program_signature(program, b"back") is None
    assert "has no method 'back'; it has: forward, words" in error()


def tensor():
    x = c_void_p()
    numbers = (ctypes.c_float * 3)(1, 2, 3)
    core.torch_from_memory.argtypes = [c_void_p, c_int, POINTER(c_int64), c_void_p, c_int, c_void_p, c_void_p, c_void_p]
    assert core.torch_from_memory(numbers, 1, (c_int64 * 1)(3), None, 11, None, None, byref(x)) == OK
    return x, numbers


def test_tensors_in_and_the_tensors_of_the_result_out(program):
    x, _numbers = tensor()
    out, count = (c_void_p * 3)(), c_int()
    assert lib.torch_program_run_tensors(program, b"forward", byref(x), 1, out, 3, byref(count)) == OK, error()
    assert count.value == 2 and out[2] is None
    assert (ctypes.c_float * 3).from_address(core.torch_data(out[0]))[:] == [2, 4, 6]
    assert core.torch_numel(out[1]) == 1
    for each in (out[0], out[1], x):
        core.torch_release(each)


def test_values_of_all_kinds(program):
    args = array(parsed("{'a': [1, 2, 3]}"), parsed("('b', 0.5)"))
    result = made(lib.torch_program_run, program, b"words", args, 2)
    assert lib.torch_cell_get_kind(result) == DICT and lib.torch_cell_size(result) == 1
    key, item = made(lib.torch_cell_key, result, 0), made(lib.torch_cell_find, result, b"b")
    text, size, number = c_char_p(), c_size_t(), c_double()
    assert lib.torch_cell_to_string(key, byref(text), byref(size)) == OK and (text.value, size.value) == (b"b", 1)
    assert lib.torch_cell_to_double(item, byref(number)) == OK and number.value == 1.5
    assert shown(result) == "{'b': 1.5}"
    for cell in (*map(c_void_p, args), result, key, item):
        lib.torch_cell_release(cell)


def test_containers_are_made_of_cells(program):
    one, text, yes = parsed("1"), parsed("'a'"), parsed("True")
    pair = made(lib.torch_cell_tuple, array(text, parsed("2")), 2)
    numbers = made(lib.torch_cell_list, array(one, one), 2)
    table = made(lib.torch_cell_dict, array(text), array(numbers), 1)
    assert [shown(c) for c in (pair, numbers, table)] == ["('a', 2)", "[1, 1]", "{'a': [1, 1]}"]
    assert [lib.torch_cell_get_kind(c) for c in (pair, numbers, table, yes)] == [TUPLE, LIST, DICT, BOOL]
    result = made(lib.torch_program_run, program, b"words", array(table, pair, yes), 3)  # 2 goes for a float
    assert shown(result) == "{'a': 4.0}"


def test_what_a_program_raises_is_an_error(program):
    out = c_void_p()
    args = array(parsed("{}"), parsed("('b', 1.0)"))
    assert lib.torch_program_run(program, b"words", args, 2, byref(out)) == RUNTIME
    message = error()
    assert message.startswith("KeyError: ") and message.endswith("\nKeyError: there are no words") and out.value is None
    assert ", in words\n" in message  # with the line of the program


def test_wrong_arguments_are_errors(program, tmp_path):
    out, one = c_void_p(), parsed("1")
    number, text = c_int64(), c_char_p()

    def fails(status, message, got):
        assert got == status and message in error(), error()

    fails(RUNTIME, "cannot be opened", lib.torch_program_load(str(tmp_path / "no.pt").encode(), byref(out)))
    fails(VALUE, "path must not be NULL", lib.torch_program_load(None, byref(out)))
    fails(VALUE, "out must not be NULL", lib.torch_program_load(b"x", None))
    fails(RUNTIME, "mine: not a zip archive", lib.torch_program_load_memory(b"abc", 3, b"mine", byref(out)))
    fails(VALUE, "bytes must not be NULL", lib.torch_program_load_memory(None, 3, b"mine", byref(out)))
    fails(VALUE, "program must not be NULL", lib.torch_program_run(None, b"words", None, 0, byref(out)))
    fails(VALUE, "method must not be NULL", lib.torch_program_run(program, None, None, 0, byref(out)))
    fails(VALUE, "count must be", lib.torch_program_run(program, b"words", None, 2, byref(out)))
    fails(VALUE, "a cell must not be NULL", lib.torch_program_run(program, b"words", (c_void_p * 1)(), 1, byref(out)))
    fails(TYPE, "missing value for argument 'd'", lib.torch_program_run(program, b"words", None, 0, byref(out)))
    fails(
        TYPE,
        "Expected a value of type 'Dict[str, List[int]]' for argument",
        lib.torch_program_run(program, b"words", array(one), 1, byref(out)),
    )
    fails(
        VALUE,
        "a tensor must not be NULL",
        lib.torch_program_run_tensors(program, b"forward", (c_void_p * 1)(), 1, None, 0, None),
    )
    fails(VALUE, "expected", lib.torch_cell_parse(b"[1, ", byref(out)))
    fails(TYPE, "type str", lib.torch_cell_to_string(one, byref(text), None))
    fails(TYPE, "type Tensor", lib.torch_cell_to_tensor(one, byref(out)))
    fails(TYPE, "type int", lib.torch_cell_to_int(parsed("'a'"), byref(number)))
    fails(TYPE, "not None", lib.torch_cell_to_tensor(parsed("None"), byref(out)))
    fails(INDEX, "there is no item 2", lib.torch_cell_item(parsed("[1, 2]"), 2, byref(out)))
    fails(INDEX, "has no key 'x'", lib.torch_cell_find(parsed("{'a': 1}"), b"x", byref(out)))
    fails(VALUE, "threads", lib.torch_set_threads(0))
    assert lib.torch_cell_size(one) == -1 and lib.torch_cell_size(None) == -1
    lib.torch_program_release(None)
    lib.torch_cell_release(None)


def test_a_program_comes_from_memory_too():
    out = io.BytesIO()
    torch.jit.save(torch.jit.script(Net()), out)
    data = out.getvalue()
    p = made(lib.torch_program_load_memory, data, len(data), b"net")
    assert lib.torch_program_method(p, 0) == b"forward"
    lib.torch_program_release(p)


def test_cells_outlive_their_program(tmp_path):
    torch.jit.save(torch.jit.script(Net()), tmp_path / "net.pt")
    p = made(lib.torch_program_load, str(tmp_path / "net.pt").encode())
    result = made(lib.torch_program_run, p, b"words", array(parsed("{'a': []}"), parsed("('b', 1.0)")), 2)
    lib.torch_program_release(p)
    assert shown(result) == "{'b': 0.0}"
    lib.torch_cell_release(result)
