"""C++ extensions: compiled while the program runs (`load`, `load_inline`) or by setuptools (`BuildExtension`).

They compile against the headers that torch-core installs; docs/extensions.md walks through both ways, and tells how a
project built with hatch does the same.
"""

from torch import _seams

from ._compile import BuildError
from .cuda import find_home as _find_cuda_home  # noqa: F401, a name that libraries import
from .jit import (  # noqa: F401, as before
    _get_build_directory,
    _import_module_from_library,
    _jit_compile,
    load,
    load_inline,
    remove_extension_h_precompiler_headers,
)
from .toolchain import (
    check_compiler_abi_compatibility,
    check_compiler_is_gcc,
    check_compiler_ok_for_platform,
    get_compiler_abi_compatibility_and_version,
    get_cxx_compiler,
    get_default_build_root,
    include_paths,
    is_ninja_available,
    library,
    library_paths,
    require_interface,
    verify_ninja_availability,
)

_PACKAGING = ("BuildExtension", "CppExtension", "CUDAExtension", "SyclExtension")

ROCM_HOME = None

_TORCH_PATH = str(library().parents[1])  # where `include` and `lib` lie

__all__ = [
    "CUDA_HOME",
    "BuildError",
    "BuildExtension",
    "CUDAExtension",
    "CppExtension",
    "SyclExtension",
    "check_compiler_abi_compatibility",
    "check_compiler_is_gcc",
    "check_compiler_ok_for_platform",
    "get_compiler_abi_compatibility_and_version",
    "get_cxx_compiler",
    "get_default_build_root",
    "include_paths",
    "is_ninja_available",
    "library_paths",
    "load",
    "load_inline",
    "remove_extension_h_precompiler_headers",
    "require_interface",
    "verify_ninja_availability",
]

# These need setuptools, the rest does not; and nvcc is looked for when a setup asks before it adds its CUDA sources.
__getattr__, __dir__ = _seams.later(
    globals(), names=dict.fromkeys(_PACKAGING, "packaging") | {"CUDA_HOME": "cuda_home"}
)
