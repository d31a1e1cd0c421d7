"""Freezing: parameters and attributes of a compiled module become constants of its methods."""

from __future__ import annotations

from . import _ir as ir

__all__ = ["freeze", "optimize_for_inference", "run_frozen_optimizations"]


def freeze(mod, preserved_attrs=None, optimize_numerics=True):
    """A compiled module whose parameters and attributes are constants of its methods, for inference.

    Calls are put in place of their callees, and what depends only on constants is computed once; a batch norm behind a
    convolution goes into its weights when ``optimize_numerics``. Attributes that methods write, and those of
    ``preserved_attrs``, stay. From its second run on, weights of products and convolutions are also held as kernels pack them, which takes
    their memory once more. RuntimeError when the module is in training mode.

    >>> net = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2)).eval()
    >>> frozen = torch.jit.freeze(torch.jit.trace(net, torch.ones(1, 1, 4, 4)))
    >>> [n.kind() for n in frozen.graph.nodes() if n.kind().startswith("aten::")], list(frozen.parameters())
    (['aten::conv2d'], [])
    """
    from ._script.module import RecursiveScriptModule

    if not isinstance(mod, RecursiveScriptModule):
        raise RuntimeError(
            f"torch.jit.freeze: expected a compiled module, got {type(mod).__name__}; use torch.jit.script or torch.jit.trace first"
        )
    if mod._c.hasattr("training") and mod.training:
        raise RuntimeError("torch.jit.freeze: the module is in training mode; call .eval() first")
    kept = set(preserved_attrs or ())
    old = mod._c._type()
    names = {name for name, *_ in old.attributes()} | {f.name for f in old.methods()}
    if missing := kept - names:
        raise RuntimeError(
            f"torch.jit.freeze: the module has no attribute {', '.join(map(repr, sorted(missing)))} to preserve"
        )
    methods = [f for f in old.methods() if f.name == "forward" or f.name in kept]
    graphs = {f.name: f.inlined_graph for f in methods}
    written = {n.s("name") for g in graphs.values() for n in g.findAllNodes("prim::SetAttr")}
    copies = {}
    for graph in graphs.values():
        _bake(graph, mod._c, kept | written, copies)
        ir._native.fold_constants(graph)
        if optimize_numerics:
            _fold_norms(graph)
        ir._native.fold_constants(graph)
        ir._native.eliminate_common_subexpressions(graph)
        ir._native.eliminate_dead_code(graph)
    return _made(mod, methods, graphs)


def _bake(graph, owner, kept, copies):
    """Put the values of attributes in the place of their reads; of tensors, copies."""
    objects = {graph.param_node().outputs()[0].unique(): owner}
    for node in graph.findAllNodes("prim::GetAttr"):
        of = objects.get(node.input().unique())
        if of is None or node.s("name") in kept:
            continue
        value = of.getattr(node.s("name"))
        if isinstance(value, ir.Object) or hasattr(value, "_c"):
            objects[node.output().unique()] = getattr(value, "_c", value)
            continue
        kind = node.output().type()
        if kind.kind() in ("ListType", "DictType", "ClassType", "FunctionType"):
            continue  # shared with whoever else has it
        if hasattr(value, "requires_grad"):
            value = copies.setdefault(id(value), (value, value.detach().clone()))[1]
        with graph.insert_point_guard(node):
            constant = graph.insertConstant(value) if kind.kind() == "TensorType" else graph.insertConstant(value, kind)
        node.output().replaceAllUsesWith(constant)


def _fold_norms(graph):
    """conv(x) and then batch_norm in eval mode: one convolution."""
    import torch

    for norm in graph.findAllNodes("aten::batch_norm"):
        conv = norm.input(0).node()
        if conv.kind() not in ("aten::conv1d", "aten::conv2d", "aten::conv3d"):
            continue
        if any(use.user.kind() not in ("aten::batch_norm", "aten::dim", "aten::size") for use in conv.output().uses()):
            continue
        if sum(use.user.kind() == "aten::batch_norm" for use in conv.output().uses()) > 1:
            continue
        values = [conv.input(1), conv.input(2), *(norm.input(i) for i in range(1, 8))]
        if not all(v.isConstant() for v in values):
            continue
        weight, bias, gain, shift, mean, var, training, _, eps = (v.toIValue() for v in values)
        if training or mean is None or var is None or weight.dtype != mean.dtype:
            continue
        scale = (var + eps).rsqrt() * (1 if gain is None else gain)
        moved = (0 if bias is None else bias) - mean
        with graph.insert_point_guard(conv):
            conv.replaceInput(1, graph.insertConstant(weight * scale.view(-1, *[1] * (weight.dim() - 1))))
            conv.replaceInput(
                2, graph.insertConstant(moved * scale + (torch.zeros_like(mean) if shift is None else shift))
            )
        norm.output().replaceAllUsesWith(conv.output())
        norm.destroy()


def _made(mod, methods, graphs):
    """The module of the frozen methods: with the attributes that they still read."""
    from ._trace import unique_name

    old = mod._c._type()
    fresh = ir.ClassType(unique_name(old.qualified_name()), True)
    used = {n.s("name") for g in graphs.values() for kind in ("GetAttr", "SetAttr") for n in g.findAllNodes(f"prim::{kind}")
            if n.input(0).unique() == g.param_node().outputs()[0].unique()}  # fmt: skip
    for name, kind, is_parameter, is_buffer in old.attributes():
        if name in used or name == "training":
            fresh.add_attribute(name, kind, is_parameter, is_buffer)
    for f in methods:
        graph = graphs[f.name]
        graph.param_node().outputs()[0].setType(fresh)
        graph.lint()
        made = ir.Function(f"{fresh.qualified_name()}.{f.name}", graph)
        made.set_defaults(f.defaults())
        fresh.add_method(made)
    owner, children = ir.Object(fresh), {}
    for name, *_ in fresh.attributes():
        owner.setattr(name, mod._c.getattr(name))
        if name in mod._modules:
            children[name] = mod._modules[name]
    from ._script.module import RecursiveScriptModule

    return RecursiveScriptModule(owner, children, None, mod.original_name)


def run_frozen_optimizations(mod, optimize_numerics=True, preserved_methods=None):
    """Run the passes of :func:`freeze` that need no attributes on a frozen module, in place."""
    for f in mod._c._type().methods():
        if optimize_numerics:
            _fold_norms(f.graph)
        ir._native.fold_constants(f.graph)
        ir._native.eliminate_common_subexpressions(f.graph)


def optimize_for_inference(mod, other_methods=None):
    """A module made ready for inference: frozen, where it is not yet, with what follows from its constants computed.

    >>> net = torch.jit.optimize_for_inference(torch.jit.script(torch.nn.Linear(2, 1).eval()))
    >>> net(torch.ones(1, 2)).shape
    torch.Size([1, 1])
    """
    if not mod._c.hasattr("training") or list(mod.parameters()):
        return freeze(mod, other_methods)
    run_frozen_optimizations(mod, True, other_methods)
    return mod
