"""``torch._logging``: what ``torch.compile`` says about itself.

``TORCH_LOGS=graph_breaks,recompiles`` in the environment, or :func:`set_logs`, turns lines on; they go to the loggers
``torch._dynamo.graph_breaks`` and ``torch._dynamo.recompiles``.
"""

import contextlib
import functools
import os

__all__ = ["set_logs", "wanted", "warning_once"]
_KNOWN = ("graph_breaks", "recompiles")
_on = {name.lstrip("+") for name in os.environ.get("TORCH_LOGS", "").split(",") if name and not name.startswith("-")}


def wanted():
    """The names of what is told."""
    return frozenset(_on)


def set_logs(*, graph_breaks=False, recompiles=False, modules=None, **others):
    """Choose what is told; other names of PyTorch's are accepted, and there is nothing to tell about them.

    >>> torch._logging.set_logs(recompiles=True)
    >>> sorted(torch._logging.wanted())
    ['recompiles']
    >>> torch._logging.set_logs()
    """
    _on.clear()
    _on.update(name for name, on in (("graph_breaks", graph_breaks), ("recompiles", recompiles)) if on)


@functools.lru_cache(None)
def warning_once(logger, *args, **kwargs):
    """A warning to a logger, once for each text."""
    logger.warning(*args, **kwargs)


@contextlib.contextmanager
def hide_warnings(hide):
    """A block whose warnings are shown unless ``hide(text, category, file, line)``."""
    import warnings

    before = warnings.showwarning

    def show(message, category, filename, lineno, *args):
        if not hide(message, category, filename, lineno):
            before(message, category, filename, lineno, *args)

    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = before
