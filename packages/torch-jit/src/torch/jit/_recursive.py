"""The name of ``torch.jit._recursive`` by which libraries forget compiled classes."""


class ConcreteTypeStore:
    """Compiled kinds of modules, by class. The compiler keeps its own with the class; this one stays empty."""

    def __init__(self) -> None:
        self.type_store: dict = {}


concrete_type_store = ConcreteTypeStore()
