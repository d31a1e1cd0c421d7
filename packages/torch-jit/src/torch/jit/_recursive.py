"""Names of ``torch.jit._recursive`` that libraries use: what forgets compiled classes, and what wraps a program's object."""

from typing import Any, NamedTuple

import torch


class ConcreteTypeStore:
    """Compiled kinds of modules, by class. The compiler keeps its own with the class; this one stays empty."""

    def __init__(self) -> None:
        self.type_store: dict = {}


concrete_type_store = ConcreteTypeStore()


class ScriptMethodStub(NamedTuple):
    """A method of a module that is to be compiled."""

    resolution_callback: Any
    def_: Any
    original_method: Any


def infer_methods_to_compile(nn_module):
    """The methods that :func:`torch.jit.script` compiles by themselves: ``forward``, and what is marked ``export``.

    >>> [stub.original_method.__name__ for stub in torch.jit._recursive.infer_methods_to_compile(torch.nn.ReLU())]
    ['forward']
    """
    names = ["forward"] if type(nn_module).forward is not torch.nn.Module.forward else []
    for name in dir(type(nn_module)):
        mark = getattr(getattr(type(nn_module), name, None), "_torchscript_modifier", None)
        if mark == "export" and name not in names:
            names.append(name)
    return [ScriptMethodStub(None, None, getattr(nn_module, name)) for name in names]


def create_script_module(nn_module, stubs_fn=infer_methods_to_compile, share_types=True, is_tracing=False):
    """The compiled form of a module; NotImplementedError for a choice of methods of one's own."""
    if stubs_fn is not infer_methods_to_compile:
        raise NotImplementedError(
            "create_script_module: forward and exported methods are compiled; mark others with @torch.jit.export"
        )
    return torch.jit.script(nn_module)


def wrap_cpp_module(cpp_module):
    """The compiled module of a program's object (``module._c``).

    >>> net = torch.jit.script(torch.nn.ReLU())
    >>> torch.jit._recursive.wrap_cpp_module(net._c)(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    from torch.jit._script.module import of_object

    return of_object(cpp_module)
