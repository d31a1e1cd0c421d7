"""Extensions built by setuptools, as parts of a distribution.

from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CppExtension

setup(
    name="cell",
    ext_modules=[CppExtension("cell_cpp", ["cell.cpp"])],
    cmdclass={"build_ext": BuildExtension},
)
"""

from __future__ import annotations

import os
import pathlib
import sysconfig

from . import cuda, toolchain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


try:
    from setuptools import Extension
    from setuptools.command.build_ext import build_ext
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "BuildExtension and CppExtension need setuptools: pip install setuptools", name=error.name
    )


def CppExtension(name: str, sources: list, *args: Any, **kwargs: Any) -> Extension:
    """A `setuptools.Extension` with the headers and the library of torch-core. Build it with `BuildExtension`.

    >>> torch.utils.cpp_extension.CppExtension("mine", ["mine.cpp"]).language
    'c++'
    """
    kwargs["include_dirs"] = [*kwargs.get("include_dirs", []), *toolchain.include_paths()]
    kwargs["library_dirs"] = [*kwargs.get("library_dirs", []), *toolchain.library_paths()]
    # By its file name: there is no libtorch_core.so without a number.
    kwargs["libraries"] = [*kwargs.get("libraries", []), f":{toolchain.library().name}"]
    kwargs["language"] = "c++"
    return Extension(name, [os.fspath(s) for s in sources], *args, **kwargs)


def CUDAExtension(name: str, sources: list, *args: Any, **kwargs: Any) -> Any:
    """As `CppExtension`, for sources of C++ and, where they end in .cu, of CUDA, which nvcc compiles. RuntimeError says how
    to install that. ``extra_compile_args`` may be a dict with the flags of "cxx" and "nvcc".

    >>> from torch.utils import cpp_extension
    >>> if cpp_extension.CUDA_HOME:
    ...     extension = cpp_extension.CUDAExtension("mine", ["mine.cpp", "mine.cu"])
    """
    cuda.need_home("CUDAExtension")
    kwargs["include_dirs"] = [*kwargs.get("include_dirs", []), *cuda.headers()]
    kwargs["extra_link_args"] = [*kwargs.get("extra_link_args", []), *cuda.link_flags()]
    return CppExtension(name, sources, *args, **kwargs)


def SyclExtension(name: str, sources: list, *args: Any, **kwargs: Any) -> Any:
    """Does not exist here: there is no SYCL backend."""
    raise NotImplementedError("SyclExtension: SYCL is not supported; CppExtension compiles C++ for the CPU")


class BuildExtension(build_ext):
    """The command ``build_ext`` for extensions of torch: C++20, hidden symbols, and the module's name as a macro.

    ``extra_compile_args`` may be a list, or a dict whose key "cxx" holds one. Several extensions are built side by side
    with ``build_ext --parallel N``.

    >>> "build_ext" in [base.__name__ for base in torch.utils.cpp_extension.BuildExtension.__mro__]
    True
    """

    _options: dict = {}

    @classmethod
    def with_options(cls, **options: Any) -> Any:
        """A subclass with options: ``no_python_abi_suffix=True`` names the file ``name.so``; ``use_ninja`` has no effect."""
        unknown = set(options) - {"no_python_abi_suffix", "use_ninja"}
        if unknown:
            raise TypeError(f"BuildExtension.with_options: unknown options {', '.join(sorted(unknown))}")

        class WithOptions(cls):
            _options = options

        return WithOptions

    def build_extensions(self) -> None:
        compiler = toolchain.get_cxx_compiler()
        if not toolchain.check_compiler_abi_compatibility(compiler):
            raise RuntimeError(
                f"BuildExtension: needs g++ 12 or clang++ 14 or newer, got {compiler!r}; point CXX at one"
            )
        super().build_extensions()

    def build_extension(self, ext: Any) -> None:
        given = ext.extra_compile_args
        for_nvcc = list(given.get("nvcc", [])) if isinstance(given, dict) else []
        if isinstance(given, dict):
            given = given.get("cxx", [])
        last = ext.name.rpartition(".")[2]
        flags = ["-std=c++20", "-fvisibility=hidden", f"-DTORCH_EXTENSION_NAME={last}"]
        ext.extra_compile_args = [*flags, *given]
        of_cuda = [source for source in ext.sources if source.endswith(cuda.ENDINGS)]
        ext.sources = [source for source in ext.sources if source not in of_cuda]
        for source in of_cuda:
            ext.extra_objects = [*ext.extra_objects, self._compile_cuda(ext, source, flags, for_nvcc)]
        super().build_extension(ext)

    def _compile_cuda(self, ext: Any, source: str, flags: list[str], for_nvcc: list[str]) -> str:
        """The object of a file of CUDA."""
        made = os.path.join(self.build_temp, source.replace("/", "_") + ".o")
        os.makedirs(self.build_temp, exist_ok=True)
        defines = [f"-D{name}" if value is None else f"-D{name}={value}" for name, value in ext.define_macros]
        include = [f"-I{os.path.abspath(p)}" for p in ext.include_dirs]
        host_flags = [*flags, "-O2", "-fPIC", *defines, *include]
        compiler = toolchain.get_cxx_compiler()
        command, instead = cuda.command(compiler, host_flags, for_nvcc, pathlib.Path(source))
        if instead is not None:
            source = os.path.join(self.build_temp, os.path.basename(source) + ".cpp")
            pathlib.Path(source).write_text(instead)
        self.spawn([*command, "-c", source, "-o", made])
        return made

    def get_ext_filename(self, fullname: str) -> str:
        """Where the extension's file goes, relative to the build folder."""
        name = super().get_ext_filename(fullname)
        suffix = sysconfig.get_config_var("EXT_SUFFIX")
        if self._options.get("no_python_abi_suffix") and name.endswith(suffix):
            return name.removesuffix(suffix) + ".so"
        return name
