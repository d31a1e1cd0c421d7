"""Names of PyTorch's compiler to native code. Questions have an answer, a graph is handed to the compiler of this stack, and
files of native code are refused.
"""

from .._lazy import later

NO_COMPILER = "there is no compiler to native code in this stack; programs run as they were written"


def list_mode_options(mode=None, dynamic=None):
    """The settings of each mode of the compiler: there are none.

    >>> import torch._inductor
    >>> torch._inductor.list_mode_options()
    {}
    """
    return {}


def list_options():
    """The names of the compiler's settings: there are none."""
    return []


def cudagraph_mark_step_begin():
    """A step of a program begins, which recorded CUDA graphs would want to know; there are none."""


def compile(gm, example_inputs, options=None):
    """What ``torch.compile(gm)`` makes of a graph; a backend of one's own ends with this. Settings change nothing."""
    import torch

    return torch.compile(gm)


def aot_compile(gm, args, kwargs=None, *, options=None):
    """Raises NotImplementedError."""
    raise NotImplementedError(f"torch._inductor.aot_compile: {NO_COMPILER}")


def aoti_compile_and_package(exported_program, *, package_path=None, inductor_configs=None):
    """Raises NotImplementedError."""
    raise NotImplementedError(f"torch._inductor.aoti_compile_and_package: {NO_COMPILER}")


__getattr__, __dir__ = later(
    globals(), modules=("codecache", "compile_fx", "config", "cpp_builder", "cpu_vec_isa", "runtime")
)
