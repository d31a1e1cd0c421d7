"""The version, and what the build can use."""

from . import __version__

cuda = None  # the CUDA toolkit's version: the plug-in torch-core-cuda brings its own
hip = xpu = git_version = None
debug = False

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "xpu"]
