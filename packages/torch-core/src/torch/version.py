"""The version, and what the build can use."""

from . import __version__

hip = xpu = git_version = None
debug = False

TYPE_CHECKING = False
if TYPE_CHECKING:
    cuda: str | None


def __getattr__(name):
    if name != "cuda":
        raise AttributeError(f"module 'torch.version' has no attribute {name!r}")
    from .cuda._absent import plugin

    return plugin.toolkit_version() if plugin is not None else None


__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "xpu"]
