"""Values that are computed when they are first asked for: what ``torch.jit._awaitable`` gives."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

__all__: list[str] = []

W = TypeVar("W")


class _Await(Generic[W]):
    """A call that is made when its result is first asked for, by ``torch.jit._awaitable_wait`` or by an attribute of it.

    >>> late = torch.jit._awaitable(torch.add, torch.ones(2), 1)
    >>> late.shape, torch.jit._awaitable_wait(late)
    (torch.Size([2]), tensor([2., 2.]))
    """

    def __init__(self, fn: Any, args: tuple, kwargs: dict, known: bool = False) -> None:
        self._call, self._known = (fn, args, kwargs), known
        self._result = args[0] if known else None
        self._nowait = known

    def wait(self) -> W:
        """The result; computed once."""
        if not self._known:
            fn, args, kwargs = self._call
            self._result, self._known = fn(*args, **kwargs), True
        return self._result

    def fn(self) -> Any:
        """The function that is called."""
        return self._call[0]

    def args(self) -> tuple:
        """Its arguments, or the value itself where there is none to call."""
        return self._call[1]

    def is_nowait(self) -> bool:
        """Whether the value was there from the start."""
        return self._nowait

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("_call", "_known", "_result", "_nowait"):
            raise AttributeError(name)
        return getattr(self.wait(), name)
