"""The patterns of a ``BackendConfig`` in a graph, and whether a configuration keeps to what the machine can do."""

from __future__ import annotations

import warnings
from typing import Any

import torch

from ..fake_quantize import FakeQuantizeBase
from ..observer import FixedQParamsObserver
from ._patterns import subject

__all__ = ["Patterns", "admits"]


class Patterns:
    """What a ``BackendConfig`` says of the nodes of a graph."""

    def __init__(self, backend: Any, what: str):
        for config in backend.configs:
            for name in ("_pattern_complex_format", "_root_node_getter", "_extra_inputs_getter"):
                if getattr(config, name) is not None:
                    raise NotImplementedError(
                        f"{what}: patterns that are no chains ({name.removeprefix('_')} of {config!r}) are not looked for; "
                        "a pattern is a layer, a function, a method's name, or a tuple of these one after the other"
                    )
        chains = [(c.pattern if isinstance(c.pattern, tuple) else (c.pattern,), c) for c in backend.configs]
        self.chains = sorted(chains, key=lambda chain: -len(chain[0]))  # of those of one length the first

    def at(self, node: Any, modules: dict[str, Any], is_fused: bool = False) -> tuple[Any, list[Any]] | None:
        """The configuration of the longest chain that begins with a node, and its nodes; of those that are joined to one layer, or the others."""
        for chain, config in self.chains:
            if (config.fuser_method is not None) is is_fused:
                nodes = _followed(node, chain, modules)
                if nodes is not None:
                    return config, nodes
        return None


def _followed(node: Any, chain: tuple[Any, ...], modules: dict[str, Any]) -> list[Any] | None:
    nodes: list[Any] = []
    for wanted in chain:
        if nodes:
            node = next(iter(nodes[-1].users), None)
            if len(nodes[-1].users) != 1 or node.args[:1] != (nodes[-1],):
                return None
        what = subject(node, modules)
        if what is None or what != wanted:
            return None
        nodes.append(node)
    return nodes


def _observer(made: Any) -> Any:
    return made.activation_post_process if isinstance(made, FakeQuantizeBase) else made


def _keeps_to(made: Any, bounds: Any) -> bool:
    """Whether an observer gives integers and scales within bounds."""
    observer = _observer(made)
    if isinstance(observer, FixedQParamsObserver):
        exact = (bounds.scale_exact_match, float(observer.scale)), (bounds.zero_point_exact_match, int(observer.zero_point))  # fmt: skip
        return all(wanted is None or wanted == given for wanted, given in exact)
    if bounds.scale_exact_match is not None or bounds.zero_point_exact_match is not None:
        return False
    least, most, eps = (getattr(observer, name, None) for name in ("quant_min", "quant_max", "eps"))
    return (
        (bounds.quant_min_lower_bound is None or (least is not None and least >= bounds.quant_min_lower_bound))
        and (bounds.quant_max_upper_bound is None or (most is not None and most <= bounds.quant_max_upper_bound))
        and (bounds.scale_min_lower_bound is None or (eps is not None and float(eps) >= bounds.scale_min_lower_bound))
    )


def admits(config: Any, qconfig: Any, what: Any) -> bool:
    """Whether one of the dtypes of a pattern's configuration is that of a ``QConfig``; a warning says where none is.

    Bounds of weights count for functions alone, as in PyTorch, which does not look at those within layers.
    """
    activation, weight = qconfig.activation(), qconfig.weight()
    is_dynamic = bool(getattr(activation, "is_dynamic", False))
    comes = activation.dtype
    leaves = torch.float if is_dynamic else comes
    is_weighted = config.root_module is not None or any(d.weight_dtype is not None for d in config.dtype_configs)
    for dtypes in config.dtype_configs:
        said = ((dtypes.input_dtype, comes), (dtypes.output_dtype, leaves), (dtypes.weight_dtype, weight.dtype if is_weighted else None))  # fmt: skip
        fits = all(wanted is None or given is None or wanted == given for wanted, given in said)
        if (
            fits
            and bool(dtypes.is_dynamic) is is_dynamic
            and _keeps_to(activation, dtypes.input_dtype_with_constraints)
            and _keeps_to(activation, dtypes.output_dtype_with_constraints)
            and (isinstance(what, type) or not is_weighted or _keeps_to(weight, dtypes.weight_dtype_with_constraints))
        ):
            return True
    warnings.warn(
        f"prepare_fx: {getattr(what, '__name__', what)} stays in floats: none of the dtypes that the BackendConfig has for it is that of {qconfig}",
        stacklevel=2,
    )
    return False
