"""Names of PyTorch's compiler to native code, which is not part of this stack: questions have an answer, work is refused."""

from importlib import import_module

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
    """Raises NotImplementedError."""
    raise NotImplementedError(f"torch._inductor.compile: {NO_COMPILER}")


aot_compile = aoti_compile_and_package = compile


def __getattr__(name):
    if name in ("codecache", "config", "cpp_builder", "cpu_vec_isa", "runtime"):
        return import_module(f"torch._inductor.{name}")
    raise AttributeError(f"module 'torch._inductor' has no attribute {name!r}")
