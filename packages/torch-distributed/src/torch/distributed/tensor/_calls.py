"""What operators make of spread tensors: on the pieces where that is the same, else on whole ones."""

from dataclasses import replace

import torch
from torch._pytree import tree_iter, tree_map_only

from .. import _collectives as collectives
from . import _debug, _dims, _layers, _losses, _places, _plans, _products, _rules, _views
from ._dtensor import DTensor, wrap
from ._layout import Spec, local_layout
from ._redistribute import Enter, redistribute
from .placement_types import Partial, Replicate, Shard

TABLES = (_products.PRODUCTS, _dims.DIMS, _places.PLACES, _layers.LAYERS, _losses.LOSSES)


def call(func, args, kwargs):
    """``func(*args, **kwargs)``, where some of the tensors are DTensors."""
    if getattr(func, "__module__", None) == "torch.autograd._gradients":  # which take any tensor
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **kwargs)
    name = getattr(func, "__name__", str(func))
    spread = leaves_of(DTensor, [args, kwargs])
    mesh = spread[0]._spec.mesh
    if any(one._spec.mesh != mesh for one in spread):
        raise ValueError(f"{name}: the DTensors are of different meshes")
    steps = _rules.reduction(name, args, kwargs) if args and isinstance(args[0], DTensor) else None
    result = _on_pieces(name, func, args, kwargs) if steps is None else None
    if result is not None:
        return result
    if steps is None and (composed := getattr(func, "__wrapped__", None)) is not None:
        return composed(*args, **kwargs)  # of operators that come here
    with torch._C.DisableTorchFunctionSubclass():
        special = SPECIAL.get(name)
        if special is not None:
            return special(func, args, kwargs)
        if name in _rules.REFUSED:
            raise NotImplementedError(f"{name}: of a DTensor, each rank would draw numbers of its own")
        if name in _rules.DRAWS:
            return _draw(func, args, kwargs)
        if name in _rules.LIKE:
            made = call(torch.empty_like, args, kwargs)
            return call(getattr(torch.Tensor, _rules.LIKE[name]), (made,), {})
        if _rules.plain_name(name) in _rules.POINTWISE:
            return _pointwise(name, func, args, kwargs, spread)
        if steps is not None:
            return _reduce(args[0], *steps)
        if _rules.in_place(name) or "out" in kwargs:
            raise NotImplementedError(f"{name}: writes into a DTensor; there are element-wise operators, and copy_")
        return _on_wholes(name, func, args, kwargs, mesh)


def _on_pieces(name, func, args, kwargs):
    """By the rule of an operator; None where there is none, or none for these arguments."""
    rule = next((table[name] for table in TABLES if name in table), None)
    if name == "__getitem__" and leaves_of(DTensor, list(args[1:])):
        rule = _places.indexed
    if rule is None and name in _views.VIEWS:
        rule = _views.VIEWS[name](func)
    if rule is None:
        return None
    if any(not isinstance(one, DTensor) for one in leaves_of(torch.Tensor, [args, kwargs])):
        if name not in _losses.LOSSES or not _losses.targets_may_be_plain.get() or not isinstance(args[0], DTensor):
            _mixed(name)
        mesh = args[0]._spec.mesh
        args, kwargs = tree_map_only(
            torch.Tensor, lambda one: one if isinstance(one, DTensor) else _replica(one, mesh), (args, kwargs)
        )
    args, kwargs = tree_map_only(DTensor, _of_pieces, (args, kwargs))
    return rule(*args, **kwargs)


def _of_pieces(tensor):
    """The tensor without pieces of pieces, of which rules know nothing."""
    return tensor.redistribute(placements=tensor._spec.of_pieces.placements)


def _replica(tensor, mesh):
    """What every rank has all of."""
    return wrap(tensor, Spec(mesh, (Replicate(),) * mesh.ndim, tensor.shape))


def leaves_of(kind, tree) -> list:
    """The leaves of a class, from left to right."""
    return [leaf for leaf in tree_iter(tree) if isinstance(leaf, kind)]


def _pointwise(name, func, args, kwargs, spread):
    """The first argument says how all lie, unless it is broadcast or a summand."""
    largest = max(spread, key=lambda one: (len(one._spec.shape), one._spec.shape.numel()))
    spec = (args[0] if isinstance(args[0], DTensor) and _rules.in_place(name) else largest)._spec
    shape = torch.broadcast_shapes(*(one._spec.shape for one in spread))
    simple = len(spread) == 1 and not any(
        isinstance(one, torch.Tensor) for one in list(args[1:]) if not isinstance(one, DTensor)
    )
    if any(isinstance(p, Partial) for p in spec.placements) and not (
        simple and _rules.plain_name(name) in _rules.LINEAR
    ):
        spec = spec.with_placements([Replicate() if isinstance(p, Partial) else p for p in spec.placements])
        if _rules.in_place(name):
            raise NotImplementedError(f"{name}: writes into summands ({spread[0].placements}); redistribute them first")
    if tuple(shape) != tuple(spec.shape):  # broadcast against each other: neither says how the result lies
        if _rules.in_place(name):
            raise RuntimeError(
                f"{name}: output of shape {tuple(spec.shape)} does not match the broadcast {tuple(shape)}"
            )
        return _broadcast(name, func, args, kwargs, spread, shape)

    def aligned(tensor):
        if not isinstance(tensor, DTensor):
            if tensor.dim() or tensor.requires_grad:
                _mixed(name)
            return tensor
        placements, broadcast = [], []
        for dim, placement in enumerate(spec.placements):
            if isinstance(placement, Shard):
                own = placement.dim - len(spec.shape) + len(tensor._spec.shape)
                if own >= 0 and tensor._spec.shape[own] == spec.shape[placement.dim]:
                    placement = replace(placement, dim=own)
                else:
                    placement = Replicate()
                    broadcast.append(dim)
            placements.append(placement)
        local = redistribute(tensor.to_local(), tensor._spec, placements)
        if torch.is_grad_enabled() and local.requires_grad:
            for dim in broadcast:  # each rank uses it for its piece, so that its gradient is a sum over the ranks
                local = Enter.apply(local, spec.mesh.get_group(dim))
        return local

    if _rules.in_place(name) or isinstance(kwargs.get("out"), DTensor):
        target = kwargs["out"] if "out" in kwargs else args[0]
        if target._spec.placements != spec.placements:
            raise NotImplementedError(f"{name}: out lies on the ranks in another way than the arguments")
        args, kwargs = tree_map_only(torch.Tensor, aligned, (args, kwargs))
        func(*args, **kwargs)
        return target
    args, kwargs = tree_map_only(torch.Tensor, aligned, (args, kwargs))
    result = func(*args, **kwargs)
    return wrap(result, spec)


def _broadcast(name, func, args, kwargs, spread, shape):
    """Of tensors none of which has the shape of the result."""
    labels = []
    spread = [_of_pieces(one) for one in spread]
    for one in spread:
        first = len(shape) - len(one._spec.shape)
        labels.append(
            tuple(first + i if n == shape[first + i] and n != 1 else None for i, n in enumerate(one._spec.shape))
        )

    def run(*pieces):
        pieces = iter(pieces)

        def own(tensor):
            if isinstance(tensor, DTensor):
                return next(pieces)
            if tensor.dim() or tensor.requires_grad:
                _mixed(name)
            return tensor

        own_args, own_kwargs = tree_map_only(torch.Tensor, own, (args, kwargs))
        return func(*own_args, **own_kwargs)

    return _plans.carry_out(_plans.Plan(spread, labels, [(shape, tuple(range(len(shape))))], run))


def _on_wholes(name, func, args, kwargs, mesh):
    _debug.gathers(name)

    def whole(tensor):
        if isinstance(tensor, DTensor):
            return tensor.full_tensor()
        if tensor.dim() or tensor.requires_grad:
            _mixed(name)
        return tensor

    args, kwargs = tree_map_only(torch.Tensor, whole, (args, kwargs))
    return tree_map_only(torch.Tensor, lambda one: _replica(one, mesh), func(*args, **kwargs))


def _mixed(name):
    raise RuntimeError(
        f"{name}: got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to DTensor "
        "(DTensor.from_local, distribute_tensor) before calling distributed operators"
    )


def _reduce(tensor, piecewise, op, afterwards):
    spec = tensor._spec
    if any(isinstance(p, Partial) for p in spec.placements):
        return _reduce(tensor.redistribute(placements=spec.replicated.placements), piecewise, op, afterwards)
    total = piecewise(tensor.to_local())
    if op.name == "SUM":
        parts = [Partial() if isinstance(p, Shard) else p for p in spec.placements]
        single = Spec(spec.mesh, tuple(parts), torch.Size([]))
        total = redistribute(total, single, single.replicated.placements)
    else:
        total = total.detach().clone()
        for group, placement in zip(spec.mesh.get_all_groups(), spec.placements, strict=True):
            if isinstance(placement, Shard):
                collectives.all_reduce(total, op, group)
    return wrap(
        total if afterwards is None else afterwards(total), Spec(spec.mesh, spec.replicated.placements, torch.Size([]))
    )


def _draw(func, args, kwargs):
    """All ranks draw the whole from the number that the first rank draws, and keep their pieces."""
    target = args[0]
    if kwargs.pop("generator", None) is not None:
        raise NotImplementedError(f"{func.__name__}: of a DTensor, takes no generator")
    seed = torch.randint(2**62, (1,))
    for group in reversed(target._spec.mesh.get_all_groups()):
        collectives.broadcast(seed, group=group, group_src=0)
    local = target.to_local()
    whole = torch.empty(target._spec.shape, dtype=local.dtype)
    func(whole, *args[1:], generator=torch.Generator().manual_seed(int(seed)), **kwargs)
    local.copy_(_part(whole, target._spec))
    return target


def _part(whole, spec):
    """Our piece of a whole as a view."""
    if any(isinstance(p, Partial) for p in spec.placements):
        raise NotImplementedError(f"summands ({spec.placements}) are not written into; redistribute them first")
    sizes, offsets = local_layout(spec.shape, spec.mesh, spec.placements)
    for dim, (size, offset) in enumerate(zip(sizes, offsets, strict=True)):
        whole = whole.narrow(dim, min(offset, whole.shape[dim]), size)
    return whole


def _copy(func, args, kwargs):
    """Into a DTensor from another, or from the whole, that every rank has; or the other way round."""
    target, source = args[0], args[1] if len(args) > 1 else kwargs["src"]
    if not isinstance(target, DTensor):
        return target.copy_(source.full_tensor())
    if isinstance(source, DTensor):
        piece = source.redistribute(placements=target.placements).to_local()
    elif tuple(source.shape) == tuple(target.shape):
        piece = _part(source, target._spec)
    else:
        raise RuntimeError(f"copy_: a tensor of shape {tuple(source.shape)} does not fit {tuple(target.shape)}")
    target.to_local().copy_(piece)
    return target


def _dropout(func, args, kwargs):
    """With a mask that is drawn for the whole, so that it does not matter how the tensor lies."""
    x, p, train = (*args, *kwargs.values())[:3]
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not train or not p:
        return x
    if p == 1:
        return call(torch.mul, (x, 0), {})
    if any(isinstance(one, Partial) for one in x.placements):
        x = x.redistribute(placements=x._spec.replicated.placements)
    mask = wrap(torch.empty_like(x.to_local()).detach(), x._spec)
    return call(
        torch.mul, (x, call(torch.Tensor.mul, (_draw(torch.Tensor.bernoulli_, (mask, 1 - p), {}), 1 / (1 - p)), {})), {}
    )


def _settle(func, args, kwargs):
    """Those that concern the object, and give it back or nothing."""
    result = func(*args, **kwargs)
    return args[0] if isinstance(result, torch.Tensor) else result


def _detach(func, args, kwargs):
    return wrap(args[0].to_local().detach(), args[0]._spec)


def _item(func, args, kwargs):
    return func(args[0].full_tensor(), *args[1:], **kwargs)


SPECIAL = {"copy_": _copy, "detach": _detach, "dropout": _dropout}
SPECIAL |= dict.fromkeys(
    ["requires_grad_", "detach_", "register_hook", "register_post_accumulate_grad_hook", "retain_grad", "data_ptr",
     "untyped_storage", "storage", "element_size", "is_floating_point", "is_complex", "storage_offset", "is_shared",
     "_version", "is_signed", "is_inference", "get_device"],
    _settle,
)  # fmt: skip
SPECIAL |= dict.fromkeys(
    ["item", "tolist", "backward", "numpy", "equal", "__bool__", "__float__", "__int__", "__index__"], _item
)
SPECIAL["equal"] = lambda func, args, kwargs: torch.equal(
    *(a.full_tensor() if isinstance(a, DTensor) else a for a in args)
)
