"""Names of PyTorch's compiler to native code. Questions have an answer, a graph is handed to the compiler of this stack, and
packages are those of torch.export.
"""

from .._lazy import later


def list_mode_options(mode=None, dynamic=None):
    """The settings of each mode of the compiler: there are none.

    >>> import torch._inductor
    >>> torch._inductor.list_mode_options()
    {}
    """
    return {}


def list_options():
    """The names of the compiler's settings that change something.

    >>> list_options()
    ['freezing']
    """
    return ["freezing"]


def cudagraph_mark_step_begin():
    """A step of a program begins, which recorded CUDA graphs would want to know; there are none."""


def compile(gm, example_inputs, options=None):
    """What ``torch.compile(gm)`` makes of a graph; a backend of one's own ends with this. Settings change nothing."""
    import torch

    return torch.compile(gm)


def aot_compile(gm, args, kwargs=None, *, options=None):
    """Raises NotImplementedError: no libraries of native code are made."""
    raise NotImplementedError(
        "torch._inductor.aot_compile: no libraries of native code are made: torch.export.export(...) and "
        "aoti_compile_and_package write a package"
    )


def aoti_compile_and_package(exported_program, *, package_path=None, inductor_configs=None):
    """Write an exported program as a package, and return its path: where it is told, or a file of the temporary folder.

    A package holds the graph and its tensors, and no native code, so that it is for any machine; settings change nothing.
    ValueError for another ending than ``.pt2``, NotImplementedError for programs that no plan can be made of.
    """
    from .._parts import import_module, need

    need("export")
    return import_module("torch.export._package").package(exported_program, package_path)


def aoti_load_package(path, run_single_threaded=False, device_index=-1):
    """What a package computes, as a function: called as the module that was exported, without gradients.

    No code of the file's runs. RuntimeError when it is no such file. ``torch.set_num_threads`` says how many threads it uses.
    """
    from .._parts import import_module, need

    return import_module("torch.export._package").AOTICompiledModel(need("export").load(path))


__getattr__, __dir__ = later(
    globals(), modules=("codecache", "compile_fx", "config", "cpp_builder", "cpu_vec_isa", "runtime")
)
