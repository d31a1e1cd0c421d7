"""What all sparsifiers do: they give the weights that a configuration names masks, and take them off again."""

from __future__ import annotations

import abc
import collections
import copy

import torch
from torch.nn import Linear
from torch.nn.utils import parametrize

from .utils import FakeSparsity, get_arg_info_from_tensor_fqn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torch.nn import Module

__all__ = ["BaseSparsifier"]

#: layers whose weights are masked when no configuration names others
SUPPORTED_MODULES = {Linear}
#: what a group holds of the model, and a saved one does not
OF_THE_MODEL = ("module", "module_fqn", "tensor_name")


class BaseSparsifier(abc.ABC):
    """The base of sparsifiers, which override :meth:`update_mask`.

    ``groups`` are dicts, one for each weight: its module and names, and the options, those of ``defaults`` where the
    configuration says nothing.
    """

    def __init__(self, defaults: dict[str, Any] | None = None) -> None:
        self.defaults: dict[str, Any] = defaults or {}
        self.state: dict[str, dict[str, Any]] = collections.defaultdict(dict)
        self.groups: list[dict[str, Any]] = []
        self.enable_mask_update = True

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "groups": self.groups}

    def __setstate__(self, state: dict[str, Any] | None) -> None:
        self.enable_mask_update = True
        self.__dict__.update(state or {})

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.groups):
            lines += ["", f"\tGroup {i}"] if i else [f"\tGroup {i}"]
            lines += [f"\t    {name}: {group[name]}" for name in sorted(group)]
        return "\n".join([*lines, ")"]) if self.groups else lines[0] + ")"

    def state_dict(self) -> dict[str, Any]:
        """The masks by the names of their tensors, and the groups without what is the model's."""
        groups = [{name: value for name, value in g.items() if name not in OF_THE_MODEL} for g in self.groups]
        return {"state": self.state, "groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any], strict: bool = True) -> None:
        """Takes masks and groups; RuntimeError for a tensor that the model does not have, unless ``strict`` is False."""
        groups = [dict(group) for group in state_dict["groups"]]
        for name, state in state_dict["state"].items():
            found = get_arg_info_from_tensor_fqn(self.model, name)
            module = found["module"]
            if module is None:
                if strict:
                    raise RuntimeError(f"{type(self).__name__}.load_state_dict: the model has no {name}")
                continue
            for one in self._masks(module, found["tensor_name"]):
                one.mask = state["mask"]
                break
            else:
                parametrize.register_parametrization(module, found["tensor_name"], FakeSparsity(state["mask"]))
        for group in groups:
            group.update(get_arg_info_from_tensor_fqn(self.model, group["tensor_fqn"]))
        self.__setstate__({"state": state_dict["state"], "groups": groups})

    @staticmethod
    def _masks(module, name):
        if not parametrize.is_parametrized(module, name):
            return []
        return [one for one in module.parametrizations[name] if isinstance(one, FakeSparsity)]

    def make_config_from_model(self, model: Module, SUPPORTED_MODULES: set[type[Module]] = SUPPORTED_MODULES) -> None:
        """The configuration that names the weights of all layers of these classes."""
        kinds = tuple(SUPPORTED_MODULES)
        names = [name for name, m in model.named_modules() if isinstance(m, kinds) and hasattr(m, "weight")]
        self.config = [{"tensor_fqn": f"{name}.weight" if name else "weight"} for name in names]

    def prepare(self, model: Module, config: list[dict[str, Any]] | None) -> None:
        """Gives each weight of the configuration a mask of ones: dicts with ``tensor_fqn`` and options; None: all linear
        layers. AssertionError where a tensor has no name, or is none of the model's.

        >>> sparsifier = torch.ao.pruning.WeightNormSparsifier()
        >>> sparsifier.prepare(torch.nn.Sequential(torch.nn.Linear(2, 2)), [{"tensor_fqn": "1.weight"}])
        Traceback (most recent call last):
        AssertionError: WeightNormSparsifier.prepare: the model has no tensor 1.weight
        """
        self.model = model
        self.config = config
        if config is None:
            self.make_config_from_model(model)
        for given in self.config:
            group = {**self.defaults, **given}
            name = group.get("tensor_fqn")
            if name is None:
                raise AssertionError(f"{type(self).__name__}.prepare: tensor_fqn is a required argument, got {given}")
            found = get_arg_info_from_tensor_fqn(model, name)
            if not isinstance(getattr(found["module"], found["tensor_name"], None), torch.Tensor):
                raise AssertionError(f"{type(self).__name__}.prepare: the model has no tensor {name}")
            for what, value in found.items():
                if what in given and given[what] is not value and given[what] != value:
                    raise AssertionError(
                        f"{type(self).__name__}.prepare: {what} of {name} is {value!r}, got {given[what]!r}"
                    )
            self.groups.append({**group, **found})
        self._prepare()

    def _prepare(self, *args, **kwargs):
        for group in self.groups:
            module, name = group["module"], group["tensor_name"]
            mask = group["mask"] if "mask" in group else torch.ones_like(getattr(module, name))
            self.state[group["tensor_fqn"]]["mask"] = mask = mask.detach()
            parametrize.register_parametrization(module, name, group.get("parametrization", FakeSparsity)(mask))

    def squash_mask(
        self,
        params_to_keep: tuple[str, ...] | None = None,
        params_to_keep_per_layer: dict[str, tuple[str, ...]] | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        """Leaves the weights with their zeros, as plain parameters. Options of these names, of all layers and by the name of
        a layer, stay with it as the dict ``sparse_params``."""
        for group in self.groups:
            module = group["module"]
            parametrize.remove_parametrizations(module, group["tensor_name"], leave_parametrized=True)
            kept = [*(params_to_keep or ()), *(params_to_keep_per_layer or {}).get(group["module_fqn"], ())]
            if kept:
                module.sparse_params = {**getattr(module, "sparse_params", {}), **{name: group[name] for name in kept}}

    def convert(
        self,
        module: Module,
        mapping: dict[type[Module], type[Module]] | None = None,
        inplace: bool = False,
        parameterization: type[Module] = FakeSparsity,
    ) -> Module:
        """The model, or a copy, with layers that have a mask as ``mapping[kind].from_dense(layer)``.

        NotImplementedError without a mapping.
        """
        if mapping is None:
            raise NotImplementedError(f"{type(self).__name__}.convert: a mapping must say what becomes of each layer")
        if not inplace:
            module = copy.deepcopy(module)
        for name, child in list(module.named_children()):
            if child is module.__dict__.get("parametrizations") or name == "parametrizations":
                continue
            kind = parametrize.type_before_parametrizations(child)
            masked = parametrize.is_parametrized(child) and any(
                isinstance(one, parameterization) for fn in child.parametrizations.values() for one in fn
            )
            if masked and kind in mapping:
                setattr(module, name, mapping[kind].from_dense(child))
            else:
                self.convert(child, mapping, True, parameterization)
        return module

    def step(self, use_path: bool = True) -> None:
        """Chooses all masks anew, unless ``enable_mask_update`` is False."""
        if not self.enable_mask_update:
            return
        with torch.no_grad():
            for group in self.groups:
                self.update_mask(**group)

    @abc.abstractmethod
    def update_mask(self, module: Module, tensor_name: str, **kwargs: Any) -> None:
        """Writes the mask ``module.parametrizations[tensor_name][0].mask``; ``kwargs`` are the options of the group."""
