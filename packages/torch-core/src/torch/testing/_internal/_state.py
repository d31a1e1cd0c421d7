"""Seeds, settings and files that a test changes for a while, and small things around tests."""

from __future__ import annotations

import contextlib
import copy
import functools
import gc
import inspect
import itertools
import os
import random
import socket
import tempfile
import time
import unittest

import torch
from torch.testing._internal import _flags

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any


def set_rng_seed(seed: int | None = None) -> None:
    """Seeds the generators of torch, Python and NumPy, by default with the seed of the run."""
    seed = _flags.SEED if seed is None else seed
    torch.manual_seed(seed)
    random.seed(seed)
    if _flags.TEST_NUMPY:
        import numpy

        numpy.random.seed(seed)


def freeze_rng_state(*args: Any, **kwargs: Any) -> Any:
    """A context after which random numbers go on as if none had been drawn inside: ``torch.random.fork_rng``."""
    return torch.random.fork_rng(*args, **kwargs)


@contextlib.contextmanager
def set_default_dtype(dtype: torch.dtype) -> Iterator[None]:
    """The default dtype for what runs inside."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@contextlib.contextmanager
def set_default_tensor_type(tensor_type: Any) -> Iterator[None]:
    """The default tensor type for what runs inside."""
    before = torch.tensor([]).type()
    torch.set_default_tensor_type(tensor_type)
    try:
        yield
    finally:
        torch.set_default_tensor_type(before)


@contextlib.contextmanager
def set_warn_always_context(new_val: bool) -> Iterator[None]:
    """Whether warnings that come once a process come every time, for what runs inside."""
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(new_val)
    try:
        yield
    finally:
        torch.set_warn_always(before)


class DeterministicGuard:
    """Deterministic algorithms, or not, for what runs inside: ``torch.use_deterministic_algorithms``."""

    def __init__(self, deterministic: bool, *, warn_only: bool = False) -> None:
        self.wanted = (deterministic, warn_only)

    def __enter__(self) -> None:
        self.before = (
            torch.are_deterministic_algorithms_enabled(),
            torch.is_deterministic_algorithms_warn_only_enabled(),
        )
        torch.use_deterministic_algorithms(self.wanted[0], warn_only=self.wanted[1])

    def __exit__(self, *_: Any) -> None:
        torch.use_deterministic_algorithms(self.before[0], warn_only=self.before[1])


def wrapDeterministicFlagAPITest(fn: Any) -> Any:
    """A test that may change the deterministic settings: they are as before afterwards."""

    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        name = "CUBLAS_WORKSPACE_CONFIG"
        before = os.environ.get(name)
        now = (torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled())
        os.environ[name] = ":4096:8"
        try:
            with DeterministicGuard(now[0], warn_only=now[1]):
                return fn(*args, **kwargs)
        finally:
            if before is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = before

    return wrapper


@contextlib.contextmanager
def disable_gc() -> Iterator[None]:
    """No garbage collection for what runs inside."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


@contextlib.contextmanager
def set_cwd(path: str) -> Iterator[None]:
    """Another current directory for what runs inside."""
    before = os.getcwd()
    os.chdir(path)
    try:
        yield
    finally:
        os.chdir(before)


@contextlib.contextmanager
def TemporaryFileName(*args: Any, **kwargs: Any) -> Iterator[str]:
    """The name of an empty file that is gone afterwards; arguments are those of ``NamedTemporaryFile``."""
    if kwargs.pop("delete", False):
        raise ValueError("TemporaryFileName: the file is deleted afterwards anyway; delete=True would take it at once")
    with tempfile.NamedTemporaryFile(*args, delete=False, **kwargs) as file:
        name = file.name
    try:
        yield name
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)


@contextlib.contextmanager
def TemporaryDirectoryName(suffix: str | None = None) -> Iterator[str]:
    """The name of an empty directory that is gone afterwards."""
    with tempfile.TemporaryDirectory(suffix=suffix) as name:
        yield name


def find_free_port() -> int:
    """A port of this machine that was free a moment ago."""
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind(("localhost", 0))
        return s.getsockname()[1]


def retry(ExceptionToCheck: Any, tries: int = 3, delay: float = 3, skip_after_retries: bool = False) -> Any:
    """Calls again after ``delay`` seconds where these errors come, up to ``tries`` calls; then raises, or skips the test."""

    def decorate(fn):
        @functools.wraps(fn)
        def again(*args, **kwargs):
            for left in reversed(range(tries)):
                try:
                    return fn(*args, **kwargs)
                except ExceptionToCheck as error:
                    if not left:
                        if skip_after_retries:
                            raise unittest.SkipTest(f"failed {tries} times: {error}") from error
                        raise
                    print(f"{error}, Retrying in {delay} seconds...")
                    time.sleep(delay)
            return None

        return again

    return decorate


def retry_on_connect_failures(func: Any = None, connect_errors: Iterable[str] = ("Address already in use",)) -> Any:
    """Calls again, up to ten times, where a RuntimeError says one of these."""
    if func is None:
        return functools.partial(retry_on_connect_failures, connect_errors=connect_errors)

    @functools.wraps(func)
    def again(*args, **kwargs):
        for left in reversed(range(10)):
            try:
                return func(*args, **kwargs)
            except RuntimeError as error:
                if not left or not any(text in str(error) for text in connect_errors):
                    raise
                time.sleep(random.random())
        return None

    return again


def to_gpu(obj: Any, type_map: dict[torch.dtype, torch.dtype] | None = None) -> Any:
    """A copy whose tensors, leaves all of them, are on CUDA, with dtypes exchanged by ``type_map``."""
    if isinstance(obj, torch.Tensor):
        if not obj.is_leaf:
            raise AssertionError("to_gpu: expected leaf tensors")
        moved = obj.detach().to(device="cuda", dtype=(type_map or {}).get(obj.dtype, obj.dtype), copy=True)
        return moved.requires_grad_() if obj.requires_grad else moved
    if isinstance(obj, (list, tuple)):
        return type(obj)(to_gpu(o, type_map) for o in obj)
    return copy.deepcopy(obj)


def is_iterable(obj: Any) -> bool:
    """Whether ``iter`` takes it."""
    try:
        iter(obj)
    except TypeError:
        return False
    return True


def is_iterable_of_tensors(iterable: Any, include_empty: bool = False) -> bool:
    """Whether it holds tensors only and is none itself; ``include_empty`` answers for empty ones."""
    if isinstance(iterable, torch.Tensor) or not hasattr(iterable, "__len__") or not is_iterable(iterable):
        return False
    return all(isinstance(t, torch.Tensor) for t in iterable) if len(iterable) else include_empty


def iter_indices(tensor: Any) -> Iterable[Any]:
    """All indices of a tensor: numbers for one dimension, tuples for more."""
    if tensor.dim() < 2:
        return range(tensor.numel() if tensor.dim() else 0)
    return itertools.product(*map(range, tensor.shape))


def get_function_arglist(func: Callable[..., Any]) -> list[str]:
    """The names of the positional arguments."""
    return inspect.getfullargspec(func).args
