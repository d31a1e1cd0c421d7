"""The functions that expressions may call: those of C's <math.h>, as in 2018, and ``min`` and ``max``."""

from __future__ import annotations

#: name -> number of arguments
ARITY = {
    **dict.fromkeys(("exp", "log", "sqrt", "rsqrt", "tanh", "sinh", "cosh", "sin", "cos", "tan"), 1),
    **dict.fromkeys(("asin", "acos", "atan", "asinh", "acosh", "atanh", "floor", "ceil", "rint", "trunc"), 1),
    **dict.fromkeys(("fabs", "abs", "erf", "sigmoid", "log2", "log10", "exp2"), 1),
    **dict.fromkeys(("min", "max", "fmin", "fmax", "pow", "atan2", "fmod", "hypot", "fdim"), 2),
    **dict.fromkeys(("isnan", "isinf", "isfinite"), 1),
    "fma": 3,
}
#: these keep the type of their arguments; the others make floats of integers
KEEPS_INTEGERS = {"min", "max", "abs"}
#: C's names for one precision
SUFFIXED = {n + "f": n for n in ARITY if n not in ("min", "max", "abs", "isnan", "isinf", "isfinite", "sigmoid")}


def canonical(name: str) -> str | None:
    """The function behind a name, if there is one.

    >>> canonical("fmaxf"), canonical("gelu")
    ('fmax', None)
    """
    return name if name in ARITY else SUFFIXED.get(name)
