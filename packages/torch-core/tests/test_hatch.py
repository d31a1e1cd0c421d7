"""The hatch hook `torch-cmake`, as a package of somebody else uses it."""

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
import torch_core

pytest.importorskip("hatchling")
tools = pytest.mark.skipif(not (shutil.which("cmake") and shutil.which("ninja")), reason="needs cmake and ninja")

PROJECT = """
[build-system]
requires = ["hatchling", "torch-core"]
build-backend = "hatchling.build"
[project]
name = "answers"
version = "1.0"
[tool.hatch.build]
dev-mode-dirs = ["src"]
[tool.hatch.build.targets.wheel]
packages = ["src/answers"]
[tool.hatch.build.targets.wheel.hooks.torch-cmake]
into = "answers"
needs-core = true
"""
CMAKE = """
cmake_minimum_required(VERSION 3.24)
project(answers LANGUAGES CXX)
find_package(TorchCore REQUIRED CONFIG)
find_package(Python REQUIRED COMPONENTS Interpreter Development.Module)
Python_add_library(_answer MODULE WITH_SOABI answer.cpp)
target_link_libraries(_answer PRIVATE Torch::core)
install(TARGETS _answer LIBRARY DESTINATION .)
"""
SOURCE = """
#include <Python.h>
#include "torch/core/init.h"
static PyObject* answer(PyObject*, PyObject*) { return PyLong_FromLong(torch::interface_number()); }
static PyMethodDef functions[] = {{"interface", answer, METH_NOARGS, nullptr}, {}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "_answer", nullptr, -1, functions, nullptr, nullptr, nullptr, nullptr};
PyMODINIT_FUNC PyInit__answer() { return PyModule_Create(&module); }
"""


@pytest.fixture
def project(tmp_path):
    (tmp_path / "src/answers").mkdir(parents=True)
    (tmp_path / "src/answers/__init__.py").write_text("import torch\nfrom answers._answer import interface\n")
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    (tmp_path / "CMakeLists.txt").write_text(CMAKE)
    (tmp_path / "answer.cpp").write_text(SOURCE)
    return tmp_path


def build(project, **environment):
    command = [sys.executable, "-c", START, "build", "-t", "wheel", "-d", str(project / "dist")]
    settings = {k: v for k, v in os.environ.items() if not k.startswith("TORCH_")} | environment
    return subprocess.run(command, cwd=project, env=settings, capture_output=True, text=True, timeout=300)


# In a source tree no entry point announces the hook, so it is registered by hand.
START = f"""
import sys
sys.path.insert(0, {str(Path(torch_core.__file__).parents[1])!r})
from hatchling.cli import hatchling
from hatchling.plugin.manager import PluginManager
from importlib.metadata import entry_points
if not any(e.name == "torch-cmake" for e in entry_points(group="hatch")):
    import torch_core.hatch
    plain = PluginManager.initialize
    def initialize(self):
        plain(self)
        self.manager.register(torch_core.hatch)
    PluginManager.initialize = initialize
sys.exit(hatchling())
"""


@tools
def test_a_package_with_the_hook_compiles_against_the_installed_core(project):
    done = build(project)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = (project / "dist").glob("answers-1.0-cp*.whl")
    zipfile.ZipFile(wheel).extractall(project / "installed")
    code = "import torch, answers; print(answers.interface() == torch._C.interface)"
    paths = os.pathsep.join([str(project / "installed"), str(Path(torch_core.__file__).parents[1])])
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True
    )
    assert done.stdout.strip() == "True", done.stderr


@tools
def test_a_package_may_be_written_with_pybind11(project):
    pytest.importorskip("pybind11")
    (project / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.24)\nproject(answers LANGUAGES CXX)\nfind_package(TorchCore REQUIRED CONFIG)\n"
        "find_package(Python REQUIRED COMPONENTS Interpreter Development.Module)\n"
        "find_package(pybind11 REQUIRED CONFIG)\npybind11_add_module(_answer answer.cpp)\n"
        "target_link_libraries(_answer PRIVATE Torch::core)\ninstall(TARGETS _answer LIBRARY DESTINATION .)\n"
    )
    (project / "answer.cpp").write_text("#include <pybind11/pybind11.h>\nPYBIND11_MODULE(_answer, m) {}\n")
    done = build(project)
    assert done.returncode == 0, done.stdout + done.stderr


@tools
def test_a_shared_build_folder_is_used_again(project, tmp_path):
    shared = tmp_path / "shared"
    assert build(project, TORCH_BUILD_DIR=str(shared)).returncode == 0
    again = build(project, TORCH_BUILD_DIR=str(shared))
    assert "no work to do" in again.stdout, again.stdout + again.stderr
    assert "Configuring done" not in again.stdout


@tools
def test_without_a_compiler_the_build_says_what_to_install(project):
    done = build(project, CXX="/no/such/compiler")
    assert done.returncode
    said = done.stdout + done.stderr
    assert (
        "answers is compiled and needs a C++20 compiler, g++ 12 or clang++ 14 or newer; looked for CXX=/no/such/compiler"
        in said
    )
    assert "apt install g++" in said
    assert "Traceback" not in said


@tools
def test_a_fault_in_the_source_ends_with_the_compilers_words(project):
    (project / "answer.cpp").write_text("int x = no_such_name;")
    done = build(project)
    said = done.stdout + done.stderr
    assert done.returncode
    assert "no_such_name" in said and "the compiler's message is above" in said
    assert "Traceback" not in said


def test_missing_tools_are_named_with_the_command_that_brings_them(project):
    done = build(project, PATH=str(project))
    assert done.returncode
    assert "answers is compiled, and 'cmake' is not on PATH: pip install cmake" in done.stdout + done.stderr


def test_the_hook_needs_a_folder_to_install_into(project):
    (project / "pyproject.toml").write_text(PROJECT.replace('into = "answers"\n', ""))
    done = build(project)
    assert done.returncode
    assert "needs a key 'into'" in done.stdout + done.stderr


def test_torch_core_tells_where_its_headers_and_cmake_files_are():
    assert Path(torch_core.get_include(), "torch/core/macros.h").exists()
    assert Path(torch_core.get_cmake_dir(), "TorchCoreConfig.cmake").exists()
    assert Path(sysconfig.get_path("include"), "Python.h").exists()
