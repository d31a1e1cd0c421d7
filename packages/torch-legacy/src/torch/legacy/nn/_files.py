"""The names under which pickles of 2016 know the layers: a file each, ``torch.legacy.nn.Linear`` with ``Linear`` in it."""

import sys
from types import ModuleType

__all__ = ["register"]


def register(package: str, classes: dict) -> None:
    """Make such modules known; ``torch.legacy.nn.Linear`` itself stays the class."""
    for name, cls in classes.items():
        place = f"{package}.{name}"
        if place not in sys.modules:
            module = ModuleType(place, f"Where pickles of 2016 look for {name}.")
            setattr(module, name, cls)
            sys.modules[place] = module
