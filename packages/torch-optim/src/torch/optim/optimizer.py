"""The base class of all optimisers: groups of parameters, their state, checkpoints, hooks."""

from __future__ import annotations

import collections
import collections.abc
import copy
import functools
import types
import warnings

import torch
from torch._seams import add_hook as _add_hook
from torch._seams import begin_range as _begin_range
from torch._seams import end_range as _end_range
from torch._seams import is_profiling as _profiling

from ._extending import (  # noqa: F401  (optimisers written elsewhere import these from here)
    DeviceDict,
    DeviceDtypeDict,
    ParamsT,
    StateDict,
    _default_to_fused_or_foreach,
    _disable_dynamo_if_unsupported,
    _get_capturable_supported_devices,
    _get_scalar_dtype,
    _get_value,
    _group_tensors_by_device_and_dtype,
    _stack_if_compiling,
    _to_scalar,
    _use_grad_for_differentiable,
    _view_as_real,
)
from ._joined import in_few_launches, joined_of, may_join, may_join_in
from ._steps import begun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, overload

    from torch import Tensor
    from torch._seams import RemovableHandle, checked
    from typing_extensions import Self
else:
    from torch._seams import checked


__all__ = ["Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook", "required"]


class _Required:
    """Stands for an option that every group must give."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()

_NONE = types.MappingProxyType({})
_pre_hooks_of_all, _post_hooks_of_all = {}, {}


def register_optimizer_step_pre_hook(
    hook: Callable[[Optimizer, tuple[Any, ...], dict[str, Any]], tuple[tuple[Any, ...], dict[str, Any]] | None],
) -> RemovableHandle:
    """Run ``hook(optimizer, args, kwargs)`` before the step of every optimiser there is."""
    return _add_hook(_pre_hooks_of_all, hook)


def register_optimizer_step_post_hook(
    hook: Callable[[Optimizer, tuple[Any, ...], dict[str, Any]], None],
) -> RemovableHandle:
    """Run ``hook(optimizer, args, kwargs)`` after the step of every optimiser there is."""
    return _add_hook(_post_hooks_of_all, hook)


def _is_complex(value):
    return isinstance(value, torch.Tensor) and value.is_complex()


@checked
class Optimizer:
    """Updates parameters by their gradients; subclass it with the rule for one parameter.

    ``params`` is an iterable of tensors, of ``(name, tensor)`` pairs, or of dicts, each a group with its own options:
    ``[{"params": base}, {"params": head, "lr": 1e-3}]``.  ``defaults`` holds the options that groups leave out.

    A subclass defines ``_update(p, g, state, group)``: change ``p`` in place, given its gradient ``g``, the dict
    ``state`` (empty at first) and the options ``group``.  It may define ``_step_group`` to treat a whole group at once.
    Or it overrides ``step`` altogether.

    >>> class Descent(torch.optim.Optimizer):
    ...     def step(self):
    ...         for group in self.param_groups:
    ...             for p in group["params"]:
    ...                 p.data -= group["lr"] * p.grad
    >>> w = torch.nn.Parameter(torch.tensor([1.0]))
    >>> optimizer = Descent([w], {"lr": 0.25})
    >>> (w**2).sum().backward()
    >>> optimizer.step()
    >>> w.detach()
    tensor([0.5000])
    """

    OptimizerPreHook = OptimizerPostHook = collections.abc.Callable

    # Each instance gets dicts of its own with its first hook: an optimiser that wraps another, and copies its groups,
    # often does not call this __init__.
    _optimizer_step_pre_hooks: Any = _NONE
    _optimizer_step_post_hooks: Any = _NONE
    _optimizer_state_dict_pre_hooks: Any = _NONE
    _optimizer_state_dict_post_hooks: Any = _NONE
    _optimizer_load_state_dict_pre_hooks: Any = _NONE
    _optimizer_load_state_dict_post_hooks: Any = _NONE
    _stepped = False
    _unset = required
    _also = {"int": "float"}  # counts of iterations are only compared
    _takes_complex = True  # real and imaginary parts as two parameters

    _group_tensors_by_device_and_dtype = staticmethod(_group_tensors_by_device_and_dtype)

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]],
        defaults: dict[str, Any],
    ) -> None:
        if isinstance(params, torch.Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                f"{params.type()}; for a single tensor write [tensor]"
            )
        ways = defaults if isinstance(defaults, dict) else {}  # a class that has its own add_param_group may give none
        if ways.get("fused") and (other := next(filter(ways.get, ("foreach", "differentiable")), None)):
            raise RuntimeError(f"`fused` and `{other}` cannot be `True` together.")
        self.defaults = defaults
        self.state = collections.defaultdict(dict)
        self.param_groups = []
        groups = list(params)
        if not groups:
            raise ValueError(
                "optimizer got an empty parameter list; an iterator such as model.parameters() gives its items only once"
            )
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = Optimizer.profile_hook_step(cls.step)

    @staticmethod
    def profile_hook_step(func: Callable[..., Any]) -> Any:
        """``func``, a step method, between the hooks of its optimiser; one range of a profile that is recorded."""
        if getattr(func, "hooked", False):
            return func

        @functools.wraps(func)
        def step(self, *args, **kwargs):
            self._stepped = True
            if not (
                self._optimizer_step_pre_hooks
                or self._optimizer_step_post_hooks
                or _pre_hooks_of_all
                or _post_hooks_of_all
                or _profiling()
            ):
                return func(self, *args, **kwargs)
            handle = _begin_range(f"Optimizer.step#{type(self).__name__}.step")
            try:
                return hooked(self, (self, *args), kwargs)
            finally:
                _end_range(handle)

        def hooked(self, args, kwargs):
            for hook in [*_pre_hooks_of_all.values(), *self._optimizer_step_pre_hooks.values()]:
                replaced = hook(self, args, kwargs)
                if replaced is not None:
                    if not (isinstance(replaced, tuple) and len(replaced) == 2):
                        raise RuntimeError(
                            f"step pre-hook: must return None or a tuple (args, kwargs), got {type(replaced).__name__}"
                        )
                    args, kwargs = replaced
            result = func(*args, **kwargs)
            for hook in [*self._optimizer_step_post_hooks.values(), *_post_hooks_of_all.values()]:
                hook(self, args, kwargs)
            return result

        step.hooked = True
        return step

    def _patch_step_function(self):
        """Puts the step method of the class between the hooks: for wrappers that do without ``Optimizer.__init__``."""
        type(self).step = Optimizer.profile_hook_step(type(self).step)

    # -- groups -----------------------------------------------------------------------------------------------------

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Train more parameters, with options of their own: ``{"params": tensors, "lr": 0.1}``.

        TypeError for what is no tensor; ValueError for a tensor that is not a leaf, is there already, or lacks a
        required option.

        >>> optimizer = torch.optim.SGD([torch.zeros(1)], lr=1.0)
        >>> optimizer.add_param_group({"params": [torch.zeros(2)], "lr": 0.1})
        >>> [group["lr"] for group in optimizer.param_groups]
        [1.0, 0.1]
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group).__name__}")
        group = dict(param_group)
        params = group["params"]
        if isinstance(params, torch.Tensor):
            params = [params]
        elif isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets "
                "will change between runs. Please use a list instead."
            )
        params = list(params)
        named = [isinstance(p, tuple) for p in params]
        if any(named) and not all(named):
            raise ValueError(
                "all optimizer params should be with/without names. Some param names are missing: "
                f"params[{named.index(False)}] has none, params[{named.index(True)}] has one"
            )
        if params and all(named):
            group["param_names"] = [name for name, _ in params]
            params = [p for _, p in params]
        for p in params:
            if not isinstance(p, torch.Tensor):
                hint = "; give model.parameters()" if isinstance(p, str) else ""
                raise TypeError(
                    f"optimizer can only optimize Tensors, but one of the params is {type(p).__name__} ({p!r:.60}){hint}"
                )
            if not self.defaults.get("differentiable", None) and not (p.is_leaf or getattr(p, "retains_grad", False)):
                raise ValueError(
                    f"can't optimize a non-leaf Tensor (computed by {type(p.grad_fn).__name__}): give the parameters it "
                    "is computed from, or its detach()"
                )
        group["params"] = params
        for name, default in self.defaults.items():
            if default is required and name not in group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            group.setdefault(name, default)
        if len({id(p) for p in params}) != len(params):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; "
                "see github.com/pytorch/pytorch/issues/40967 for more information",
                stacklevel=3,
            )
        known = {id(p) for other in self.param_groups for p in other["params"]}
        if any(id(p) in known for p in params):
            raise ValueError("some parameters appear in more than one parameter group")
        if self.param_groups and ("param_names" in group) != ("param_names" in self.param_groups[0]):
            raise ValueError(
                "all optimizer param groups should be with/without names. cannot add param group "
                f"{'with' if 'param_names' in group else 'without'} names to the optimizer"
            )
        self.param_groups.append(group)

    def zero_grad(self, set_to_none: bool = True) -> Any:
        """Drop the gradients of all parameters, or fill them with zero when ``set_to_none`` is false.

        >>> w = torch.nn.Parameter(torch.tensor([1.0]))
        >>> (w**2).sum().backward()
        >>> torch.optim.SGD([w], lr=1.0).zero_grad()
        >>> print(w.grad)
        None
        """
        if _profiling():
            handle = _begin_range(f"Optimizer.zero_grad#{type(self).__name__}.zero_grad")
            try:
                return self._zero_grad(set_to_none)
            finally:
                _end_range(handle)
        return self._zero_grad(set_to_none)

    def _zero_grad(self, set_to_none):
        for group in self.param_groups:
            for p in group["params"]:
                grad = p.grad
                if grad is None:
                    continue
                if set_to_none:
                    p.grad = None
                elif grad.requires_grad:  # part of a graph: it must not be changed
                    p.grad = torch.zeros_like(grad)
                else:
                    grad.zero_()

    # -- the step ---------------------------------------------------------------------------------------------------

    if TYPE_CHECKING:

        @overload
        def step(self, closure: None = None) -> None: ...
        @overload
        def step(self, closure: Callable[[], Any]) -> Any: ...  # a float, or a tensor of one

    def step(self, closure: Callable[[], float] | None = None) -> float | None:
        """Update all parameters that have a gradient.

        ``closure`` computes the loss and the gradients anew; its value is returned.

        >>> w = torch.nn.Parameter(torch.tensor([1.0]))
        >>> optimizer = torch.optim.SGD([w], lr=0.25)
        >>> (w**2).sum().backward()
        >>> optimizer.step()
        >>> w.detach()
        tensor([0.5000])
        """
        self._stepped = True
        if (
            self._optimizer_step_pre_hooks
            or self._optimizer_step_post_hooks
            or _pre_hooks_of_all
            or _post_hooks_of_all
            or _profiling()
        ):
            return _hooked_step(self) if closure is None else _hooked_step(self, closure)
        return self._step(closure)

    step.hooked = True

    def _step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        with torch.set_grad_enabled(bool(self.defaults.get("differentiable", False))):
            for group in self.param_groups:
                self._step_group(group)
        return loss

    def _step_group(self, group):
        if any(p.is_cuda for p in group["params"]) and torch.cuda.is_current_stream_capturing():
            self._check_capture(group)
        with in_few_launches(group):
            self._step_parameters(group)

    _has_count = False  # whether a formula has the number of steps

    def _counts(self, group):
        """Whether it has for these parameters."""
        return self._has_count

    def _check_capture(self, group):
        """A graph replays what the device was given: numbers of the CPU would stay those of the step that is recorded."""
        name = type(self).__name__
        if not group.get("capturable", True):
            raise RuntimeError(
                f"{name}.step: attempting CUDA graph capture of a step whose param_group has capturable=False; make the "
                "optimizer with capturable=True, or take the step outside of the graph"
            )
        if self._counts(group) and "capturable" not in group:
            raise NotImplementedError(
                f"{name}.step: the number of steps is counted on the CPU, so that a CUDA graph would replay the same one; "
                "take the step outside of the graph (optimizers that have the option capturable can be captured)"
            )
        for p in group["params"] if self._counts(group) else ():
            steps = self.state.get(p, {}).get("step")
            if steps is not None and not (isinstance(steps, torch.Tensor) and steps.is_cuda):
                raise RuntimeError(
                    f"{name}.step: the number of steps of a parameter of size {tuple(p.shape)} was begun on the CPU, so that a "
                    "CUDA graph would replay the same one; set capturable=True before the first step"
                )

    def _step_parameters(self, group):
        maximize = group.get("maximize", False)
        joined = joined_of() if self._step_joined and may_join_in(group) else None
        for p in group["params"]:
            g = p.grad
            if g is None:
                continue
            self._check_gradient(p, g)
            if joined is not None and may_join(p, g):
                joined[p.device, p.dtype].append((p, g))
                continue
            state = self.state.get(p)
            if state is None:
                state = {}
            if maximize:
                g = -g
            if p.is_complex():
                self._update_parts(p, g, state, group)
            else:
                self._update(p, g, state, group)
            if state:  # a parameter about which nothing is kept has no entry
                self.state[p] = state
        for pairs in (joined or {}).values():
            self._step_joined(pairs, group)

    def _update_parts(self, p, g, state, group):
        """The real and imaginary parts of ``p`` are two parameters; the state holds them together, as files of PyTorch do."""
        real = torch.view_as_real(p)
        parts = {n: torch.view_as_real(v) if _is_complex(v) else v for n, v in state.items()}
        self._update(real, torch.view_as_real(g), parts, group)
        for name, value in parts.items():
            held = state.get(name)
            if isinstance(value, torch.Tensor) and value.shape == real.shape and not value.is_complex():
                if not (_is_complex(held) and held.data_ptr() == value.data_ptr()):
                    state[name] = torch.view_as_complex(value)
            else:
                state[name] = value

    _step_joined = None  # of algorithms that devices have one kernel for: f(pairs of parameter and gradient, group)

    def _check_gradient(self, p, g):
        if p.is_complex() and not self._takes_complex:
            raise RuntimeError(
                f"{type(self).__name__} does not support complex parameters; give it torch.view_as_real of them"
            )
        if g.is_sparse:
            raise RuntimeError(
                f"{type(self).__name__} does not support sparse gradients, please consider SparseAdam or SGD instead"
            )

    def _update(self, p, g, state, group):
        raise NotImplementedError(f"{type(self).__name__} must define _update(p, g, state, group) or step(closure)")

    # -- checkpoints ------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """``{"state": ..., "param_groups": ...}`` with parameters replaced by their numbers, in the order of the groups.

        >>> torch.optim.SGD([torch.zeros(1)], lr=1.0).state_dict()["param_groups"][0]["params"]
        [0]
        """
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers = {}
        groups = []
        for group in self.param_groups:
            packed = {name: value for name, value in group.items() if name != "params"}
            for p in group["params"]:
                numbers.setdefault(id(p), len(numbers))
            packed["params"] = [numbers[id(p)] for p in group["params"]]
            groups.append(packed)
        state = {numbers[id(p)] if isinstance(p, torch.Tensor) else p: value for p, value in self.state.items()}
        result = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            replaced = hook(self, result)
            result = result if replaced is None else replaced
        return result

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what :meth:`state_dict` of an optimiser with the same groups gave.

        The state's tensors are copied to the dtype and device of their parameters; options are overwritten.
        ValueError when the number of groups or of parameters in a group differs; nothing is changed then.

        >>> one, other = torch.optim.SGD([torch.zeros(1)], lr=1.0), torch.optim.SGD([torch.zeros(1)], lr=0.5)
        >>> one.load_state_dict(other.state_dict())
        >>> one.param_groups[0]["lr"]
        0.5
        """
        state_dict = dict(state_dict)
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            replaced = hook(self, state_dict)
            state_dict = state_dict if replaced is None else replaced
        groups, saved = self.param_groups, copy.deepcopy(state_dict["param_groups"])
        if len(groups) != len(saved):
            raise ValueError(
                f"loaded state dict has a different number of parameter groups: {len(saved)}, this optimizer has {len(groups)}"
            )
        sizes, saved_sizes = [len(g["params"]) for g in groups], [len(g["params"]) for g in saved]
        if sizes != saved_sizes:
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group: "
                f"the groups have {saved_sizes} parameters, this optimizer's have {sizes}"
            )
        mine = [p for group in groups for p in group["params"]]
        theirs = [number for group in saved for number in group["params"]]
        by_number = dict(zip(theirs, mine))
        state = collections.defaultdict(dict)
        for key, value in state_dict["state"].items():
            p = by_number.get(key)
            state[key if p is None else p] = value if p is None else _cast(p, value)  # a class's own: its keys stay
        for group in saved:
            for p in map(by_number.get, group["params"]):
                if isinstance(steps := state.get(p, {}).get("step"), torch.Tensor):
                    state[p]["step"] = begun(steps, p, group)
        for old, new in zip(groups, saved):
            new["params"] = old["params"]
            if "param_names" in old:
                new.setdefault("param_names", old["param_names"])
        self.__setstate__({"state": state, "param_groups": saved})
        self._fill_in_options()
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    def __getstate__(self) -> dict[str, Any]:
        kept = ("defaults", "state", "param_groups")
        return {name: self.__dict__[name] for name in kept if name in self.__dict__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__dict__.setdefault("defaults", {})
        if type(self).__setstate__ is Optimizer.__setstate__:  # else the class sees first what is missing
            self._fill_in_options()

    def _fill_in_options(self):
        """Options that are newer than the checkpoint have their defaults."""
        for group in self.param_groups:
            for name, default in self.defaults.items():
                group.setdefault(name, default)

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines += ["", f"Parameter Group {i}"] if i else [f"Parameter Group {i}"]
            lines += [f"    {name}: {group[name]}" for name in sorted(group) if name != "params"]
        return "\n".join([*lines, ")"])

    # -- hooks ------------------------------------------------------------------------------------------------------

    def _own_hooks(self, name):
        return self.__dict__.setdefault(name, {})

    def register_step_pre_hook(
        self, hook: Callable[[Self, tuple[Any, ...], dict[str, Any]], tuple[tuple[Any, ...], dict[str, Any]] | None]
    ) -> RemovableHandle:
        """Run ``hook(optimizer, args, kwargs)`` before each step: ``args`` begin with the optimizer, and a pair
        ``(args, kwargs)`` that it returns takes their place."""
        return _add_hook(self._own_hooks("_optimizer_step_pre_hooks"), hook)

    def register_step_post_hook(self, hook: Callable[[Self, tuple[Any, ...], dict[str, Any]], None]) -> RemovableHandle:
        """Run ``hook(optimizer, args, kwargs)`` after each step."""
        return _add_hook(self._own_hooks("_optimizer_step_post_hooks"), hook)

    def register_state_dict_pre_hook(self, hook: Callable[[Optimizer], None], prepend: bool = False) -> RemovableHandle:
        """Run ``hook(optimizer)`` before ``state_dict``."""
        return _add_hook(self._own_hooks("_optimizer_state_dict_pre_hooks"), hook, prepend)

    def register_state_dict_post_hook(
        self, hook: Callable[[Optimizer, dict[str, Any]], dict[str, Any] | None], prepend: bool = False
    ) -> RemovableHandle:
        """Run ``hook(optimizer, state_dict)`` after ``state_dict``; it may return another dict."""
        return _add_hook(self._own_hooks("_optimizer_state_dict_post_hooks"), hook, prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Callable[[Optimizer, dict[str, Any]], dict[str, Any] | None], prepend: bool = False
    ) -> RemovableHandle:
        """Run ``hook(optimizer, state_dict)`` before ``load_state_dict``; it may return another dict."""
        return _add_hook(self._own_hooks("_optimizer_load_state_dict_pre_hooks"), hook, prepend)

    def register_load_state_dict_post_hook(
        self, hook: Callable[[Optimizer], None], prepend: bool = False
    ) -> RemovableHandle:
        """Run ``hook(optimizer)`` after ``load_state_dict``."""
        return _add_hook(self._own_hooks("_optimizer_load_state_dict_post_hooks"), hook, prepend)


def _step_with_closure(self, *args, **kwargs):
    return self._step(*args, **kwargs)


_hooked_step = Optimizer.profile_hook_step(_step_with_closure)


def _cast(p, value, key=None):
    """State for the parameter ``p``: tensors in its dtype and on its device; counts of steps stay as they are, and
    other numbers keep their dtype."""
    if isinstance(value, torch.Tensor):
        if key == "step":
            return value.clone()
        if p.is_floating_point() and value.is_floating_point() and (value.dim() or not p.dim()):
            return value.to(dtype=p.dtype, device=p.device, copy=True)
        return value.to(device=p.device, copy=True)
    if isinstance(value, dict):
        return {k: _cast(p, v, k) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_cast(p, v) for v in value)
    return copy.deepcopy(value)
