"""Freezing: parameters and attributes of a compiled module become constants of its methods."""

from __future__ import annotations

import enum

import torch

from . import _ir as ir
from ._alias import AliasDb

__all__ = ["freeze", "optimize_for_inference", "run_frozen_optimizations"]


def freeze(mod, preserved_attrs=None, optimize_numerics=True):
    """A compiled module whose parameters and attributes are constants of its methods, for inference.

    Calls are put in place of their callees, and what depends only on constants is computed once; a batch norm behind a
    convolution goes into its weights when ``optimize_numerics``. Attributes that methods write, that share memory with one
    they write to, and those of ``preserved_attrs`` (attributes or methods, of children as ``"child.name"``) stay. From its
    second run on, weights of products and convolutions are also held as kernels pack them, which takes their memory once more.
    RuntimeError when the module is in training mode.

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
    work = _Freezing(mod._c, preserved_attrs or ())
    copies = {}
    work.find_assigned()
    for method in work.methods:  # numbers decide which branches are left, and so what is written to
        work.bake(method, copies, numbers=True)
        ir._native.fold_constants(method.graph)
    work.find_kept()
    for method in work.methods:
        work.bake(method, copies)
        _pack_weights(method.graph)
        ir._native.fold_constants(method.graph)
        if optimize_numerics:
            fold_norms(method.graph)
        ir._native.fold_constants(method.graph)
        ir._native.eliminate_common_subexpressions(method.graph)
        ir._native.eliminate_dead_code(method.graph)
    return work.made(mod.original_name)


def _pack_weights(graph):
    """Pack the weights of dynamic layers, and keep with each what it was packed of: archives have that."""
    for node in graph.findAllNodes("aten::_int8_pack"):
        weight = node.input(0).toIValue() if node.input(0).isConstant() else None
        if weight is None:
            continue
        packed = torch.ops.aten._int8_pack(weight)
        packed.unpacked = weight if packed is not weight else weight.detach()
        with graph.insert_point_guard(node):
            node.output().replaceAllUsesWith(graph.insertConstant(packed))
        node.destroy()


class _Method:
    """A method that stays: whose it is, and its graph with all calls in place."""

    def __init__(self, owner, function):
        self.owner, self.function, self.graph = owner, function, function.inlined_graph
        _open_forks(self.graph)

    def objects(self):
        """The modules of the graph, by the names of the values that they are."""
        found = {self.graph.param_node().outputs()[0].debugName(): self.owner}
        for node in self.graph.findAllNodes("prim::GetAttr"):
            of = found.get(node.input().debugName())
            if of is not None and (child := _child(of, node.s("name"))) is not None:
                found[node.output().debugName()] = child
        return found

    def reads(self, objects):
        """The reads of attributes that are no modules: node, object, name."""
        for node in self.graph.findAllNodes("prim::GetAttr"):
            of = objects.get(node.input().debugName())
            if of is not None and node.output().debugName() not in objects:
                yield node, of, node.s("name")


class _Freezing:
    """What stays of a module, and the module that is made of it."""

    def __init__(self, root, preserved):
        if isinstance(preserved, str):
            raise TypeError(f"torch.jit.freeze: preserved_attrs is a list of names, got {preserved!r}")
        self.root, self.kept, self.whole = root, set(), set()
        self.methods = [_Method(root, f) for f in root._type().methods() if f.name == "forward"]
        missing = [name for name in dict.fromkeys(preserved) if not self._preserve(name)]
        if missing:
            raise RuntimeError(
                f"torch.jit.freeze: the module has no attribute {', '.join(map(repr, sorted(missing)))} to preserve"
            )

    def _preserve(self, path):
        *parts, name = path.split(".")
        owner = self.root
        for part in parts:
            owner = None if owner is None else _child(owner, part)
        if owner is None:
            return False
        if owner.hasattr(name):
            self.kept.add((owner, name))
            if (child := _child(owner, name)) is not None:
                self.whole |= set(_modules(child))
            return True
        function = owner._type().find_method(name)
        if function is not None and (owner is not self.root or name != "forward"):
            self.methods.append(_Method(owner, function))
        return function is not None

    def find_assigned(self):
        """Mark attributes that methods assign."""
        for method in self.methods:
            objects = method.objects()
            for node in method.graph.findAllNodes("prim::SetAttr"):
                of = objects.get(node.input(0).debugName())
                if of is not None:
                    self.kept.add((of, node.s("name")))

    def find_kept(self):
        """Mark attributes that methods write to, and modules that a program uses as values, with all that they have."""
        changed = set()
        for method in self.methods:
            objects, aliases = method.objects(), AliasDb(method.graph)
            for node, of, name in method.reads(objects):
                if aliases.has_writers(node.output()):
                    changed.add((of, name))
            self._find_values(method, objects)
        self.kept |= changed
        written = {s for of, name in changed for s in _storages(of.getattr(name))}
        for method in self.methods if written else ():
            for _, of, name in method.reads(method.objects()):
                if not written.isdisjoint(_storages(of.getattr(name))):
                    self.kept.add((of, name))

    def _find_values(self, method, objects):
        uses = [
            (node, i, each.debugName()) for node in _all_nodes(method.graph) for i, each in enumerate(node.inputs())
        ]
        uses += [(None, 0, each.debugName()) for each in method.graph.outputs()]
        for node, i, name in uses:
            kind = "" if node is None else node.kind()
            if name not in objects or (i == 0 and kind in ("prim::GetAttr", "prim::SetAttr", "prim::PythonOp")):
                continue
            if objects[name] == self.root:
                raise RuntimeError(
                    f"torch.jit.freeze: attempted to freeze a module that return itself, or passes itself on, in {method.function.name}"
                )
            self.whole.add(objects[name])

    def _stays(self, owner, name):
        return owner in self.whole or (owner, name) in self.kept

    def bake(self, method, copies, numbers=False):
        """Put the values of attributes in the place of their reads; of tensors, copies. Only of numbers and texts, if so asked."""
        for node, of, name in list(method.reads(method.objects())):
            if self._stays(of, name) or not _is_plain(value := of.getattr(name)):
                continue
            if numbers and not isinstance(value, (int, float, complex, str)):
                continue
            with method.graph.insert_point_guard(node):
                constant = _constant(method.graph, value, node.output().type(), copies)
            node.output().replaceAllUsesWith(constant)
        _bring_constants(method.graph)

    def made(self, original_name):
        """The module of the methods that stay, with the attributes that they still read."""
        used = set()
        for method in self.methods:
            objects = method.objects()
            for kind in ("prim::GetAttr", "prim::SetAttr"):
                for node in method.graph.findAllNodes(kind):
                    of = objects.get(node.input(0).debugName())
                    if of is not None:
                        used.add((of, node.s("name")))
        fresh = {}
        made = self._object(self.root, self._paths(used | self.kept), fresh)
        for method in self.methods:
            graph, names = method.graph, method.objects()
            graph.param_node().outputs()[0].setType(fresh[method.owner]._type())
            for node in graph.findAllNodes("prim::GetAttr"):
                child = names.get(node.output().debugName())
                if child is not None and child in fresh:
                    node.output().setType(fresh[child]._type())
            graph.lint()
            kind = fresh[method.owner]._type()
            function = ir.Function(f"{kind.qualified_name()}.{method.function.name}", graph)
            function.set_defaults(method.function.defaults())
            kind.add_method(function)
        from ._script.module import RecursiveScriptModule, of_object

        module = of_object(made)
        return RecursiveScriptModule(made, dict(module._modules), None, original_name)

    def _object(self, owner, used, fresh):
        """The object in the place of a module, and in ``fresh`` those below it."""
        from ._unique import unique_name

        if owner in fresh:
            return fresh[owner]
        old = owner._type()
        kind, values = ir.ClassType(unique_name(old.qualified_name()), True), {}
        for name, type, is_parameter, is_buffer in old.attributes():
            child = _child(owner, name)
            if child is not None and child not in self.whole and (owner, name) in used:
                values[name] = self._object(child, used, fresh)
                type = values[name]._type()
            elif (owner, name) in used or (name == "training" and child is None):
                values[name] = owner.getattr(name)
            else:
                continue
            kind.add_attribute(name, type, is_parameter, is_buffer)
        made = fresh[owner] = ir.Object(kind)
        for name, value in values.items():
            made.setattr(name, value)
        return made

    def _paths(self, used):
        """What is used, and the children on the way to it and to methods that stay."""
        leads = {of for of, _ in used} | {method.owner for method in self.methods}
        paths = set(used)
        for owner in reversed(list(_modules(self.root))):  # children before their parents
            for name, *_ in owner._type().attributes():
                child = _child(owner, name)
                if child is not None and child in leads:
                    leads.add(owner)
                    paths.add((owner, name))
        return paths


def _child(owner, name):
    """The object of a module that another one holds, or None."""
    kind = owner._type().attribute_type(name)
    if kind is None or kind.kind() not in ("ClassType", "InterfaceType"):
        return None
    found = owner.getattr(name)
    found = getattr(found, "_c", found)
    return found if isinstance(found, ir.Object) and found._type().is_module() else None


def _modules(owner):
    """A module and those below it, each before its children."""
    yield owner
    for name, *_ in owner._type().attributes():
        child = _child(owner, name)
        if child is not None:
            yield from _modules(child)


def _open_forks(graph):
    """Have the forks of a graph take attributes of modules from outside, instead of the modules."""
    for node in graph.findAllNodes("prim::fork"):
        within = node.g("Subgraph").copy()
        ir._native.inline_calls(within)
        _open_forks(within)
        while (read := _read_of_module(within)) is not None:
            place = [value.debugName() for value in within.inputs()].index(read.input().debugName())
            outside = graph.create("prim::GetAttr", [node.input(place)], 1)
            outside.s_("name", read.s("name"))
            outside.output().setType(read.output().type())
            outside.insertBefore(node)
            node.addInput(outside.output())
            inner = within.addInput()
            inner.setType(read.output().type())
            read.output().replaceAllUsesWith(inner)
            read.destroy()
        for place in reversed(range(len(list(within.inputs())))):
            value = list(within.inputs())[place]
            if _is_module(value) and not value.uses():
                within.eraseInput(place)
                node.removeInput(place)
        node.g_("Subgraph", within)


def _bring_constants(graph):
    """Have the forks of a graph hold the constants that they take."""
    for node in graph.findAllNodes("prim::fork"):
        within = node.g("Subgraph")
        for place in reversed(range(node.inputsSize())):
            value, inner = node.input(place), list(within.inputs())[place]
            if not value.isConstant():
                continue
            within.setInsertPoint(within.param_node().next())
            held = value.toIValue()
            plain = value.type().kind() == "TensorType"
            inner.replaceAllUsesWith(
                within.insertConstant(held) if plain else within.insertConstant(held, value.type())
            )
            within.eraseInput(place)
            node.removeInput(place)
        within.setInsertPoint(within.block())
        _bring_constants(within)
        ir._native.fold_constants(within)


def _read_of_module(graph):
    """The first read of an attribute of a module that is an input of the graph."""
    given = {value.debugName() for value in graph.inputs() if _is_module(value)}
    return next((node for node in graph.findAllNodes("prim::GetAttr") if node.input().debugName() in given), None)


def _is_module(value):
    return value.type().kind() == "ClassType" and value.type().is_module()


def _all_nodes(block):
    for node in block.nodes():
        yield node
        for inner in node.blocks():
            yield from _all_nodes(inner)
            yield inner.returnNode()


def _storages(value):
    """The addresses of the memory of the tensors in a value."""
    if isinstance(value, (list, tuple)):
        for each in value:
            yield from _storages(each)
    elif isinstance(value, dict):
        yield from _storages(list(value.values()))
    elif isinstance(value, torch.Tensor) and value.layout == torch.strided and value.device.type != "meta":
        yield value.untyped_storage().data_ptr()


def _is_plain(value):
    """Whether a value can stand in a graph: no object, nor what has one in it."""
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(_is_plain(each) for pair in value.items() for each in pair)
    return value is None or isinstance(value, (torch.Tensor, int, float, complex, str, torch.device, enum.Enum))


def _constant(graph, value, kind, copies):
    """A value of a graph: of lists and dicts, nodes that make them, since a program may give them away."""
    if kind.kind() == "OptionalType" and value is not None:
        kind = kind.getElementType()
    if isinstance(value, (list, tuple, dict)) and (not isinstance(value, tuple) or kind.kind() == "TupleType"):
        kinds = kind.containedTypes()
        if isinstance(value, dict):
            parts = [(each, want) for pair in value.items() for each, want in zip(pair, kinds)]
        else:
            parts = zip(value, kinds if kind.kind() == "TupleType" else kinds * len(value))
        made = graph.create(
            f"prim::{kind.kind().removesuffix('Type')}Construct",
            [_constant(graph, each, want, copies) for each, want in parts],
            1,
        )
        made.output().setType(kind)
        return graph.insertNode(made).output()
    if isinstance(value, torch.Tensor):
        value = copies.setdefault(id(value), (value, value.detach().clone()))[1]
    return graph.insertConstant(value) if kind.kind() == "TensorType" else graph.insertConstant(value, kind)


def freeze_object(module, preservedAttrs=(), freezeInterfaces=True, preserveParameters=False):
    """``torch._C._freeze_module``: the object of a frozen module, of that of a module in evaluation mode.

    >>> net = torch.jit.script(torch.nn.Linear(2, 1).eval())
    >>> torch._C._freeze_module(net._c).hasattr("weight")
    False
    """
    from ._script.module import of_object

    if not freezeInterfaces:
        raise NotImplementedError("_freeze_module: modules behind interfaces are frozen as well")
    mod = of_object(module)
    kept = [*preservedAttrs]
    if preserveParameters:
        kept += [name for name, _ in mod.named_parameters()]
    return freeze(mod, kept, optimize_numerics=False)._c


def fold_norms(graph):
    """conv(x) and then batch_norm in eval mode: one convolution."""
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


def run_frozen_optimizations(mod, optimize_numerics=True, preserved_methods=None):
    """Run the passes of :func:`freeze` that need no attributes on a frozen module, in place."""
    for f in mod._c._type().methods():
        if optimize_numerics:
            fold_norms(f.graph)
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
