"""Walking the tree of modules: names, iterators, access by dotted path."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch import Tensor
    from torch.nn import Module, Parameter
    from typing_extensions import Self


class Tree:
    """The part of Module that knows its descendants."""

    def children(self) -> Iterator[Module]:
        """The direct submodules, each once.

        >>> list(torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Tanh()).children())
        [ReLU(), Tanh()]
        """
        for _, module in self.named_children():
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Pairs of name and direct submodule, each module once.

        >>> dict(torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Tanh()).named_children())
        {'0': ReLU(), '1': Tanh()}
        """
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """This module and all below it, parents first.

        >>> [type(m).__name__ for m in torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Tanh()).modules()]
        ['Sequential', 'ReLU', 'Tanh']
        """
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """Pairs of dotted path and module, this module first under the name ``prefix``.

        >>> net = torch.nn.Sequential(torch.nn.Sequential(torch.nn.Identity()))
        >>> [name for name, _ in net.named_modules()]
        ['', '0', '0.0']
        """
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                path = f"{prefix}.{name}" if prefix else name
                yield from module.named_modules(memo, path, remove_duplicate)

    def _named_members(self, get_members_fn, prefix="", recurse=True, remove_duplicate=True):
        seen = set()
        owners = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in owners:
            for name, value in get_members_fn(module):
                if value is None or id(value) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(value))
                yield (f"{path}.{name}" if path else name), value

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters of this module and, with ``recurse``, of all below it; a shared one appears once.

        >>> sum(p.numel() for p in torch.nn.Linear(3, 2).parameters())
        8
        """
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Pairs of dotted path and parameter.

        >>> [(name, tuple(p.shape)) for name, p in torch.nn.Linear(2, 3).named_parameters()]
        [('weight', (3, 2)), ('bias', (3,))]
        """
        return self._named_members(lambda module: module._parameters.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers of this module and, with ``recurse``, of all below it."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Pairs of dotted path and buffer."""
        return self._named_members(lambda module: module._buffers.items(), prefix, recurse, remove_duplicate)

    def _step(self, name, path):
        """The submodule ``name``, met on the way along ``path``."""
        if name not in self._modules and not hasattr(self, name):
            raise AttributeError(
                f"{type(self).__name__} has no submodule {name!r} (on the path {path!r}); "
                f"it has: {', '.join(self._modules) or 'none'}"
            )
        module = getattr(self, name)
        if not isinstance(module, Tree):
            raise AttributeError(f"{name!r} (on the path {path!r}) is a {type(module).__name__}, not an nn.Module")
        return module

    def get_submodule(self, target: str) -> Module:
        """The module at the dotted path ``target``; ``""`` is this module. AttributeError when there is none.

        >>> net = torch.nn.Sequential(torch.nn.Linear(2, 3))
        >>> net.get_submodule("0").out_features
        3
        """
        module = self
        for name in target.split(".") if target else ():
            module = module._step(name, target)
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put ``module`` at the dotted path ``target``; with ``strict`` something must be there already."""
        if not target:
            raise ValueError("set_submodule: target is empty; give the dotted path of a submodule")
        if not isinstance(module, Tree):
            raise ValueError(f"set_submodule: module must be an nn.Module, got {type(module).__name__}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict or hasattr(parent, name):
            parent._step(name, target)
        setattr(parent, name, module)

    def _leaf(self, target, kind, registry):
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{type(module).__name__} has no attribute {name!r} (on the path {target!r})")
        if name not in getattr(module, registry):
            raise AttributeError(f"{name!r} (on the path {target!r}) is not {kind}")
        return getattr(module, name)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at the dotted path ``target``."""
        return self._leaf(target, "an nn.Parameter", "_parameters")

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at the dotted path ``target``."""
        return self._leaf(target, "a buffer", "_buffers")

    def apply(self, fn: Callable[[Module], None]) -> Self:
        """Call ``fn(module)`` for every module below and then for this one; returns self.

        >>> net = torch.nn.Sequential(torch.nn.Identity())
        >>> _ = net.apply(lambda module: print(type(module).__name__))
        Identity
        Sequential
        """
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self
