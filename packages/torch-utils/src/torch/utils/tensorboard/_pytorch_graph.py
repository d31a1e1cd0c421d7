"""The graph of a module for writers of other libraries, which ask for messages that serialize themselves."""

from __future__ import annotations

from . import graph as _graph

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Message:
    """A message of protobuf in its bytes."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def SerializeToString(self) -> bytes:
        """The bytes."""
        return self._content


def graph(model: Any, args: Any, verbose: bool = False, use_strict_trace: bool = True) -> tuple[Message, Message]:
    """GraphDef of one run of ``model(*args)``, and RunMetadata without content: times are not taken.

    >>> found, times = graph(torch.nn.Linear(2, 1), torch.ones(1, 2))
    >>> b"weight" in found.SerializeToString(), times.SerializeToString()
    (True, b'')
    """
    return Message(_graph.graph(model, args, verbose)), Message(b"")
