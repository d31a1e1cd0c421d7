"""A function and its derivative as two graphs of ``torch.ops.aten``, for compilers of one's own.

The joint graph is what ``make_fx`` records of a call and of its backward pass. What depends on no gradient of a result is the
forward graph, which also gives what the rest needs; the rest is the backward graph. At run time both are one node of the tape.
"""

from __future__ import annotations

import functools
from contextlib import contextmanager
from typing import Any

import torch
from torch import _pytree as pytree
from torch.fx.graph import Graph
from torch.fx.graph_module import GraphModule
from torch.fx.node import Node, map_arg

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "aot_autograd", "aot_function", "aot_module", "aot_module_simplified", "compiled_function", "compiled_module", "default_partition",
    "make_boxed_compiler", "make_boxed_func", "min_cut_rematerialization_partition", "nop",
]  # fmt: skip


def make_boxed_func(f: Callable[..., Any]) -> Callable[[list], Any]:
    """``f`` as a function of one list of its arguments.

    >>> make_boxed_func(max)([1, 2])
    2
    """

    def boxed(args):
        return f(*args)

    boxed._boxed_call = True
    return boxed


def make_boxed_compiler(compiler: Callable[..., Any]) -> Callable[..., Any]:
    """A compiler whose results take one list."""

    @functools.wraps(compiler)
    def made(module, inputs):
        out = compiler(module, inputs)
        return out if getattr(out, "_boxed_call", False) else make_boxed_func(out)

    return made


def nop(fx_g: GraphModule, _inputs: Sequence[Any]) -> GraphModule:
    """The compiler that leaves a graph as it is."""
    return fx_g


def default_partition(
    joint_module: GraphModule, _joint_inputs: Sequence[Any], *, num_fwd_outputs: int, **_options: Any
) -> tuple[GraphModule, GraphModule]:
    """The forward and the backward graph of a joint one, whose placeholders are ``primals_<i>``, then ``tangents_<i>``.

    The forward graph gives ``num_fwd_outputs`` results, and behind them the values that the backward graph takes in front of the
    tangents. All values that both use are kept, none is computed twice.
    """
    nodes, late, outputs, gradients = _halves(joint_module, num_fwd_outputs)
    used = {n for node in late for n in node.all_input_nodes} | {n for n in gradients if isinstance(n, Node)}
    kept = [node for node in nodes if node in used and node not in late and node.op != "get_attr"]
    return _two(joint_module, nodes, late, outputs, gradients, kept, [])


def min_cut_rematerialization_partition(
    joint_module: GraphModule, _joint_inputs: Sequence[Any], compiler: str = "inductor", *, num_fwd_outputs: int, **_options: Any
) -> tuple[GraphModule, GraphModule]:  # fmt: skip
    """As :func:`default_partition`, and the values that are kept have the fewest bytes: the backward graph computes again what
    element-wise operators and views make of them.

    Where the graph writes in place, all is kept.

    >>> from torch._functorch.aot_autograd import aot_function, make_boxed_func
    >>> def kept(graph_module, inputs):
    ...     print(len(inputs), [str(n.target) for n in graph_module.graph.nodes if n.op == "call_function"])
    ...     return graph_module
    >>> f = aot_function(lambda x: x.sin().cos(), nop, kept, min_cut_rematerialization_partition)
    >>> f(torch.ones(2, requires_grad=True)).sum().backward()
    2 ['aten.sin.default', 'aten.sin.default', 'aten.mul.Tensor', 'aten.neg.default', 'aten.cos.default', 'aten.mul.Tensor']
    """
    from ._partitions import fewest_bytes

    nodes, late, outputs, gradients = _halves(joint_module, num_fwd_outputs)
    if any(n.op == "call_function" and n.is_impure(impure_random=False) for n in nodes):
        return default_partition(joint_module, _joint_inputs, num_fwd_outputs=num_fwd_outputs)
    kept, again = fewest_bytes(nodes, late, [n for n in gradients if isinstance(n, Node)])
    return _two(joint_module, nodes, late, outputs, gradients, kept, again)


def _halves(joint_module, count):
    """The nodes of a joint graph, those that wait for gradients of results, the results, and the gradients.

    Memory that the backward pass writes to is made there, so that it is new in each pass and read behind the writes.
    """
    nodes = [node for node in joint_module.graph.nodes if node.op != "output"]
    results = list(joint_module.graph.output_node().args[0])
    late = _behind({n for n in nodes if n.op == "placeholder" and n.target.startswith("tangents")}, nodes)
    begin = next((i for i, n in enumerate(nodes) if n in late and n.op != "placeholder"), len(nodes))
    writes = [n for n in nodes if n.op == "call_function" and n.is_impure(impure_random=False)]
    late = _behind(late | set(nodes[begin:]).intersection(writes), nodes)
    early = _before([*(n for n in results[:count] if isinstance(n, Node)), *(n for n in writes if n not in late)])
    while made := _before([n.args[0] for n in writes if n in late and isinstance(n.args[0], Node)]) - early - late:
        late = _behind(late | made, nodes)
    return nodes, late, results[:count], results[count:]


def _behind(found, nodes):
    """These nodes, and all that take what they give."""
    for node in nodes:
        if any(used in found for used in node.all_input_nodes):
            found.add(node)
    return found


def _before(nodes):
    """These nodes but for inputs, and all that give what they take."""
    found, left = set(), list(nodes)
    while left:
        node = left.pop()
        if node not in found and node.op not in ("placeholder", "get_attr"):
            found.add(node)
            left += node.all_input_nodes
    return found


def _two(joint_module, nodes, late, outputs, gradients, kept, again):
    """The graphs of both halves, of which the second takes the values that are kept, and makes some calls again."""
    forward = _of(joint_module, [n for n in nodes if n not in late], [], [*outputs, *kept])
    tangents = [n for n in nodes if n in late and n.op == "placeholder"]
    repeated = set(again)
    rest = [n for n in nodes if (n in late and n.op != "placeholder") or n.op == "get_attr" or n in repeated]
    return forward, _of(joint_module, rest, [*kept, *tangents], gradients)


def _of(module, nodes, given, results):
    graph, values = Graph(), {}
    for node in given:
        values[node] = graph.placeholder(node.name, node.type)
        values[node].meta = dict(node.meta)
    for node in nodes:
        values[node] = graph.node_copy(node, values.__getitem__)
    graph.output(map_arg(tuple(results), values.__getitem__))
    graph.eliminate_dead_code()
    return GraphModule(module, graph)


def aot_module_simplified(
    mod: torch.nn.Module,
    args: Sequence[Any],
    fw_compiler: Callable[..., Any],
    bw_compiler: Callable[..., Any] | None = None,
    partition_fn: Callable[..., Any] = default_partition,
    decompositions: Any = None,
    keep_inference_input_mutations: bool = False,
    inference_compiler: Callable[..., Any] | None = None,
    **_options: Any,
) -> Callable[..., Any]:
    """A function of the arguments of ``mod``, run by what compilers make of its graphs.

    ``fw_compiler(graph_module, inputs)`` and ``bw_compiler`` give callables of the graph's inputs: parameters and buffers of
    ``mod`` first, then ``args``. Where nothing needs a gradient, ``inference_compiler`` (or ``fw_compiler``) gets the one graph.
    The graphs are for the sizes of ``args``; other sizes are compiled when they come. Writes to inputs stay in the graphs.

    >>> graphs = []
    >>> def compiler(graph_module, inputs):
    ...     graphs.append([str(n.target) for n in graph_module.graph.nodes if n.op == "call_function"])
    ...     return graph_module
    >>> x = torch.ones(2, requires_grad=True)
    >>> aot_module_simplified(torch.nn.Tanh(), (x,), compiler)(x).sum().backward()
    >>> graphs
    [['aten.tanh.default'], ['aten.tanh_backward.default']]
    """
    named = {**dict(mod.named_parameters(remove_duplicate=False)), **dict(mod.named_buffers(remove_duplicate=False))}
    names, held = list(named), list(named.values())

    def function(*values):
        given = dict(zip(names, values))
        return torch.func.functional_call(mod, given, tuple(values[len(names) :])) if names else mod(*values)

    run = _compiled(
        function, [*held, *args], fw_compiler, bw_compiler or fw_compiler, inference_compiler or fw_compiler, partition_fn, decompositions
    )  # fmt: skip

    def forward(*runtime_args):
        return run(*held, *runtime_args)

    forward.zero_grad, forward.named_parameters, forward.named_buffers = (
        mod.zero_grad,
        mod.named_parameters,
        mod.named_buffers,
    )
    return forward


def aot_function(
    fn: Callable[..., Any],
    fw_compiler: Callable[..., Any],
    bw_compiler: Callable[..., Any] | None = None,
    partition_fn: Callable[..., Any] = default_partition,
    decompositions: Any = None,
    num_params_buffers: int = 0,
    keep_inference_input_mutations: bool = False,
    inference_compiler: Callable[..., Any] | None = None,
    **_options: Any,
) -> Callable[..., Any]:
    """``fn``, run by what compilers make of its graphs: see :func:`aot_module_simplified`. The first call of each layout compiles.

    >>> f = aot_function(lambda x, k=2: {"y": x * k}, nop)
    >>> f(torch.ones(2), k=3)
    {'y': tensor([3., 3.])}
    """
    made: list = []

    @functools.wraps(fn)
    def called(*args, **kwargs):
        leaves, spec = pytree.tree_flatten((args, kwargs))
        run = next((run for known, run in made if known == spec), None)
        if run is None:

            def flat(*values):
                given, names = pytree.tree_unflatten(list(values), spec)
                return fn(*given, **names)

            run = _compiled(
                flat, leaves, fw_compiler, bw_compiler or fw_compiler, inference_compiler or fw_compiler, partition_fn, decompositions
            )  # fmt: skip
            made.append((spec, run))
        return run(*leaves)

    return called


def aot_module(mod: torch.nn.Module, *args: Any, **kwargs: Any) -> torch.nn.Module:
    """A module with the parameters of ``mod``, of which calls run as :func:`aot_function` says."""

    def function(named, given, names):
        return torch.func.functional_call(mod, named, given, names)

    run = aot_function(function, *args, **kwargs)

    class AOTModule(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.orig_module = mod

        def forward(self, *args, **kwargs):
            return run({**dict(mod.named_parameters()), **dict(mod.named_buffers())}, args, kwargs)

    return AOTModule()


compiled_function, compiled_module = aot_function, aot_module


def aot_autograd(**options: Any) -> Callable[..., Any]:
    """A backend of ``torch.compile`` by the compilers of forward and backward graphs: ``fw_compiler``, ``bw_compiler`` and what else
    :func:`aot_module_simplified` takes."""

    def compiler(module, inputs, **_kwargs):
        return aot_module_simplified(module, inputs, **options)

    return compiler


# --- from a function to its graphs ---

_TENSOR = object()  # the place of a tensor among results


def _compiled(function, values, *how):
    """A function of values, which is compiled for these, and for others when they come: other sizes are other graphs."""
    made: dict = {}

    def found(given):
        key = (torch.is_grad_enabled(), *map(_layout, given))
        if key not in made:
            made[key] = _for_these(function, given, *how)
        return made[key]

    found(values)
    return lambda *given: found(given)(*given)


def _layout(value):
    """What graphs are made for: of a tensor all but its elements, of anything else what it is."""
    if isinstance(value, torch.Tensor):
        return value.shape, value.stride(), value.dtype, value.device, value.requires_grad
    try:
        return type(value), hash(value), value
    except TypeError:
        return type(value), id(value)


def _for_these(function, values, fw_compiler, bw_compiler, inference_compiler, partition, table):
    """A function of the values, of which the tensors go through what the compilers give."""
    at = [i for i, value in enumerate(values) if isinstance(value, torch.Tensor)]
    shape: dict = {}

    def flat(*tensors):
        given = list(values)
        for i, tensor in zip(at, tensors):
            given[i] = tensor
        leaves, shape["spec"] = pytree.tree_flatten(function(*given))
        shape["leaves"] = [_TENSOR if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]

    tensors = [values[i] for i in at]
    wanted = [i for i, t in enumerate(tensors) if t.requires_grad and torch.is_grad_enabled()]
    with _left_alone():
        results = flat(*_twins(tensors)) if wanted else []
    differ = [i for i, result in enumerate(results) if result.requires_grad]
    if differ:
        run = _differentiable(flat, tensors, wanted, results, differ, fw_compiler, bw_compiler, partition, table)
    else:
        graph = _traced(flat, tensors, [], table)
        with torch.no_grad():
            compiled = inference_compiler(graph, tensors)

        def run(*inputs):
            with torch.no_grad():
                return _call(compiled, inputs)

    def called(*given):
        outputs = iter(run(*(given[i] for i in at)))
        return pytree.tree_unflatten(
            [next(outputs) if leaf is _TENSOR else leaf for leaf in shape["leaves"]], shape["spec"]
        )

    return called


def _differentiable(flat, tensors, wanted, results, differ, fw_compiler, bw_compiler, partition, table):
    tangents = [torch.ones_like(results[i]) for i in differ]
    count, keeps = len(results), set(differ)

    def joint(*everything):
        primals, seeds = everything[: len(tensors)], everything[len(tensors) :]
        outputs = flat(*primals)
        gradients = torch.autograd.grad(
            [outputs[i] for i in differ], [primals[i] for i in wanted], list(seeds), allow_unused=True
        )
        return [*outputs, *gradients]

    whole = _traced(joint, tensors, tangents, table)
    forward, backward = partition(whole, (tensors, tangents), num_fwd_outputs=count)
    with torch.no_grad(), _left_alone():
        kept = list(forward(*_twins(tensors)))[count:]
        run_forward, run_backward = fw_compiler(forward, tensors), bw_compiler(backward, [*kept, *tangents])

    class CompiledFunction(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *inputs):
            values = list(_call(run_forward, inputs))
            ctx.save_for_backward(*values[count:])
            ctx.mark_non_differentiable(*(v for i, v in enumerate(values[:count]) if i not in keeps))
            return tuple(values[:count])

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, *gradients):
            found = iter(_call(run_backward, [*ctx.saved_tensors, *(gradients[i] for i in differ)]))
            return tuple(next(found) if i in wanted else None for i in range(len(tensors)))

    return CompiledFunction.apply


def _call(compiled, inputs):
    out = compiled(list(inputs)) if getattr(compiled, "_boxed_call", False) else compiled(*inputs)
    return out if isinstance(out, (list, tuple)) else (out,)


def _twins(tensors):
    """Tensors like these: what a call does to them, it does not do to the arguments."""
    return [t.detach().clone().requires_grad_(t.requires_grad) for t in tensors]


def _traced(function, tensors, tangents, table):
    """The graph of a function of tensors and tangents, with names of PyTorch's, and values as notes of its nodes."""
    from torch.fx.experimental.proxy_tensor import make_fx

    with _left_alone():
        module = make_fx(function, table)(*_twins(tensors), *tangents)
    graph, values = Graph(), {}
    placeholders = iter(
        [(f"primals_{i + 1}", t) for i, t in enumerate(tensors)]
        + [(f"tangents_{i + 1}", t) for i, t in enumerate(tangents)]
    )
    for node in module.graph.nodes:
        if node.op == "placeholder":
            name, example = next(placeholders)
            values[node] = graph.placeholder(name)
            values[node].meta["val"] = example
        else:
            values[node] = graph.node_copy(node, values.__getitem__)
    return GraphModule(module, graph)


@contextmanager
def _left_alone():
    """A block after which random numbers go on as if it had not been."""
    state = torch.get_rng_state()
    try:
        yield
    finally:
        torch.set_rng_state(state)
