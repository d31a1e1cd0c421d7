"""Where the C++ side of torch-core lies, for the builds of other packages. Importing this loads no native code."""

from importlib.util import find_spec
from pathlib import Path


def _torch() -> Path:
    spec = find_spec("torch")  # found, not executed
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(
            "torch_core is importable but torch is not: pip install --force-reinstall --no-index --find-links WHEELHOUSE "
            "torch-core, where WHEELHOUSE holds our wheels"
        )
    return Path(spec.origin).parent


def get_include() -> str:
    """Return the folder of the public headers, ``torch/core/*.h`` and ``torch/c/torch.h``.

    >>> from pathlib import Path
    >>> (Path(get_include()) / "torch/core/macros.h").exists()
    True
    """
    return str(_torch() / "include")


def get_cmake_dir() -> str:
    """Return the folder of ``TorchCoreConfig.cmake``, to be passed as ``-DTorchCore_DIR=``."""
    return str(_torch() / "cmake" / "TorchCore")
