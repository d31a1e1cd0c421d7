import faulthandler
import os
import signal
import subprocess
import sys
import sysconfig
import threading
import time
from pathlib import Path

import pytest
import torch

pytest.importorskip("pybind11")
from torch.utils import cpp_extension
from torch.utils.cpp_extension import load, load_inline

if not cpp_extension.check_compiler_abi_compatibility(os.environ.get("CXX", "c++")):
    pytest.skip("needs a C++20 compiler", allow_module_level=True)

FAST = ["-O0"]

# A module without the headers of torch, which compiles in a moment.
PLAIN = """
#include <Python.h>
static PyObject* number(PyObject*, PyObject*) { return PyLong_FromLong(NUMBER); }
static PyMethodDef functions[] = {{"number", number, METH_NOARGS, nullptr}, {}};
#define NAME(x) NAME_(x)
#define NAME_(x) #x
#define INIT(x) INIT_(x)
#define INIT_(x) PyInit_##x
static PyModuleDef module = {PyModuleDef_HEAD_INIT, NAME(TORCH_EXTENSION_NAME), nullptr, -1, functions, nullptr, nullptr, nullptr, nullptr};
PyMODINIT_FUNC INIT(TORCH_EXTENSION_NAME)() { return PyModule_Create(&module); }
"""

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


@pytest.fixture(autouse=True)
def hard_limit():
    """A compiler on a busy machine takes longer than other tests may."""
    faulthandler.dump_traceback_later(280, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture(scope="module", autouse=True)
def root(tmp_path_factory):
    folder = tmp_path_factory.mktemp("extensions")
    before = os.environ.get("TORCH_EXTENSIONS_DIR")
    os.environ["TORCH_EXTENSIONS_DIR"] = str(folder)
    yield folder
    del os.environ["TORCH_EXTENSIONS_DIR"]
    if before is not None:
        os.environ["TORCH_EXTENSIONS_DIR"] = before


@pytest.fixture(scope="module")
def cases(root):
    return load_inline("cases", CASES, functions=NAMES.split(), extra_cflags=FAST)


@pytest.fixture
def plain(tmp_path):
    """Writes a source and loads it; `number` stands in a header beside it."""
    source = tmp_path / "plain.cpp"
    (tmp_path / "number.h").write_text("#define NUMBER 7\n")
    source.write_text('#include "number.h"\n' + PLAIN)
    return lambda **options: load("plain", source, build_directory=tmp_path / "built", **options)


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


def test_a_dict_of_functions_gives_docstrings(root):
    source = "int one() { return 1; }"
    module = load_inline("documented", source, functions={"one": 'the "one"\nand only'}, extra_cflags=FAST)
    assert module.one() == 1
    assert 'the "one"\nand only' in module.one.__doc__


def test_the_first_error_is_told_with_its_line_and_the_command(root):
    with pytest.raises(cpp_extension.BuildError) as caught:
        load_inline(
            "faulty",
            ["", "#include <cmath>\nint f() { return missing + 1; }\nint g() { return gone; }"],
            no_implicit_headers=True,
        )
    said = str(caught.value)
    assert said.startswith(
        "building the extension 'faulty' failed:\n  faulty: cpp_sources[1]:2:18: error: 'missing' was not declared"
    )
    assert "  and 1 more\ncommand: " in said
    assert isinstance(caught.value, RuntimeError)
    log = Path(said.rpartition("all of the output: ")[2])
    assert "gone" in log.read_text()
    assert caught.value.command[0] in said


def test_a_symbol_that_nobody_defines_is_named_plainly(root):
    source = PLAIN.replace("NUMBER", "elsewhere(2)").replace(
        "static PyObject*", "int elsewhere(int);\nstatic PyObject*", 1
    )
    with pytest.raises(ImportError, match=r"elsewhere\(int\).*declared, but defined in no source"):
        load_inline("unlinked", source, no_implicit_headers=True)


def test_a_source_without_a_module_is_told(tmp_path):
    (tmp_path / "a.cpp").write_text("int f() { return 1; }")
    with pytest.raises(ImportError, match=r"define no module, PYBIND11_MODULE\(TORCH_EXTENSION_NAME, m\).*'empty'"):
        load("empty", tmp_path / "a.cpp", build_directory=tmp_path / "built")


def test_what_is_defined_twice_is_named(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.cpp").write_text("int twice() { return 1; }")
    with pytest.raises(cpp_extension.BuildError, match=r"failed:\n.*multiple definition of .twice\(\)"):
        load("x", [tmp_path / "a.cpp", tmp_path / "b.cpp"], build_directory=tmp_path / "built")


def test_a_folder_that_cannot_be_written_to_is_told_with_the_way_out(tmp_path, monkeypatch):
    (tmp_path / "a.cpp").write_text("")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path / "file"))
    with pytest.raises(
        NotADirectoryError, match=f"give build_directory, or set TORCH_EXTENSIONS_DIR .*{tmp_path}/file/"
    ):
        load("x", tmp_path / "a.cpp")


def test_a_missing_library_is_an_error_of_the_linker(plain):
    with pytest.raises(cpp_extension.BuildError, match="cannot find -lno_such_library"):
        plain(extra_ldflags=["-lno_such_library"])


def test_what_is_built_is_not_built_again(plain, capfd):
    assert plain(verbose=True).number() == 7
    assert capfd.readouterr().err.count(" -c ") == 1
    assert plain(verbose=True).number() == 7
    assert capfd.readouterr().err == ""


def test_a_changed_header_is_noticed_in_the_same_process(plain, tmp_path):
    assert plain().number() == 7
    (tmp_path / "number.h").write_text("#define NUMBER 8\n")
    assert plain().number() == 8
    (tmp_path / "number.h").write_text("#define NUMBER 7\n")
    assert plain().number() == 7
    assert len(list((tmp_path / "built").glob("plain-*.so"))) == 2


def test_flags_are_part_of_the_content(plain, tmp_path):
    (tmp_path / "number.h").write_text("")
    assert plain(extra_cflags=["-DNUMBER=1"]).number() == 1
    assert plain(extra_cflags=["-DNUMBER=2"]).number() == 2


def test_flags_may_be_written_loosely(plain, tmp_path):
    (tmp_path / "number.h").write_text("static_assert(sizeof(TEXT) == 4);")
    flags = ["-g\n\n", "-O0 -DNUMBER=3", """'-DTEXT="a b"'"""]
    assert plain(extra_cflags=flags, extra_include_paths=[f"   {tmp_path}\n"]).number() == 3


def test_objects_go_when_they_are_not_wanted(plain, tmp_path):
    assert plain(keep_intermediates=False).number() == 7
    assert not (tmp_path / "built/objects").exists()
    assert plain().number() == 7


def test_c_and_cpp_sources_are_compiled_side_by_side(tmp_path):
    (tmp_path / "a.c").write_text("int number(void) { int class = 4; return class; }")
    (tmp_path / "b.cpp").write_text('extern "C" int number();\n' + PLAIN.replace("NUMBER", "::number()"))
    module = load("mixed", [tmp_path / "a.c", str(tmp_path / "b.cpp")], build_directory=tmp_path / "built")
    assert module.number() == 4


def test_a_library_that_is_no_module_is_loaded_by_path(tmp_path):
    (tmp_path / "a.cpp").write_text('extern "C" __attribute__((visibility("default"))) int three() { return 3; }')
    path = load("library", tmp_path / "a.cpp", build_directory=tmp_path / "built", is_python_module=False)
    import ctypes

    assert ctypes.CDLL(path).three() == 3


def test_a_standalone_program_finds_the_core(tmp_path):
    (tmp_path / "main.cpp").write_text(
        '#include <cstdio>\n#include "torch/core/init.h"\n#include "torch/core/ops.h"\n'
        'int main() { torch::init(); std::printf("%g", *torch::sum(torch::ones({2, 3})).data<float>()); }'
    )
    path = load("program", tmp_path / "main.cpp", FAST, build_directory=tmp_path / "built", is_standalone=True)
    assert subprocess.run([path], capture_output=True, text=True).stdout == "6"


CHILD = """
import sys
from torch.utils.cpp_extension import load
print(load("plain", sys.argv[1], build_directory=sys.argv[2], verbose=True).number())
"""


def child(tmp_path, **environment):
    command = [sys.executable, "-c", CHILD, str(tmp_path / "plain.cpp"), str(tmp_path / "built")]
    path = os.pathsep.join(p for p in sys.path if p)
    settings = {**os.environ, "PYTHONPATH": path, **environment}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=settings)


def test_of_many_processes_one_builds(plain, tmp_path):
    children = [child(tmp_path) for _ in range(4)]
    said = [c.communicate(timeout=50) for c in children]
    assert [out for out, _ in said] == ["7\n"] * 4, said
    assert sum(err.count(" -c ") for _, err in said) == 1


def test_a_process_killed_while_it_builds_is_no_hindrance(plain, tmp_path):
    slow = tmp_path / "slow-compiler"
    slow.write_text('#!/bin/sh\ncase "$*" in *--version*) ;; *) echo $$ > "$0.pid"; sleep 20;; esac\nexec c++ "$@"\n')
    slow.chmod(0o755)
    victim = child(tmp_path, CXX=str(slow))
    deadline = time.monotonic() + 30
    while not (pid := tmp_path / "slow-compiler.pid").exists() or not pid.read_text().strip():
        assert victim.poll() is None, victim.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert list((tmp_path / "built").glob("build-*"))
    victim.kill()
    victim.communicate()
    os.kill(int(pid.read_text()), signal.SIGKILL)
    began = time.monotonic()
    assert plain().number() == 7
    assert time.monotonic() - began < 15  # the lock went with its holder
    assert not list((tmp_path / "built").glob("build-*"))


def test_threads_may_load_at_once(plain):
    found = []
    threads = [threading.Thread(target=lambda: found.append(plain().number())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [7] * 4


def test_an_extension_for_another_interface_is_refused_before_it_is_loaded(tmp_path):
    alien = tmp_path / "alien.so"
    alien.write_bytes(b"\x7fELF\0libtorch_core.so.99\0libc.so.6\0")
    with pytest.raises(
        ImportError, match="was built for interface 99 of torch-core; the installed torch-core has interface"
    ):
        cpp_extension.require_interface(alien)
    alien.write_bytes(f"\0libtorch_core.so.{torch._C.interface}\0".encode())
    cpp_extension.require_interface(alien)


def test_arguments_that_cannot_be_are_refused(tmp_path):
    with pytest.raises(ValueError, match="must be an identifier.*'two words'"):
        load("two words", tmp_path / "x.cpp")
    with pytest.raises(FileNotFoundError, match="no source file .*x.cpp"):
        load("x", tmp_path / "x.cpp")
    with pytest.raises(ValueError, match="sources is empty"):
        load("x", [])
    (tmp_path / "x.cpp").write_text("")
    for wrong, words in (
        (lambda: load("x", None), "sources is a str or a list of them, got None"),
        (lambda: load("x", ["a.cpp", 3]), r"got \['a.cpp', 3\]"),
        (lambda: load_inline("x", None), "cpp_sources is a str or a list of them, got None"),
        (lambda: load("x", tmp_path / "x.cpp", "-O3 -g"), r"extra_cflags is a list of str, got '-O3 -g'"),
        (lambda: load("x", tmp_path / "x.cpp", extra_ldflags="-lm"), "extra_ldflags is a list of str"),
    ):
        with pytest.raises(TypeError, match=words):
            wrong()
    with pytest.raises(ValueError, match="functions is a list of names, .* got 5"):
        load_inline("x", "", functions=5)
    with pytest.raises(ValueError, match="must be an identifier.*None"):
        load(None, "x.cpp")
    for refused in (
        lambda: load("x", "kernel.cu"),
        lambda: load("x", "a.cpp", with_cuda=True),
        lambda: load_inline("x", "", cuda_sources="__global__ void f() {}"),
        lambda: cpp_extension.CUDAExtension("x", ["a.cu"]),
        lambda: cpp_extension.include_paths("cuda"),
        lambda: cpp_extension.library_paths(True),
    ):
        with pytest.raises(NotImplementedError, match="torch-core-cuda"):
            refused()


def test_an_unfit_compiler_is_told(tmp_path, monkeypatch):
    (tmp_path / "a.cpp").write_text("")
    old = tmp_path / "old"
    old.write_text("#!/bin/sh\necho 'c++ (Debian 8.3.0-6) 8.3.0'\necho 'Free Software Foundation'\n")
    old.chmod(0o755)
    assert cpp_extension.get_compiler_abi_compatibility_and_version(str(old)) == (False, (8, 3, 0))
    assert cpp_extension.check_compiler_is_gcc(str(old))
    monkeypatch.setenv("CXX", str(old))
    with pytest.raises(RuntimeError, match=r"need g\+\+ 12 .*8\.3\.0"):
        load("x", tmp_path / "a.cpp", build_directory=tmp_path)
    monkeypatch.setenv("CXX", "/no/such/compiler")
    with pytest.raises(RuntimeError, match="not on PATH"):
        load("x", tmp_path / "a.cpp", build_directory=tmp_path)
    monkeypatch.delenv("CXX")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RuntimeError, match="apt install g"):
        load("x", tmp_path / "a.cpp", build_directory=tmp_path)
    assert not cpp_extension.is_ninja_available()
    with pytest.raises(RuntimeError, match="pip install ninja"):
        cpp_extension.verify_ninja_availability()


def test_the_folder_of_results_follows_the_environment(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cpp_extension.get_default_build_root() == "/somewhere/torch_extensions"


def test_include_and_library_paths_lead_to_the_core():
    include, pybind, python = cpp_extension.include_paths()
    assert (Path(include) / "torch/extension.h").exists()
    assert (Path(pybind) / "pybind11/pybind11.h").exists()
    assert (Path(python) / "Python.h").exists()
    (folder,) = cpp_extension.library_paths()
    assert (Path(folder) / f"libtorch_core.so.{torch._C.interface}").exists()
    assert cpp_extension.library_paths(torch_include_dirs=False) == []


SETUP = """
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CppExtension
setup(
    name="pair", version="1",
    ext_modules=[CppExtension("pair.first", ["first.cpp"], extra_compile_args={"cxx": ["-DNUMBER=1"]})],
    cmdclass={"build_ext": BuildExtension},
)
"""


def test_setuptools_builds_an_extension_of_a_package(tmp_path):
    pytest.importorskip("setuptools")
    (tmp_path / "setup.py").write_text(SETUP)
    (tmp_path / "pair").mkdir()
    (tmp_path / "pair/__init__.py").write_text("")
    (tmp_path / "first.cpp").write_text(PLAIN)
    settings = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    done = subprocess.run(command, cwd=tmp_path, env=settings, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (made,) = (tmp_path / "pair").glob("first*.so")
    assert made.name == "first" + sysconfig.get_config_var("EXT_SUFFIX")
    needed = made.read_bytes()
    assert f"libtorch_core.so.{torch._C.interface}".encode() in needed or b"libtorch_core" not in needed
    code = "import torch; from pair import first; print(first.number())"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=settings, capture_output=True, text=True)
    assert done.stdout == "1\n", done.stderr


def test_build_extension_takes_options():
    pytest.importorskip("setuptools")
    from setuptools import Distribution

    plain = cpp_extension.BuildExtension.with_options(no_python_abi_suffix=True, use_ninja=False)(Distribution())
    plain.ext_map = {}
    assert plain.get_ext_filename("a.b") == "a/b.so"
    with pytest.raises(TypeError, match="unknown options speed"):
        cpp_extension.BuildExtension.with_options(speed=9)
    extension = cpp_extension.CppExtension("x", [Path("a.cpp")], include_dirs=["mine"])
    assert extension.include_dirs[0] == "mine"
    assert extension.sources == ["a.cpp"]
    assert extension.libraries == [f":libtorch_core.so.{torch._C.interface}"]


def test_import_torch_utils_loads_no_compiler():
    code = "import sys, torch.utils; print([m for m in sys.modules if 'cpp_extension' in m or m == 'setuptools'])"
    settings = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run([sys.executable, "-c", code], env=settings, capture_output=True, text=True)
    assert done.stdout == "[]\n"


def test_cmake_finds_torch_core_where_utils_says():
    import torch.utils

    assert os.path.isfile(os.path.join(torch.utils.cmake_prefix_path, "TorchCore", "TorchCoreConfig.cmake"))
    assert torch.utils.cpp_extension.CUDA_HOME is None  # setups of extensions then leave their CUDA sources away
