"""NVIDIA's profiler, started and stopped by the program."""

from ._absent import functions, kind

cudaOutputMode = kind("profiler.cudaOutputMode", module=__name__)
profile = kind("profiler.profile", ("__enter__", "__exit__"), module=__name__)
functions(globals(), "init", "start", "stop")
