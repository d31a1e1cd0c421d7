"""Names of ``torch.jit._recursive`` that libraries use: what forgets compiled classes, and what wraps a program's object."""


class ConcreteTypeStore:
    """Compiled kinds of modules, by class. The compiler keeps its own with the class; this one stays empty."""

    def __init__(self) -> None:
        self.type_store: dict = {}


concrete_type_store = ConcreteTypeStore()


def wrap_cpp_module(cpp_module):
    """The compiled module of a program's object (``module._c``).

    >>> net = torch.jit.script(torch.nn.ReLU())
    >>> torch.jit._recursive.wrap_cpp_module(net._c)(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    from torch.jit._script.module import of_object

    return of_object(cpp_module)
