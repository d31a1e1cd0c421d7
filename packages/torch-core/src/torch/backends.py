"""Which library computes what, and switches that users of PyTorch set."""

import contextlib
import sys
from types import ModuleType

from . import _cold


class _Flags(ModuleType):
    """A submodule of settings; unknown ones are refused so that a typo does not pass."""

    def __init__(self, name, doc, **settings):
        super().__init__(f"torch.backends.{name}", doc)
        self.__dict__.update(settings, __path__=[])
        sys.modules[self.__name__] = self

    def __setattr__(self, name, value):
        if name not in self.__dict__ and not name.startswith("__"):
            raise AttributeError(
                f"{self.__name__} has no setting {name!r}; it has {', '.join(k for k in self.__dict__ if k[0] != '_')}"
            )
        super().__setattr__(name, value)


def _with_flags(module, *names):
    """Adds ``set_flags``, which gives the settings before, and ``flags``, which sets them for a block."""

    def set_flags(*values, **named):
        before = tuple(getattr(module, name) for name in names)
        given = dict(zip(names, values, strict=False)) | {name.removeprefix("_"): v for name, v in named.items()}
        for name, value in given.items():
            if value is not None:
                setattr(module, name, value)
        return before

    @contextlib.contextmanager
    def flags(*values, **named):
        before = set_flags(*values, **named)
        try:
            yield
        finally:
            set_flags(*before)

    module.__dict__.update(set_flags=set_flags, flags=flags)


cpu = _Flags("cpu", "The CPU.", get_cpu_capability=lambda: _cold.machine()["cpu_level"].upper())
cuda = _Flags("cuda", "CUDA: nothing without the plug-in.", is_built=lambda: False)
cudnn = _Flags(
    "cudnn", "cuDNN: accepted settings without effect on a CPU.", enabled=False, benchmark=False, deterministic=True, allow_tf32=False,
    benchmark_limit=10, verbose=False, is_available=lambda: False, is_acceptable=lambda tensor: False, version=lambda: None,
)  # fmt: skip
_with_flags(cudnn, "enabled", "benchmark", "benchmark_limit", "deterministic", "allow_tf32")
mkl = _Flags("mkl", "MKL is not used.", is_available=lambda: False)
mkldnn = _Flags("mkldnn", "oneDNN is not used.", is_available=lambda: False, enabled=False)
_with_flags(mkldnn, "enabled")
openmp = _Flags("openmp", "OpenMP is not used: there is one own thread pool.", is_available=lambda: False)
mps = _Flags("mps", "Metal is not used.", is_available=lambda: False, is_built=lambda: False)
blas = _Flags(
    "blas", "Matrix products and LAPACK.", provider=lambda: _cold.blas_provider(), set_provider=lambda name: _cold.set_blas_provider(name),
    last_provider=lambda: _cold.last_blas_provider(), description=lambda: _cold.blas_description(),
)  # fmt: skip
