"""Tracing beneath the tape: ``make_fx`` records the operators that a call runs, those of backward passes among them.

Tensors are recognised by the memory that they look at: the tape, and transforms of functions, hand operators other objects
of Python for the same elements. Nothing that was seen is freed before the end, so memory names one tensor only.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import operator
from contextlib import contextmanager, nullcontext

import torch
from torch import _pytree as pytree
from torch import _seams
from torch.export._reads import refusing_data, watching
from torch.fx.experimental import _free_sizes
from torch.fx.graph import Graph, _PyTreeCodeGen, _PyTreeInfo
from torch.fx.graph_module import GraphModule
from torch.fx.node import Node
from torch.jit import _native
from torch.overrides import TorchFunctionMode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

__all__ = ["get_proxy_mode", "make_fx", "disable_proxy_modes_tracing", "is_sym_node", "get_isolated_graphmodule"]

_active: list[_Recorder] = []


def get_proxy_mode() -> Any:
    """The mode that records operators just now, or None.

    >>> get_proxy_mode() is None
    True
    """
    return _active[-1] if _active and not _active[-1].paused else None


@contextmanager
def disable_proxy_modes_tracing(enable_current: bool = False) -> Iterator[None]:
    """Operators in this context are not recorded: what they compute is a constant of the graph.

    >>> def f(x):
    ...     with disable_proxy_modes_tracing():
    ...         half = torch.ones(()) / 2
    ...     return x * half
    >>> [str(n.target) for n in make_fx(f)(torch.ones(2)).graph.nodes]
    ['x_1', '_tensor_constant0', 'aten.mul.Tensor', 'output']
    """
    modes = list(_active)
    before = [mode.paused for mode in modes]
    for mode in modes:
        mode.paused = True
    try:
        yield
    finally:
        for mode, paused in zip(modes, before):
            mode.paused = paused


def is_sym_node(node: Any) -> bool:
    """Whether a node's value is a symbolic size: never, sizes are numbers."""
    return False


def make_fx(
    f: Callable[..., Any], decomposition_table: Mapping[Any, Callable[..., Any]] | None = None, tracing_mode: str = "real",
    _allow_non_fake_inputs: bool = False, *, pre_dispatch: bool = False, record_module_stack: bool = False,
    _allow_fake_constant: bool = False, _error_on_data_dependent_ops: bool = True, record_stack_traces: bool = False,
    proxy_module_inputs: bool = False, _disable_torch_fn_metadata_mode: bool = False,
) -> Callable[..., GraphModule]:  # fmt: skip
    """A function that calls ``f`` with arguments and gives the operators that this ran as a ``GraphModule``.

    ``decomposition_table`` says which overloads run as which functions. Arguments are tensors or trees of them; numbers and
    sizes become those of the example, so ``tracing_mode`` "real" and "fake" are the same. With "symbolic" the graph is for other
    sizes and ints as well: ``f`` runs at several, and numbers that follow are computed from them; so it does for sizes with names
    (``torch.SymInt``). With ``pre_dispatch`` it switches
    gradients on and off where ``f`` does. A tensor that depends on the arguments is not read: RuntimeError.

    >>> square = make_fx(torch.func.grad(lambda x: (x * x).sum()))(torch.ones(2))
    >>> square(torch.tensor([1.0, 3.0]))
    tensor([2., 6.])
    """
    if tracing_mode not in ("real", "fake", "symbolic"):
        raise ValueError(f"make_fx: tracing_mode must be 'real', 'fake' or 'symbolic', got {tracing_mode!r}")
    if not callable(f):
        raise TypeError(f"make_fx: f must be callable, not {type(f).__name__}")

    def traced(*args: Any) -> GraphModule:
        if tracing_mode == "symbolic" or _free_sizes.has_symbols(args):
            trace = functools.partial(_trace, f, table=decomposition_table or {}, with_grad_modes=pre_dispatch)
            return _free_sizes.traced(trace, args, tracing_mode == "symbolic")
        return _trace(f, args, decomposition_table or {}, pre_dispatch)

    return traced


def get_isolated_graphmodule(
    func: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any], tracing_mode: str = "real",
    decomposition_table: Mapping[Any, Callable[..., Any]] | None = None,
) -> GraphModule:  # fmt: skip
    """The operators of ``func(*args, **kwargs)``, recorded apart from a mode that is on; the graph takes all tensors of both.

    >>> get_isolated_graphmodule(torch.add, (torch.ones(2), torch.ones(2)), {})(torch.ones(2), torch.ones(2))
    tensor([2., 2.])
    """
    leaves, spec = pytree.tree_flatten((tuple(args), dict(kwargs)))

    def flat(*values):
        given, named = pytree.tree_unflatten(list(values), spec)
        return func(*given, **named)

    with disable_proxy_modes_tracing():
        return make_fx(flat, decomposition_table, tracing_mode)(*leaves)


def _names(f, count):
    """The names of ``count`` arguments by position, as the function calls them."""
    try:
        parameters = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):
        parameters = ()
    places = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return places[:count] + [f"arg_{i}" for i in range(len(places), count)]


def _unseen(what):
    return RuntimeError(f"make_fx: the function {what}")


def _trace(f, args, table, with_grad_modes=False):
    leaves, spec = pytree.tree_flatten(args)
    names = _names(f, len(args))
    flat = all(pytree.tree_flatten(a)[1].is_leaf() for a in args)
    graph = Graph()
    mode = _Recorder(graph, table)
    given = []
    for i, leaf in enumerate(leaves):
        node = graph.placeholder(f"{names[i] if flat else 'arg'}_{1 if flat else i + 1}")
        given.append(mode.argument(leaf, node))
    if not flat:
        graph._codegen = _PyTreeCodeGen(_PyTreeInfo(["self", *names], spec, None))
    grad_modes = _GradModes(graph) if with_grad_modes else nullcontext()
    with mode, watching(mode.refuse), refusing_data(_unseen), _native.Reads(mode.hear), grad_modes:
        result = f(*pytree.tree_unflatten(given, spec))
    mode.check()
    if with_grad_modes:
        grad_modes.note()
    graph.output(pytree.tree_map(mode.given_back, result))
    graph.lint()
    made = GraphModule(mode.constants, graph)
    made.__class__.__name__ = (
        getattr(f, "__name__", type(f).__name__) if str.isidentifier(getattr(f, "__name__", "")) else "GraphModule"
    )
    return made


def _place(tensor):
    """What memory a tensor looks at, and how."""
    storage = tensor.untyped_storage()
    at = storage.data_ptr() or (None if storage.nbytes() == 0 else id(tensor))
    return at, tensor.storage_offset(), tuple(tensor.shape), tensor.stride(), tensor.dtype, tensor.device


class _GradModes(TorchFunctionMode):
    """Writes into a graph where a function switches the recording of gradients on and off."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self._graph, self._is_on = graph, torch.is_grad_enabled()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.note()
        return func(*args, **kwargs or {})

    def note(self) -> None:
        if self._is_on != torch.is_grad_enabled():
            self._is_on = not self._is_on
            self._graph.call_function(torch._C._set_grad_enabled, (self._is_on,))


def _hollow(tensor):
    """A tensor of the Meta device that looks as this one, of which some dims may be in reverse (what `flip` copies)."""
    made = torch.empty_strided(tensor.shape, [abs(s) for s in tensor.stride()], dtype=tensor.dtype, device="meta")
    for dim, stride in enumerate(tensor.stride()):
        made = torch.ops.aten.slice.Tensor(made, dim, None, None, -1) if stride < 0 else made
    return made


_AS_NUMBERS = {
    "equal": "asks torch.equal about a tensor",
    "allclose": "asks torch.allclose about a tensor",
    _native.READ_AS_NUMBER: "gives an operator, in place of a number, a tensor",
    _native.READ_AS_INDEX: "takes as an index a tensor",
}


class _Recorder:
    """A mode that writes each operator into a graph."""

    def __init__(self, graph: Graph, table: Mapping[Any, Callable[..., Any]]) -> None:
        self.graph, self.table = graph, table
        self.constants = torch.nn.Module()
        self.paused = False
        self._nodes: dict[Any, Node] = {}  # by the tensor, and by its place for those that were wrapped anew
        self._kept: list[torch.Tensor] = []
        self._dependent: set[Node] = set()
        self._lent = 0
        self._refused: RuntimeError | None = None

    def __enter__(self) -> _Recorder:
        _seams.push_mode(self)
        _active.append(self)
        return self

    def __exit__(self, *error: Any) -> None:
        _active.remove(self)
        _seams.pop_mode()

    def argument(self, leaf: Any, node: Node) -> Any:
        """What the function is given for an argument that the graph has as ``node``."""
        if not isinstance(leaf, torch.Tensor):
            if type(leaf) is int:
                node.meta["val"] = leaf
            return leaf
        if leaf.layout is not torch.strided:
            raise NotImplementedError(f"make_fx: arguments are strided tensors, got one of {leaf.layout}")
        if _place(leaf) in self._nodes:  # the same tensor twice: two arguments of the graph
            leaf = leaf.detach().clone().requires_grad_(leaf.requires_grad)
        self._note(leaf, node)
        self._dependent.add(node)
        return leaf

    def _note(self, tensor, node):
        self._kept.append(tensor)
        if "val" not in node.meta:
            node.meta["val"] = _hollow(tensor)
        self._nodes[id(tensor)] = self._nodes[_place(tensor)] = node

    def _node(self, tensor):
        if tensor.layout is not torch.strided:
            return None
        return self._nodes.get(id(tensor)) or self._nodes.get(_place(tensor))

    def written(self, value: Any) -> Any:
        """A value as the graph has it: the node of a tensor, or a constant."""
        if not isinstance(value, torch.Tensor):
            return value
        node = self._node(value)
        if node is None:
            kind = "_param_constant" if isinstance(value, torch.nn.Parameter) else "_tensor_constant"
            name = next(n for n in map((kind + "{}").format, range(self._lent + 1)) if not hasattr(self.constants, n))
            self._lent += 1
            if isinstance(value, torch.nn.Parameter):
                self.constants.register_parameter(name, value)
            else:
                self.constants.register_buffer(name, value)
            node = self.graph.get_attr(name)
            if value.layout is torch.strided:
                self._note(value, node)
        return node

    def given_back(self, value: Any) -> Any:
        """A part of the result as the graph has it; an object of a data class is made anew."""
        if not dataclasses.is_dataclass(value) or isinstance(value, type):
            return self.written(value)
        fields = {f.name: pytree.tree_map(self.given_back, getattr(value, f.name)) for f in dataclasses.fields(value)}
        return self.graph.call_function(type(value), (), fields)

    def refuse(self, tensor: torch.Tensor, what: str) -> None:
        """Called before a tensor is read."""
        if (error := self._error(tensor, what)) is not None:
            raise error

    def _error(self, tensor, what):
        node = None if self.paused else self._node(tensor)
        if node not in self._dependent:
            return None
        return RuntimeError(
            f"make_fx: the function {what} that depends on its arguments ({node.name}), and goes on by its value: "
            "it's likely that this is caused by data-dependent control flow or similar, which a graph does not have"
        )

    def hear(self, tensor: torch.Tensor, what: str) -> None:
        """Told by the core that an operator takes a tensor for a number, or answers by one: refused when the next is called."""
        if what in _AS_NUMBERS and self._refused is None:
            self._refused = self._error(tensor, _AS_NUMBERS[what])

    def check(self) -> None:
        """RuntimeError where an operator took a tensor for a number."""
        if self._refused is not None:
            raise self._refused

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if self.paused:
            return func(*args, **kwargs)
        self.check()
        if func in self.table:
            with self:
                return self.table[func](*args, **kwargs)
        if func is torch.ops.aten.lift_fresh.default:
            return self._fresh(*args)
        values = pytree.tree_map(self.written, list(args)), pytree.tree_map(self.written, kwargs)
        node = self.graph.create_node("call_function", func, tuple(values[0]), values[1], func.overloadpacket.__name__)
        result = func(*args, **kwargs)
        random = func.overloadpacket.__name__.startswith(("rand", "bernoulli", "normal", "multinomial"))
        if random or any(each in self._dependent for each in node.all_input_nodes):
            self._dependent.add(node)
        self._results(result, node)
        return result

    def _fresh(self, tensor):
        """``torch.tensor``: each run has one of its own, which it may write to."""
        kept = self.written(tensor.detach().clone())
        self._note(tensor, self.graph.call_function(torch.ops.aten.lift_fresh_copy.default, (kept,)))
        return tensor

    def _results(self, result, node):
        if isinstance(result, torch.Tensor):
            if result.layout is not torch.strided:
                raise NotImplementedError(
                    f"make_fx: {node.target} gives a tensor of {result.layout}, which is not recorded"
                )
            self._note(result, node)
        elif isinstance(result, (tuple, list)):
            for i, each in enumerate(result):
                if isinstance(each, torch.Tensor):
                    part = self.graph.call_function(operator.getitem, (node, i))
                    if node in self._dependent:
                        self._dependent.add(part)
                    self._results(each, part)
