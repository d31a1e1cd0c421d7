"""How compiled functions behave for the time being: ``torch.compiler.set_stance``."""

from __future__ import annotations

import functools

STANCES = (
    "default",
    "eager_then_compile",
    "aot_eager_then_compile",
    "fail_on_recompile",
    "force_eager",
    "eager_on_recompile",
)


class Stance:
    """One way to behave."""

    def __init__(self, name="default"):
        self.name = name
        self.eager = name == "force_eager"
        self.fails = name == "fail_on_recompile"
        self.keeps = name == "eager_on_recompile"  # what was captured is used, and nothing else is captured
        self.waits = name in ("eager_then_compile", "aot_eager_then_compile")  # a first call as it was written


current = Stance()


def _use(stance):
    from torch.jit import _native

    global current
    current = stance
    _native._set_stance(int(stance.eager))


class set_stance:
    """How compiled functions behave from here on, within a block or within a function: ``"default"``, ``"force_eager"``
    (as they were written), ``"fail_on_recompile"`` (RuntimeError when no captured program fits), ``"eager_on_recompile"``
    (as they were written then), ``"eager_then_compile"`` (the first call of each as it was written).

    >>> @torch.compile
    ... def double(x):
    ...     return 2 * x
    >>> with torch.compiler.set_stance("force_eager"):
    ...     double(torch.ones(2))
    tensor([2., 2.])
    """

    def __init__(self, stance="default", *, skip_guard_eval_unsafe=False, force_backend=None):
        if stance not in STANCES:
            raise RuntimeError(f"set_stance: unknown stance {stance!r}; it must be one of {', '.join(STANCES)}")
        if force_backend is not None and stance != "default":
            raise RuntimeError("set_stance: force_backend goes with the default stance only")
        self.stance, self.before = Stance(stance), current
        _use(self.stance)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        _use(self.before)

    def __call__(self, fn):
        _use(self.before)  # a decorator sets it within calls only

        @functools.wraps(fn)
        def within(*args, **kwargs):
            with set_stance(self.stance.name):
                return fn(*args, **kwargs)

        return within
