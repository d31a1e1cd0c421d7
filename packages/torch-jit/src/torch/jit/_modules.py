"""Modules that traces give."""

from __future__ import annotations

from ._script.module import RecursiveScriptModule

__all__ = ["TopLevelTracedModule", "TracedModule"]


class TracedModule(RecursiveScriptModule):
    """A module below one that was traced. Its own ``forward`` is traced when it is first asked for, with arguments that look as in
    its first call; the parent's graph has its operators itself.
    """

    __module__ = "torch.jit"

    def _get_name(self):
        return self.original_name

    def _complete(self):
        later = self.__dict__.pop("_traced_later", None)
        if later is not None and self._c._type().find_method("forward") is None:
            self._c._type().add_method(later())

    @property
    def forward(self):
        """The compiled method."""
        self._complete()
        return super().forward

    @property
    def graph(self):
        """The graph of forward."""
        self._complete()
        return super().graph

    @property
    def inlined_graph(self):
        self._complete()
        return super().inlined_graph

    @property
    def code(self):
        """forward as readable Python."""
        self._complete()
        return super().code

    @property
    def code_with_constants(self):
        self._complete()
        return super().code_with_constants


class TopLevelTracedModule(RecursiveScriptModule):
    """A traced module: its methods are programs, its parameters and buffers those of the module that was traced."""

    __module__ = "torch.jit"

    def _get_name(self):
        return self.original_name
