"""NVIDIA's profilers, started and stopped by the program."""

from ._absent import functions, kind, plugin

if plugin is not None and plugin.is_available():
    from torch._cuda.profiler import cudaOutputMode, init, profile, start, stop
else:
    cudaOutputMode = kind("profiler.cudaOutputMode", module=__name__)
    profile = kind("profiler.profile", ("__enter__", "__exit__"), module=__name__)
    functions(globals(), "init", "start", "stop")
__all__ = ["cudaOutputMode", "init", "profile", "start", "stop"]
