"""Whether memory of new tensors is filled while deterministic algorithms are asked for."""

import sys
from types import ModuleType


class _Settings(ModuleType):
    """The module, whose setting is checked."""

    @property
    def fill_uninitialized_memory(self):
        """True: accepted and remembered. ``torch.empty`` does not fill its memory here, whatever this says."""
        return self.__dict__.get("_fill", True)

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode):
        if not isinstance(mode, bool):
            raise TypeError(f"fill_uninitialized_memory must be a bool, got {type(mode).__name__}")
        self.__dict__["_fill"] = mode


sys.modules[__name__].__class__ = _Settings
