"""CUDA, for tests: what is there, and TF32 on or off. Importing it starts no device."""

from __future__ import annotations

import contextlib
import functools

import torch
from torch.testing._internal._flags import TEST_CUDA as TEST_CUDA

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

TEST_MULTIGPU = TEST_CUDA and torch.cuda.device_count() >= 2
CUDA_DEVICE = torch.device("cuda:0") if TEST_CUDA else None
TEST_CUDNN = TEST_CUDA and torch.backends.cudnn.is_available()
TEST_CUDNN_VERSION = (torch.backends.cudnn.version() or 0) if TEST_CUDNN else 0
TEST_MAGMA = False  # linear algebra on CUDA goes through cuSOLVER


def _at_least(major: int, minor: int) -> bool:
    return TEST_CUDA and torch.cuda.get_device_capability() >= (major, minor)


SM53OrLater, SM60OrLater, SM70OrLater = _at_least(5, 3), _at_least(6, 0), _at_least(7, 0)
SM75OrLater, SM80OrLater, SM89OrLater = _at_least(7, 5), _at_least(8, 0), _at_least(8, 9)
SM90OrLater, SM100OrLater, SM120OrLater = _at_least(9, 0), _at_least(10, 0), _at_least(12, 0)


def initialize_cuda_context_rng() -> None:
    """Draws once on each device, so that its generator exists."""
    if not TEST_CUDA:
        raise RuntimeError("initialize_cuda_context_rng: CUDA must be available")
    for i in range(torch.cuda.device_count()):
        torch.randn(1, device=f"cuda:{i}")


@contextlib.contextmanager
def _tf32(allowed: bool) -> Iterator[None]:
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = allowed
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


def tf32_off() -> contextlib.AbstractContextManager[None]:
    """Products of float32 in full precision inside."""
    return _tf32(False)


def tf32_enabled() -> contextlib.AbstractContextManager[None]:
    """Products of float32 may use TF32 inside."""
    return _tf32(True)


@contextlib.contextmanager
def tf32_on(self: Any, tf32_precision: float = 1e-5) -> Iterator[None]:
    """TF32 inside, with this ``precision`` of the test case."""
    before, self.precision = self.precision, tf32_precision
    try:
        with _tf32(True):
            yield
    finally:
        self.precision = before


def with_tf32_off(f: Callable[..., Any]) -> Callable[..., Any]:
    """The test without TF32."""

    @functools.wraps(f)
    def wrapped(*args, **kwargs):
        with tf32_off():
            return f(*args, **kwargs)

    return wrapped


def tf32_on_and_off(tf32_precision: float = 1e-5, *, only_if: bool = True) -> Callable[..., Any]:
    """The test twice where the GPU has TF32: without it, then with it at this precision; else once as it is."""

    def decorate(f):
        @functools.wraps(f)
        def wrapped(self, *args, **kwargs):
            where = kwargs.get("device", "cuda")
            if not (only_if and SM80OrLater and torch.device(where).type == "cuda"):
                return f(self, *args, **kwargs)
            with tf32_off():
                f(self, *args, **kwargs)
            with tf32_on(self, tf32_precision):
                f(self, *args, **kwargs)
            return None

        return wrapped

    return decorate
