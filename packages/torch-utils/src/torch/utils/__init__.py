"""Around training: data sets and loaders, a small training loop, checkpointing, DLPack, hooks."""

from __future__ import annotations

from importlib import import_module as _import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


_MODULES = (
    "_contextlib",
    "_foreach_utils",
    "_python_dispatch",
    "_pytree",
    "_triton",
    "backcompat",
    "benchmark",
    "bottleneck",
    "checkpoint",
    "collect_env",
    "cpp_extension",
    "data",
    "deterministic",
    "dlpack",
    "ffi",
    "file_baton",
    "flop_counter",
    "hooks",
    "hub",
    "model_zoo",
    "module_tracker",
    "serialization",
    "tensorboard",
    "throughput_benchmark",
    "trainer",
    "weak",
)


TYPE_CHECKING = False
if TYPE_CHECKING:  # what type checkers see; at run time these come when asked for
    from . import backcompat as backcompat
    from . import benchmark as benchmark
    from . import bottleneck as bottleneck
    from . import checkpoint as checkpoint
    from . import collect_env as collect_env
    from . import cpp_extension as cpp_extension
    from . import data as data
    from . import dlpack as dlpack
    from . import ffi as ffi
    from . import hooks as hooks
    from . import hub as hub
    from . import model_zoo as model_zoo
    from . import serialization as serialization
    from . import tensorboard as tensorboard
    from . import trainer as trainer
    from . import weak as weak
    from .throughput_benchmark import ThroughputBenchmark as ThroughputBenchmark

    cmake_prefix_path: str
else:

    def __getattr__(name):
        if name in _MODULES:
            return _import_module(f"torch.utils.{name}")
        if name == "ThroughputBenchmark":
            return _import_module("torch.utils.throughput_benchmark").ThroughputBenchmark
        if name == "cmake_prefix_path":  # for find_package(TorchCore)
            from os.path import dirname, join

            return join(dirname(_import_module("torch").__file__), "cmake")
        raise AttributeError(f"module 'torch.utils' has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *_MODULES, "ThroughputBenchmark", "cmake_prefix_path"})


def swap_tensors(t1: Any, t2: Any) -> None:
    """Two tensors change places, with their classes and attributes: who holds one now holds the other's contents.

    Raises RuntimeError when one of them is referred to weakly.

    Example:
        >>> import torch
        >>> a, b = torch.ones(1), torch.zeros(2)
        >>> swap_tensors(a, b)
        >>> a, b
        (tensor([0., 0.]), tensor([1.]))
    """
    from torch import _seams

    _seams.swap(t1, t2)


def set_module(obj: Any, mod: Any) -> None:
    """Sets the module that an object says it is from."""
    if not isinstance(mod, str):
        raise TypeError(f"set_module: mod must be a str, got {type(mod).__name__}")
    obj.__module__ = mod
