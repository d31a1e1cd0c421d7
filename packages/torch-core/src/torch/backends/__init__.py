"""Which library computes what, and switches that users of PyTorch set."""

from __future__ import annotations

import contextlib
import sys
from types import ModuleType

from .. import _cold

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _Flags(ModuleType):
    """A submodule of settings; unknown ones are refused so that a typo does not pass."""

    def __init__(self, name: str, doc: Any, **settings: Any) -> None:
        super().__init__(f"torch.backends.{name}", doc)
        self.__dict__.update(settings, __path__=[])
        for word in ("is_available", "version"):
            if word in settings:
                settings[
                    word
                ].__doc__ = f"{settings[word]()}.\n\n>>> print(torch.backends.{name}.{word}())\n{settings[word]()}\n"
        sys.modules[self.__name__] = self

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.__dict__ and not name.startswith("__"):
            raise AttributeError(
                f"{self.__name__} has no setting {name!r}; it has {', '.join(k for k in self.__dict__ if k[0] != '_')}"
            )
        super().__setattr__(name, value)


class _OfDevices(_Flags):
    """Settings that each device has: they are those of all."""

    def __getitem__(self, device: Any) -> _OfDevices:
        return self


class _Engines(_Flags):
    """Settings with an ``engine``, one of those that are supported."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "engine" and value not in self.supported_engines:
            raise RuntimeError(f"{self.__name__}: no engine {value!r}: there are {', '.join(self.supported_engines)}")
        super().__setattr__(name, value)


def _with_flags(module, *names):
    """Adds ``set_flags``, which gives the settings before, and ``flags``, which sets them for a block."""

    def set_flags(*values, **named):
        """Change settings, by place or by name; gives those before.

        >>> before = torch.backends.cudnn.set_flags(_benchmark=True)
        >>> torch.backends.cudnn.benchmark
        True
        >>> _ = torch.backends.cudnn.set_flags(_benchmark=False)
        """
        before = tuple(getattr(module, name) for name in names)
        given = dict(zip(names, values, strict=False)) | {name.removeprefix("_"): v for name, v in named.items()}
        for name, value in given.items():
            if value is not None:
                setattr(module, name, value)
        return before

    @contextlib.contextmanager
    def flags(*values, **named):
        """Settings for a block.

        >>> with torch.backends.cudnn.flags(enabled=False):
        ...     print(torch.backends.cudnn.enabled)
        False
        """
        before = set_flags(*values, **named)
        try:
            yield
        finally:
            set_flags(*before)

    module.__dict__.update(set_flags=set_flags, flags=flags)


def _get_cpu_capability():
    """What kernels are compiled for: "AVX512", "AVX2", or "DEFAULT" for less."""
    return {"v4": "AVX512", "v3": "AVX2"}.get(_cold.machine()["cpu_level"], "DEFAULT")


cpu = _Flags("cpu", "The CPU.", get_cpu_capability=_get_cpu_capability)


def _has_plugin():
    from ..cuda._absent import plugin

    return plugin is not None


cuda = _Flags(
    "cuda", "CUDA: settings wait for the plug-in.", is_built=_has_plugin, is_flash_attention_available=lambda: False,
    is_ck_sdpa_available=lambda: False, can_use_flash_attention=lambda params, debug=False: False,
    can_use_efficient_attention=lambda params, debug=False: False, can_use_cudnn_attention=lambda params, debug=False: False,
    preferred_linalg_library=lambda backend=None: "default", preferred_blas_library=lambda backend=None: "default",
    matmul=_Flags(
        "cuda.matmul", "Precision of products on a device.", allow_tf32=False, allow_fp16_reduced_precision_reduction=True,
        allow_bf16_reduced_precision_reduction=True, allow_fp16_accumulation=False, fp32_precision="none",
    ),
    cufft_plan_cache=_OfDevices("cuda.cufft_plan_cache", "Plans of cuFFT.", size=0, max_size=0, clear=lambda: None),
)  # fmt: skip


class SDPAParams:
    """What a call of ``scaled_dot_product_attention`` is about, for ``can_use_flash_attention`` and the like."""

    def __init__(
        self, query: Any, key: Any, value: Any, attn_mask: Any, dropout: float, is_causal: bool, enable_gqa: bool
    ) -> None:
        self.query, self.key, self.value, self.attn_mask = query, key, value, attn_mask
        self.dropout, self.is_causal, self.enable_gqa = dropout, is_causal, enable_gqa


cuda.__dict__["SDPAParams"] = SDPAParams


@contextlib.contextmanager
def __allow_nonbracketed_mutation():
    """A block in which flags may be set by assignment, as they always may here."""
    yield


def _attention_kernels():
    """The switches of attention's kernels on a device; every call here computes by plain operators, as ``math`` does."""
    enabled = {"flash": True, "math": True, "mem_efficient": True, "cudnn": True, "reduction": False}

    def switch(kernel):
        return lambda enable: enabled.__setitem__(kernel, bool(enable))

    @contextlib.contextmanager
    def sdp_kernel(enable_flash=True, enable_math=True, enable_mem_efficient=True, enable_cudnn=True):
        before = dict(enabled)
        enabled.update(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn)
        try:
            yield
        finally:
            enabled.update(before)

    for kernel in ("flash", "math", "mem_efficient", "cudnn"):
        cuda.__dict__[f"{kernel}_sdp_enabled"] = lambda kernel=kernel: enabled[kernel]
        cuda.__dict__[f"enable_{kernel}_sdp"] = switch(kernel)
    cuda.__dict__["fp16_bf16_reduction_math_sdp_allowed"] = lambda: enabled["reduction"]
    cuda.__dict__["allow_fp16_bf16_reduction_math_sdp"] = switch("reduction")
    cuda.__dict__["sdp_kernel"] = sdp_kernel


_attention_kernels()
cudnn = _Flags(
    "cudnn", "cuDNN: accepted settings without effect on a CPU.", enabled=True, benchmark=False, deterministic=False, allow_tf32=True,
    benchmark_limit=None, verbose=False, fp32_precision="none", is_available=lambda: False, is_acceptable=lambda tensor: False, version=lambda: None,
)  # fmt: skip
cudnn.is_acceptable.__doc__ = (
    "False: nothing runs in cuDNN.\n\n>>> torch.backends.cudnn.is_acceptable(torch.ones(1))\nFalse\n"
)
_with_flags(cudnn, "enabled", "benchmark", "benchmark_limit", "deterministic", "allow_tf32")
mkl = _Flags("mkl", "MKL is not used.", is_available=lambda: False)


class verbose(contextlib.nullcontext):
    """A block in which a library tells what it computes: ours are not those libraries, and nothing is told."""


verbose.VERBOSE_OFF, verbose.VERBOSE_ON, verbose.VERBOSE_ON_CREATION = 0, 1, 2
mkl.__dict__.update(verbose=verbose, VERBOSE_OFF=0, VERBOSE_ON=1)
mkldnn = _Flags(
    "mkldnn", "oneDNN is not used.", is_available=lambda: False, enabled=False, deterministic=True, allow_tf32=False,
    verbose=verbose, VERBOSE_OFF=0, VERBOSE_ON=1, VERBOSE_ON_CREATION=2,
)  # fmt: skip
_with_flags(mkldnn, "enabled")
openmp = _Flags("openmp", "OpenMP is not used: there is one own thread pool.", is_available=lambda: False)
mps = _Flags(
    "mps", "Metal is not used.", is_available=lambda: False, is_built=lambda: False, is_macos13_or_newer=lambda minor=0: False,
    is_macos_or_newer=lambda major, minor: False,
)  # fmt: skip
opt_einsum = _Flags(
    "opt_einsum", "The order of einsum's products is its own.", is_available=lambda: False, enabled=False, strategy=None,
    get_opt_einsum=lambda: None,
)  # fmt: skip
_with_flags(opt_einsum, "enabled", "strategy")
quantized = _Engines(
    "quantized", "Whose conventions quantized layers follow: kernels are the same, and qnnpack rounds inputs of dynamic layers to 8 bits, not 7.",
    engine="x86", supported_engines=["qnnpack", "onednn", "x86", "fbgemm"],
)  # fmt: skip
nnpack = _Flags("nnpack", "NNPACK is not used.", is_available=lambda: False, enabled=False)
xnnpack = _Flags("xnnpack", "XNNPACK is not used.", enabled=False)
_with_flags(nnpack, "enabled")
cusparselt = _Flags("cusparselt", "cuSPARSELt is not used.", is_available=lambda: False, version=lambda: None)
kleidiai = _Flags("kleidiai", "KleidiAI is not used.", is_available=lambda: False)
mha = _Flags(
    "mha",
    "The fused path of nn.MultiheadAttention.",
    get_fastpath_enabled=lambda: True,
    set_fastpath_enabled=lambda value: None,
)
fp32_precision = "none"
blas = _Flags(
    "blas", "Matrix products and LAPACK.", provider=lambda: _cold.blas_provider(), set_provider=lambda name: _cold.set_blas_provider(name),
    last_provider=lambda: _cold.last_blas_provider(), description=lambda: _cold.blas_description(),
)  # fmt: skip
