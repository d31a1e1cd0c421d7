"""Names of tracing beneath the tape, which this stack does not have: nothing traces so, and asking to raises."""

from contextlib import contextmanager

__all__ = ["get_proxy_mode", "make_fx", "disable_proxy_modes_tracing", "is_sym_node", "get_isolated_graphmodule"]

_REASON = "tracing of tensors is not part of this stack; torch.fx.symbolic_trace records calls of Python"


def get_proxy_mode():
    """The mode that traces tensors just now: None.

    >>> get_proxy_mode() is None
    True
    """
    return


@contextmanager
def disable_proxy_modes_tracing(enable_current=False):
    """A context in which nothing changes: no such mode is ever on."""
    yield


def is_sym_node(node) -> bool:
    """Whether a node's value is a symbolic size: never."""
    return False


def make_fx(f, *args, **kwargs):
    """NotImplementedError."""
    raise NotImplementedError(f"make_fx: {_REASON}")


def get_isolated_graphmodule(func, args, kwargs, *more, **options):
    """NotImplementedError."""
    raise NotImplementedError(f"get_isolated_graphmodule: {_REASON}")
