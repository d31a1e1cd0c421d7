"""Small functions that other libraries take from ``torch.serialization``."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator


@contextlib.contextmanager
def mkdtemp() -> Iterator[str]:
    """A folder that is removed, with all that is in it, when the block ends.

    >>> import os
    >>> with mkdtemp() as folder:
    ...     os.path.isdir(folder)
    True
    >>> os.path.exists(folder)
    False
    """
    import shutil
    import tempfile

    folder = tempfile.mkdtemp()
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def check_module_version_greater_or_equal(module, req_version_tuple: tuple, error_if_malformed: bool = True) -> bool:
    """Whether ``module.__version__`` is at least the given one.

    >>> import types
    >>> check_module_version_greater_or_equal(types.SimpleNamespace(__version__="0.3.10", __name__="dill"), (0, 3, 1))
    True
    """
    try:
        parts = module.__version__.split(".")
        version = tuple(type(wanted)(part) for wanted, part in zip(req_version_tuple, parts))
    except (AttributeError, TypeError, ValueError) as e:
        text = f"{module.__name__}: its version {getattr(module, '__version__', None)!r} cannot be compared with {req_version_tuple}"
        if error_if_malformed:
            raise RuntimeError(text) from e
        import warnings

        warnings.warn(f"{text}; it is taken for new enough", stacklevel=2)
        return True
    return version >= req_version_tuple


def normalize_storage_type(storage_type: type) -> type:
    """The class of ``torch`` with this class's name: of ``torch.cuda.FloatStorage``, ``torch.FloatStorage``."""
    return getattr(importlib.import_module("torch"), storage_type.__name__)


def storage_to_tensor_type(storage) -> type:
    """The tensor class beside a storage's class: of a ``torch.FloatStorage``, ``torch.FloatTensor``."""
    kind = type(storage)
    return getattr(importlib.import_module("torch"), kind.__name__.replace("Storage", "Tensor"))


def _get_layout(name: str):
    """The layout of that name: plain pickles of PyTorch call this."""
    return getattr(importlib.import_module("torch"), name.removeprefix("torch."))
