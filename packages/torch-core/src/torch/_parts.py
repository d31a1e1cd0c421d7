"""The other distributions of the stack put their package below this one's folder: torch/nn comes from torch-nn.

Parts load at first touch. A part that is not there says which distribution has it, and a compiled part that was built
for another interface says so before its library is loaded.
"""

import importlib.machinery  # noqa: F401  (torch-scatter asks for it where it has imported importlib and torch)
import sys
from os.path import isfile, join

PARTS = {
    "autograd": "torch-autograd",
    "func": "torch-autograd",
    "nn": "torch-nn",
    "ao": "torch-nn",
    "optim": "torch-optim",
    "serialize": "torch-serialize",
    "package": "torch-serialize",
    "multiprocessing": "torch-multiprocessing",
    "utils": "torch-utils",
    "distributions": "torch-distributions",
    "legacy": "torch-legacy",
    "fx": "torch-jit",
    "export": "torch-jit",
    "_logging": "torch-jit",
    "_awaits": "torch-jit",
    "_decomp": "torch-jit",
    "_export": "torch-jit",
    "onnx": "torch-onnx",
    "tc": "torch-tc",
    "distributed": "torch-distributed",
    "_cuda": "torch-core-cuda",
}

# Modules that users know under a second name.
ALIASES = {
    "serialization": "serialize",
    "hub": "utils.hub",
    "_C._nn": "nn.functional",
    "quantization": "ao.quantization",
    "quantization._numeric_suite": "ao.ns._numeric_suite",
    "quantization._numeric_suite_fx": "ao.ns._numeric_suite_fx",
    "sparse._triton_ops": "_faces.triton_ops",
    "sparse._triton_ops_meta": "_faces.triton_ops_meta",
    "_C._functorch": "_functorch._batches",
    "_functorch.aot_autograd": "fx._aot_autograd",
    "_functorch.partitioners": "fx._aot_autograd",
    "profiler": "autograd.profiling",
}

# Packages of quantized layers, below ``ao.nn`` and, older, ``nn``: what PyTorch has in files of theirs is one module here.
for _home, _module, _files in (
    ("quantized.modules", "quantized.modules", "activation batchnorm conv dropout embedding_ops linear normalization rnn utils"),
    ("quantized.dynamic", "quantized.dynamic", "modules modules.conv modules.linear modules.rnn"),
    ("quantized.reference", "quantized.reference.modules", "modules.conv modules.linear modules.rnn modules.sparse"),
    ("qat", "qat.modules", "modules.embedding_ops modules.linear"),
    ("qat.dynamic", "qat.dynamic", "modules modules.linear"),
    ("intrinsic", "intrinsic", "modules modules.fused"),
    ("intrinsic.qat", "intrinsic.qat", "modules.linear_fused modules.linear_relu"),
    ("intrinsic.quantized", "intrinsic.quantized", "modules modules.bn_relu modules.conv_relu modules.linear_relu"),
    ("intrinsic.quantized.dynamic", "intrinsic.quantized.dynamic", "modules modules.linear_relu"),
):  # fmt: skip
    for _file in _files.split():
        ALIASES[f"ao.nn.{_home}.{_file}"] = f"ao.nn.{_module}"
        ALIASES[f"nn.{_home}.{_file}".replace("quantized.reference", "quantized._reference")] = f"ao.nn.{_module}"

ALIASES["ao.nn.quantized.modules.functional_modules"] = "ao.nn.quantized.modules"

# Modules that PyTorch had, and what has taken their place.
GONE = dict.fromkeys(
    ("ao.quantization.quantize_pt2e", "ao.quantization.quantizer", "ao.quantization.pt2e"),
    "PyTorch has it no longer, the distribution 'torchao' does; torch.ao.quantization.quantize_fx quantizes graphs",
)

# Parts that libraries import whether or not they need them, with the file that answers in their absence.
FACES = {
    "_dynamo": join("_faces", "_dynamo", "__init__.py"),
    "compiler": join("_faces", "compiler.py"),
    "distributed": join("_faces", "distributed.py"),
    "jit": join("_faces", "jit", "__init__.py"),
    "onnx": join("_faces", "onnx", "__init__.py"),
}


class MissingPart(ModuleNotFoundError):
    """A part of the stack that is not installed; ``name`` is the distribution to install.

    It is not the name of the module: ``from torch import nn`` swallows an error of that name and puts a shorter one
    in its place.
    """


def missing(part: str) -> MissingPart:
    """The error for a part that is not installed.

    >>> str(missing("nn")).partition(": ")[0]
    "torch.nn is in the distribution 'torch-nn', which is not installed"
    """
    from torch import _install

    dist = PARTS[part]
    return MissingPart(_install.absent(f"torch.{part} is", dist), name=dist)


class Finder:
    """Last in sys.meta_path: asked only for a part that the usual finder did not find in torch/."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        above, _, part = name.partition(".")
        if above == "torch" and part in ALIASES:
            from importlib.machinery import ModuleSpec

            return ModuleSpec(name, Alias(f"torch.{ALIASES[part]}"))
        if above == "torch" and part in GONE and _imports(sys._getframe(1)):
            raise ModuleNotFoundError(f"No module named {name!r}: {GONE[part]}", name=name)
        if above != "torch" or (part not in PARTS and part not in FACES):
            return None
        folders = sys.modules["torch"].__path__
        for entry in sys.path:
            # An editable install keeps its part in a folder of its own. A torch/ with an __init__.py is a whole other
            # torch-core, or not ours at all.
            folder = join(entry, "torch")
            if folder not in folders and isfile(join(folder, part, "__init__.py")):
                if not isfile(join(folder, "__init__.py")):
                    from importlib.machinery import PathFinder  # here, for the sake of `import torch`

                    folders.append(folder)
                    return PathFinder.find_spec(name, [folder])
        if not _imports(sys._getframe(1)):
            return None
        if part in FACES:
            from importlib.util import spec_from_file_location

            return spec_from_file_location(name, join(folders[0], FACES[part]))
        raise missing(part)


def _imports(frame) -> bool:
    """Whether an import asks, which wants an error that names the distribution, or ``importlib.util.find_spec``, which
    wants None: libraries decide by it what they can use."""
    while frame is not None and "importlib" in frame.f_code.co_filename:
        if frame.f_code.co_name == "_find_and_load_unlocked":
            return True
        frame = frame.f_back
    return False


class Alias:
    """Loads a module under its second name: both are one module."""

    def __init__(self, name: str):
        self.name = name

    def create_module(self, spec):
        module = import_module(self.name)
        self.spec = module.__spec__
        return module

    def exec_module(self, module):
        module.__spec__ = self.spec


def install() -> None:
    """Called once by ``import torch``."""
    if Finder not in sys.meta_path:
        sys.meta_path.append(Finder)


def import_module(name: str):
    __import__(name)
    return sys.modules[name]


def need(part: str):
    """Import a part on behalf of a method such as ``Tensor.backward``, or raise the error that names its distribution."""
    return import_module(f"torch.{part}")


def require(dist: str, built_for: int, features: int = 0) -> None:
    """Refuse a compiled part that was built for another interface of torch-core, or with features that the installed one
    has not; called before its library is loaded."""
    from torch import _C

    if built_for == _C.interface and features <= _C.features:
        return
    from torch import _install

    upgrade = _install.command(dist if built_for < _C.interface else "torch-core", upgrade=True)
    what, wanted, has = "for interface", built_for, _C.interface
    if built_for == _C.interface:
        what, wanted, has = "with features", features, _C.features
    raise ImportError(
        f"{dist} {_version(dist)} was built {what} {wanted} of torch-core; "
        f"installed torch-core {_version('torch-core')} has {what.split()[1]} {has}: {upgrade}"
    )


def _version(dist: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(dist)
    except PackageNotFoundError:
        return "(from a source tree)"
