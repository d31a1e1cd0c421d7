"""Functions of dtypes and devices that are not here: each says what is missing, and what serves in its place."""

from __future__ import annotations

from .._absent import absent_function

REFUSED = {
    "_scaled_mm": "products of float8 are not there: torch.mm multiplies the other dtypes",
}

#: solvers that PyTorch itself has taken away, with what took their place
REMOVED = {
    "solve": "torch.linalg.solve(A, B), whose arguments stand the other way round",
    "lstsq": "torch.linalg.lstsq(A, B), whose arguments stand the other way round",
    "matrix_rank": "torch.linalg.matrix_rank",
}


def _removed(name, instead):
    def removed(*args, **kwargs):
        raise RuntimeError(f"torch.{name} was removed: use {instead}")

    removed.__name__ = removed.__qualname__ = name
    removed.__doc__ = f"RuntimeError: removed in favour of {instead}."
    return removed


globals().update((name, absent_function("torch", name, reason)) for name, reason in REFUSED.items())
globals().update((name, _removed(name, instead)) for name, instead in REMOVED.items())
