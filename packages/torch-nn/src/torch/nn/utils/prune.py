"""Pruning: masks that set parts of a parameter to zero.

``l1_unstructured(module, "weight", 0.3)`` moves the parameter to ``weight_orig``, keeps a buffer ``weight_mask``, and
computes ``weight = weight_orig * weight_mask`` before each forward; ``remove`` makes the zeros permanent.
"""

from __future__ import annotations

import numbers

import torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from torch.nn import Module


__all__ = [
    "BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured", "PruningContainer",
    "RandomStructured", "RandomUnstructured", "custom_from_mask", "global_unstructured", "identity", "is_pruned",
    "l1_unstructured", "ln_structured", "random_structured", "random_unstructured", "remove",
]  # fmt: skip


class BasePruningMethod:
    """A way to choose what is pruned: subclasses define ``compute_mask(t, default_mask)``, ones where ``t`` is kept.

    ``PRUNING_TYPE``: 'unstructured' chooses among elements that are left, 'structured' among channels, 'global' among all.
    """

    PRUNING_TYPE = "unstructured"

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The mask for ``t``, given the one so far."""
        raise NotImplementedError(f"{type(self).__name__} must define compute_mask(t, default_mask)")

    def apply_mask(self, module: Module) -> Any:
        """The pruned value of the parameter."""
        if self._tensor_name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        mask = getattr(module, self._tensor_name + "_mask")
        original = getattr(module, self._tensor_name + "_orig")
        return mask.to(dtype=original.dtype) * original

    @classmethod
    def apply(cls, module: Module, name: str, *args: Any, importance_scores: Any = None, **kwargs: Any) -> Any:
        """Prune the parameter ``name`` of ``module`` this way; pruning again adds to what is pruned. Returns the method."""
        method = cls(*args, **kwargs)
        method._tensor_name = name
        found = _find(module, name)
        if found is not None:
            id, hook = found
            del module._forward_pre_hooks[id]
            container = hook if isinstance(hook, PruningContainer) else PruningContainer(hook)
            container.add_pruning_method(method)
            used = container
            original = getattr(module, name + "_orig")
            mask_before = getattr(module, name + "_mask")
            current = getattr(module, name)
        else:
            used, original = method, getattr(module, name)
            mask_before = torch.ones_like(original)
            current = original
        scores = current if importance_scores is None else importance_scores
        if scores.shape != original.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {type(module).__name__}: "
                f"{tuple(scores.shape)}, {tuple(original.shape)}"
            )
        try:
            mask = used.compute_mask(scores.detach(), mask_before)
        except Exception:
            if found is not None:
                module._forward_pre_hooks[found[0]] = found[1]
            raise
        if found is None:
            del module._parameters[name]
            module.register_parameter(name + "_orig", original)
            module.register_buffer(name + "_mask", mask)
        else:
            setattr(module, name + "_mask", mask)
        setattr(module, name, used.apply_mask(module))
        module.register_forward_pre_hook(used)
        return method

    def prune(self, t: Any, default_mask: Any = None, importance_scores: Any = None) -> Any:
        """``t`` pruned, without a module."""
        scores = t if importance_scores is None else importance_scores
        mask = torch.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(scores, mask)

    def remove(self, module: Module) -> None:
        """Make the pruning permanent."""
        value = self.apply_mask(module).detach()
        name = self._tensor_name
        original = module._parameters[name + "_orig"]
        original.data = value
        if name in module.__dict__:
            delattr(module, name)
        del module._parameters[name + "_orig"]
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


def _find(module, name):
    for id, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            return id, hook
    return None


class PruningContainer(BasePruningMethod):
    """Several methods, one after another, on one parameter."""

    def __init__(self, *args: Any) -> None:
        self._pruning_methods = ()
        self._tensor_name = args[0]._tensor_name if args else None
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Prune this way too."""
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if self._tensor_name is not None and method._tensor_name != self._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on the parameter named "
                f"'{self._tensor_name}' to PruningContainer {self}. Found '{method._tensor_name}'"
            )
        self._tensor_name = method._tensor_name
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Any:
        return iter(self._pruning_methods)

    def __getitem__(self, index: Any) -> Any:
        return self._pruning_methods[index]

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The mask so far, with what the newest method chooses among the rest taken out."""
        method, mask = self._pruning_methods[-1], default_mask.to(dtype=t.dtype)
        if method.PRUNING_TYPE == "unstructured":
            left = mask == 1
            chosen = method.compute_mask(t[left], torch.ones_like(mask[left]))
            mask = mask.clone()
            mask[left] = chosen.to(dtype=mask.dtype)
            return mask
        if method.PRUNING_TYPE == "structured":
            dim = method.dim % t.dim()
            others = [d for d in range(t.dim()) if d != dim]
            left = (mask.sum(others) != 0).nonzero().reshape(-1)
            part = t.index_select(dim, left)
            chosen = method.compute_mask(part, torch.ones_like(part))
            full = torch.zeros_like(mask).index_copy(dim, left, chosen.to(dtype=mask.dtype))
            return mask * full
        return method.compute_mask(t, default_mask)


def _validate_pruning_amount_init(amount):
    if not isinstance(amount, numbers.Real) or isinstance(amount, bool):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if (isinstance(amount, numbers.Integral) and amount < 0) or (
        not isinstance(amount, numbers.Integral) and not 0.0 <= amount <= 1.0
    ):
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")


# Methods of one's own call these by PyTorch's names.
def _validate_pruning_amount(amount, tensor_size):
    if isinstance(amount, numbers.Integral) and amount > tensor_size:
        raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={tensor_size}")


def _compute_nparams_toprune(amount, tensor_size):
    """How many of ``tensor_size`` to prune: ``amount`` is a number or a fraction."""
    return amount if isinstance(amount, numbers.Integral) else round(amount * tensor_size)


def _count(amount, size):
    _validate_pruning_amount(amount, size)
    return _compute_nparams_toprune(amount, size)


class Identity(BasePruningMethod):
    """Prunes nothing; installs the mask."""

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        return default_mask


class RandomUnstructured(BasePruningMethod):
    """Prunes elements at random."""

    def __init__(self, amount: Any) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        n = _count(self.amount, t.numel())
        mask = default_mask.clone()
        if n:
            mask.view(-1)[torch.rand(t.numel()).topk(n).indices] = 0
        return mask


class L1Unstructured(RandomUnstructured):
    """Prunes the elements of least absolute value."""

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        n = _count(self.amount, t.numel())
        mask = default_mask.clone()
        if n:
            mask.view(-1)[t.abs().reshape(-1).topk(n, largest=False).indices] = 0
        return mask


class _Structured(BasePruningMethod):
    PRUNING_TYPE = "structured"

    def __init__(self, amount: Any, dim: int = -1) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount
        self.dim = dim

    def _scores(self, t):
        """One number for each channel; the lowest are pruned."""
        raise NotImplementedError

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        if t.dim() <= 1:
            raise ValueError(
                "Structured pruning can only be applied to multidimensional tensors. Found tensor of shape "
                f"{tuple(t.shape)} with {t.dim()} dims"
            )
        if not -t.dim() <= self.dim < t.dim():
            raise IndexError(f"Invalid index {self.dim} for tensor of size {tuple(t.shape)}")
        channels = t.shape[self.dim]
        n = _count(self.amount, channels)
        if n == 0:
            return default_mask
        keep = torch.ones(channels, dtype=t.dtype, device=t.device)
        keep[self._scores(t).topk(n, largest=False).indices] = 0
        shape = [1] * t.dim()
        shape[self.dim] = channels
        return default_mask * keep.view(shape)


class RandomStructured(_Structured):
    """Prunes channels along ``dim`` at random."""

    def _scores(self, t):
        return torch.rand(t.shape[self.dim])


class LnStructured(_Structured):
    """Prunes the channels along ``dim`` of least n-norm."""

    def __init__(self, amount: Any, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def _scores(self, t):
        rows = t.transpose(0, self.dim).reshape(t.shape[self.dim], -1)
        return torch.norm(rows, p=self.n, dim=1)


class CustomFromMask(BasePruningMethod):
    """Prunes where ``mask`` is zero."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Any) -> None:
        self.mask = mask

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"mask has shape {tuple(self.mask.shape)}, the parameter has {tuple(default_mask.shape)}"
            )
        return default_mask * self.mask.to(dtype=default_mask.dtype)


def identity(module: Module, name: str) -> Any:
    """Install a mask of ones on the parameter ``name``; returns the module."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: Any) -> Any:
    """Prune ``amount`` (a number, or a fraction) of the elements, at random; returns the module."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Module, name: str, amount: Any, importance_scores: Any = None) -> Any:
    """Prune ``amount`` of the elements, those of least absolute value (or importance); returns the module.

    >>> layer = l1_unstructured(torch.nn.Linear(4, 5), "weight", amount=8)
    >>> int((layer.weight == 0).sum())
    8
    """
    L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: Any, dim: int) -> Any:
    """Prune ``amount`` of the channels along ``dim``, at random; returns the module."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module: Module, name: str, amount: Any, n: Any, dim: int, importance_scores: Any = None) -> Any:
    """Prune ``amount`` of the channels along ``dim``, those of least n-norm; returns the module."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Module, name: str, mask: Any) -> Any:
    """Prune where ``mask`` is zero; returns the module."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Module, str]], pruning_method: Any, importance_scores: Any = None, **kwargs: Any
) -> None:
    """Prune the least of all elements of several parameters, given as pairs of module and name."""
    parameters = list(parameters)
    scores = importance_scores or {}
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores should be a dict")
    flat = [scores.get(pair, getattr(*pair)).detach().reshape(-1) for pair in parameters]
    masks = [getattr(m, n + "_mask", torch.ones_like(getattr(m, n))).detach().reshape(-1) for m, n in parameters]
    container = PruningContainer()
    container._tensor_name = "temp"
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            f'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method {pruning_method} of type '
            f"{method.PRUNING_TYPE}"
        )
    container.add_pruning_method(method)
    final = container.compute_mask(torch.cat(flat), torch.cat(masks))
    at = 0
    for module, name in parameters:
        parameter = getattr(module, name)
        n = parameter.numel()
        custom_from_mask(module, name, final[at : at + n].view_as(parameter))
        at += n


def remove(module: Module, name: str) -> Any:
    """Make the pruning of the parameter ``name`` permanent; returns the module."""
    found = _find(module, name)
    if found is None:
        raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")
    id, hook = found
    hook.remove(module)
    del module._forward_pre_hooks[id]
    return module


def is_pruned(module: Module) -> bool:
    """Has any parameter of ``module`` or below a mask?"""
    return any(
        isinstance(hook, BasePruningMethod)
        for submodule in module.modules()
        for hook in submodule._forward_pre_hooks.values()
    )
