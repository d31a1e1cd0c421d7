"""NVIDIA's profiler, started and stopped by the program."""

from ._absent import functions, kind

cudaOutputMode = kind("profiler.cudaOutputMode")
profile = kind("profiler.profile", ("__enter__", "__exit__"))
functions(globals(), "init", "start", "stop")
