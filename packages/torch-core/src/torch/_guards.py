"""What a compiler knows while it looks at a program: there is none, so nothing."""


def active_fake_mode():
    """The innermost FakeTensorMode in force, or None."""
    from . import _dispatch

    if not (modes := _dispatch.modes()):
        return None
    from ._subclasses import FakeTensorMode

    return next((m for m in reversed(modes) if isinstance(m, FakeTensorMode)), None)


def detect_fake_mode(inputs=None):
    """The FakeTensorMode in force, else that of a fake tensor among the inputs, or None."""
    from ._pytree import tree_flatten

    return active_fake_mode() or next(
        (mode for x in tree_flatten(inputs)[0] if (mode := getattr(x, "fake_mode", None)) is not None), None
    )


class TracingContext:
    """What a compilation in progress knows."""

    @staticmethod
    def try_get():
        """The compilation in progress: None."""

    @staticmethod
    def get():
        """Raises RuntimeError: no compilation is in progress."""
        raise RuntimeError("TracingContext.get() must be called within an ongoing trace: there is no compiler here")
