"""The hatchling build hook ``torch-cmake``: configures, builds and installs a CMake project into a wheel.

A package that compiles against torch-core names it in its build requirements and adds two tables::

    [build-system]
    requires = ["hatchling", "cmake>=3.24", "ninja", "torch-core~=0.1.0"]

    [tool.hatch.build.targets.wheel.hooks.torch-cmake]
    into = "torch/autograd"    # the package folder that receives what CMake installs
    needs-core = true          # find_package(TorchCore) succeeds

With pybind11 among the requirements, find_package(pybind11) succeeds as well. An ordinary wheel takes the result from a staging folder, stripped; an editable install puts it in place, below ``src``.

Environment:
    TORCH_BUILD_DIR   keep the build tree in ``$TORCH_BUILD_DIR/<distribution>`` and reuse it (default: ``build/``)
    TORCH_CMAKE_ARGS  further arguments for the configure step, split as a shell would
    TORCH_KEEP_SYMBOLS set to leave libraries unstripped
    TORCH_SKIP_NATIVE set to build only the Python files
    CXX, CMAKE_CXX_COMPILER_LAUNCHER, CMAKE_BUILD_PARALLEL_LEVEL  as CMake reads them
"""

import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.plugin import hookimpl

COMPILERS = ("c++", "g++", "clang++")


class CMakeHook(BuildHookInterface):
    PLUGIN_NAME = "torch-cmake"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel" or os.environ.get("TORCH_SKIP_NATIVE"):
            return
        into = self.config.get("into")
        if not into:
            self.app.abort(f"{self.name}: [tool.hatch.build.targets.wheel.hooks.torch-cmake] needs a key 'into'")
        editable = version == "editable"
        build = self.build_dir
        stage = Path(self.root, "src", into) if editable else build / "stage"
        if not editable:
            shutil.rmtree(stage, ignore_errors=True)
        self.configure(build)
        self.run("cmake", "--build", str(build))
        strip = [] if editable or os.environ.get("TORCH_KEEP_SYMBOLS") else ["--strip"]
        self.run("cmake", "--install", str(build), "--prefix", str(stage), *strip)
        self.installed(stage)
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        if not editable:
            build_data["force_include"][str(stage)] = into

    def installed(self, stage: Path) -> None:
        """For subclasses: what CMake installed lies in `stage`, and more may be written there."""

    @property
    def name(self) -> str:
        return self.metadata.core.raw_name

    @property
    def build_dir(self) -> Path:
        if shared := os.environ.get("TORCH_BUILD_DIR"):
            return Path(shared, self.name)
        return Path(self.root, "build", sys.implementation.cache_tag)

    def configure(self, build: Path) -> None:
        """Run CMake's configure step when its arguments changed; ninja notices everything else."""
        self.check_tools()
        args = ["-G", "Ninja", "-S", self.root, "-B", str(build), "-DCMAKE_BUILD_TYPE=Release"]
        args += [f"-DCMAKE_MAKE_PROGRAM={shutil.which('ninja')}", f"-DPython_EXECUTABLE={sys.executable}"]
        if self.config.get("needs-core"):
            args.append(f"-DTorchCore_DIR={self.core_cmake_dir()}")
        args += shlex.split(os.environ.get("TORCH_CMAKE_ARGS", ""))
        stamp = build / "arguments.txt"
        wanted = shlex.join([shutil.which("cmake") or "", *args])
        if (build / "build.ninja").exists() and stamp.exists() and stamp.read_text() == wanted:
            return
        cache = build / "CMakeCache.txt"
        if cache.exists() and f"CMAKE_HOME_DIRECTORY:INTERNAL={self.root}\n" not in cache.read_text():
            cache.unlink()  # a build of the same package from another folder
        self.run("cmake", *args)
        stamp.write_text(wanted)

    def check_tools(self) -> None:
        for tool in ("cmake", "ninja"):
            if shutil.which(tool) is None:
                self.app.abort(f"{self.name} is compiled, and {tool!r} is not on PATH: pip install {tool}")
        wanted = os.environ.get("CXX")
        found = shutil.which(shlex.split(wanted)[0]) if wanted else any(map(shutil.which, COMPILERS))
        if not found:
            looked = f"CXX={wanted}" if wanted else ", ".join(COMPILERS)
            self.app.abort(
                f"{self.name} is compiled and needs a C++20 compiler, g++ 12 or clang++ 14 or newer; looked for {looked}. "
                "Install one (Debian: apt install g++; Fedora: dnf install gcc-c++) or point CXX at it."
            )
        if not Path(sysconfig.get_path("include"), "Python.h").exists():
            self.app.abort(
                f"{self.name} is compiled and needs Python.h of {sys.executable} (Debian: apt install python3-dev)"
            )

    def hints(self) -> dict[str, str]:
        """Environment in which find_package(pybind11) succeeds where Python can import it."""
        found = importlib.util.find_spec("pybind11")
        return {"pybind11_ROOT": os.path.dirname(found.origin)} if found and found.origin else {}

    def core_cmake_dir(self) -> str:
        import torch_core

        where = torch_core.get_cmake_dir()
        if not Path(where, "TorchCoreConfig.cmake").exists():
            self.app.abort(
                f"{self.name}: torch-core is installed without its C++ side ({where} has no TorchCoreConfig.cmake)"
            )
        return where

    def run(self, *command: str) -> None:
        done = subprocess.run(command, env=os.environ | self.hints())
        if done.returncode:
            self.app.abort(
                f"{self.name}: {shlex.join(command)} failed; the compiler's message is above", done.returncode
            )


@hookimpl
def hatch_register_build_hook() -> type[BuildHookInterface]:
    return CMakeHook
