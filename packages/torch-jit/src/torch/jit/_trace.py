"""``torch.jit.trace``: a function is called once, and the operators that it calls become a program."""

from __future__ import annotations

import contextlib
import difflib
import functools
import os
import re
import sys
import warnings

import torch
from torch import _pytree as pytree
from torch._seams import later, need

from . import _ir as ir
from . import _state
from ._forms import in_pytorchs_form
from ._nodes import name_sums
from ._reads import TracerWarning, current, read_by_operators, warn, watching
from ._rewrites import remove_mutation
from ._structure import add_input, copied, integers_of, output_value
from ._threads import here
from ._unique import unique_name

__all__ = ["TracerWarning", "TracingCheckError", "is_tracing", "trace", "trace_module"]

__getattr__, _ = later(
    globals(), names={"TopLevelTracedModule": "_modules"}, base="torch.jit"
)  # where tools look for it
_HERE = os.path.dirname(__file__)
#: They only store numbers, and are compared as others.
_STORED = {
    torch.complex32, torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz, torch.float8_e8m0fnu,
}  # fmt: skip
#: attributes of modules that a trace has as well
_NUMBERS = {bool: ir.BoolType, int: ir.IntType, float: ir.FloatType, str: ir.StringType}


class TracingCheckError(Exception):
    """A trace that computes something else than what was traced."""


def is_tracing():
    """Whether this thread records a trace.

    >>> torch.jit.is_tracing()
    False
    """
    return current() is not None and ir._native._tracing()


is_tracing._dynamo_marked_constant = True  # a program that is captured is no trace


class Tracer(ir._native.Tracer):
    """A tracer that knows the lines of its calls, and what is read of tensors."""

    def __init__(self, graph):
        super().__init__(graph)
        self.locate_by_frames(_HERE)
        self.set_reads(read_by_operators)
        self._scopes = graph, []

    def push_scope(self, name):
        """Calls from now on are of a part of this name, within the parts that were pushed before."""
        graph, names = self._scopes
        names.append(name)
        graph.setScope("/".join(names))

    def pop_scope(self):
        """The part that was pushed last has ended."""
        graph, names = self._scopes
        names.pop()
        graph.setScope("/".join(names))

    def current_scope(self):
        """The names of the parts that run, joined by slashes."""
        return "/".join(self._scopes[1])


def _qualified(obj):
    from ._script.types import qualified

    return qualified(obj if hasattr(obj, "__qualname__") else type(obj))


# --- modules as objects of programs ---


def _exports(module):
    """Whether a module has methods for scripts (``torch.jit.export``)."""
    if "torch.jit._script.marks" not in sys.modules or type(module).__module__.startswith("torch.nn."):
        return False
    from ._script.module import is_exporting

    return is_exporting(module)


class Tree:
    """A module and those below it, as objects whose attributes are the module's own tensors."""

    def __init__(self, module):
        self.module, self.seen = module, {}
        self.calls = {}  # what modules were first called with: id -> arguments without their values
        self.object = self._build(module)

    def _build(self, module):
        if id(module) in self.seen:
            return self.seen[id(module)]
        if isinstance(own := module.__dict__.get("_c"), ir.Object):  # compiled already
            self.seen[id(module)] = own
            return own
        if module._backward_hooks:
            raise ValueError(f"torch.jit.trace: Modules that have backward hooks assigned can't be compiled: {module}")
        if _exports(module):
            return self._build_exporting(module)
        of = ir.ClassType(unique_name(_qualified(type(module))), True)
        values = {}
        for name, value in module._parameters.items():
            of.add_attribute(name, ir.NoneType.get() if value is None else ir.TensorType.get(), True, False)
            values[name] = value
        for name, value in module._buffers.items():
            of.add_attribute(name, ir.NoneType.get() if value is None else ir.TensorType.get(), False, True)
            values[name] = value
        of.add_attribute("training", ir.BoolType.get())
        values["training"] = module.training
        if not type(module).__module__.startswith("torch.nn."):
            for name, value in module.__dict__.items():
                if type(value) in _NUMBERS and not name.startswith("_") and name not in values:
                    of.add_attribute(name, _NUMBERS[type(value)].get())
                    values[name] = value
        for name, child in module._modules.items():
            if child is not None:  # what is not there is not looked for by a trace
                values[name] = self._build(child)
                of.add_attribute(name, values[name]._type())
        made = self.seen[id(module)] = ir.Object(of)
        for name, value in values.items():
            made.setattr(name, value)
        return made

    def _build_exporting(self, module):
        from ._script.module import exporting

        for each, made in exporting(module):
            self.seen[id(each)] = made
        return self.seen[id(module)]

    def tell(self, tracer):
        """Make a tracer know the tensors, and what is compiled, by their paths."""
        for path, module in self.module.named_modules():
            if path and isinstance(own := module.__dict__.get("_c"), ir.Object):
                tracer.set_object(own, path.split("."))
        for registry in ("_parameters", "_buffers"):
            for path, module in self.module.named_modules():
                for name, value in getattr(module, registry).items():
                    if value is not None:
                        tracer.set_attribute(value, [*filter(None, path.split(".")), name])
                    if value is not None and value.is_quantized:
                        tracer.set_value(value, integers_of(tracer.graph, tracer.value_of(value)))

    def wrap(self, cls, module=None, memo=None):
        """The tree as a compiled module."""
        from ._modules import TracedModule
        from ._script.module import RecursiveScriptModule

        module, memo = self.module if module is None else module, {} if memo is None else memo
        if id(module) in memo:
            return memo[id(module)]
        if isinstance(module, RecursiveScriptModule):
            return module
        children = {
            name: self.wrap(TracedModule, child, memo) for name, child in module._modules.items() if child is not None
        }
        made = memo[id(module)] = cls(self.seen[id(module)], children, None, type(module).__name__)
        made.__dict__["_non_persistent_buffers_set"] = set(module._non_persistent_buffers_set)
        if cls is TracedModule and id(module) in self.calls:
            made.__dict__["_traced_later"] = functools.partial(_traced_later, module, self.calls[id(module)], made._c)
        return made


# --- recording ---


def _looks(args):
    """Arguments without the values of their tensors."""
    recording = ir._native.Recording(None)
    try:
        return pytree.tree_map(
            lambda x: (_TENSOR, tuple(x.shape), x.dtype, x.device) if isinstance(x, torch.Tensor) else x, args
        )
    finally:
        recording.end()


_TENSOR = object()


def _example(look):
    """A tensor that looks so: floats within 0 and 1, and zeros otherwise, which are places of any table."""
    _, shape, dtype, device = look
    kind = torch.rand if dtype.is_floating_point else torch.zeros
    return kind(shape, dtype=dtype, device=device)


def _traced_later(module, looks, object):
    """forward of a module below a traced one, for its object."""
    buffers = [(b, b.detach().clone()) for b in module.buffers()]
    state = torch.get_rng_state()
    recording = ir._native.Recording(None)
    try:
        is_look = lambda x: type(x) is tuple and len(x) == 4 and x[0] is _TENSOR
        args = pytree.tree_map(lambda x: _example(x) if is_look(x) else x, looks, is_leaf=is_look)
        taken = [i for i, a in enumerate(args) if any(isinstance(x, torch.Tensor) for x in pytree.tree_leaves(a))]
        names = _argument_names(module.forward, len(args))

        def call(*given):
            values = dict(zip(taken, given))
            return module(*(values.get(i, a) for i, a in enumerate(args)))

        tree = Tree(module)
        tree.object = object
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            graph, _ = record(call, [args[i] for i in taken], tree, False, [names[i] for i in taken if i < len(names)])
    finally:
        recording.end()
        torch.set_rng_state(state)
        with torch.no_grad():
            for buffer, value in buffers:
                buffer.copy_(value)
    return ir.Function(f"{object._type().qualified_name()}.forward", graph)


class _Scopes:
    """Follows which module runs."""

    def __init__(self, tracer, module, calls):
        self.graph, self.stack, self.names, self.calls = tracer.graph, [], {}, calls
        for path, each in module.named_modules():
            self.names.setdefault(id(each), "__module" + ("." + path if path else ""))

    def followed(self):
        """A block in which calls of modules, in this thread, are of their scopes."""
        base = sys.modules["torch.nn"].Module
        call = base.__call__

        def called(module, *args, **kwargs):
            if id(module) in self.names and id(module) not in self.calls:
                self.calls[id(module)] = _looks(args)
            self.stack.append(self.names.get(id(module), self.stack[-1] if self.stack else ""))
            self.graph.setScope(self.stack[-1])
            try:
                return call(module, *args, **kwargs)
            finally:
                self.stack.pop()
                self.graph.setScope(self.stack[-1] if self.stack else "")

        return ir._native.Replaced([(base, "__call__", here(called, call))])


def record(call, inputs, tree=None, strict=True, names=None, follow=True, outplace=False):
    """The graph of one call of a function with these arguments; its calls are of modules' scopes where those are followed.

    With ``outplace`` tensors that nothing else refers to, also inputs, are not changed: what writes to them makes new ones.
    """
    graph = ir.Graph()
    tracer = Tracer(graph)
    if tree is not None:
        tracer.set_self(graph.addInput("self", tree.object._type()))
        tree.tell(tracer)
    inputs = copied(tuple(inputs))
    _check_inputs(inputs)
    for i, value in enumerate(inputs):
        add_input(tracer, value, names[i] if names and i < len(names) else f"argument_{i + 1}")
    scopes = _Scopes(tracer, tree.module, tree.calls) if tree is not None and follow else None
    with watching(tracer):
        recording = ir._native.Recording(tracer)
        try:
            with contextlib.nullcontext() if scopes is None else scopes.followed():
                out = call(*inputs)
        finally:
            recording.end()
    if out is None:
        raise RuntimeError(
            "torch.jit.trace: the traced function didn't return any values: what it does beside is not part of a program"
        )
    graph.setLocation(None)
    graph.setScope("")
    if tracer.forget_ints():
        warn("Converting a tensor to a Python index", _caller())
    graph.registerOutput(output_value(tracer, out, strict))
    if outplace:
        remove_mutation(graph, inputs=True)
    name_sums(graph)
    for node in graph.findAllNodes("prim::PythonOp"):  # of quantized attributes that nothing has asked for
        if node.hasAttribute("operator") and node.s("operator") == "int_repr" and not node.output().uses():
            node.destroy()
    ir._native.eliminate_dead_code(graph)
    graph.lint()
    return graph, out


def _check_inputs(inputs):
    """RuntimeError for numbers and texts among the inputs, with the type of all of them."""
    from ._script import types
    from ._script.errors import ScriptError

    odd = next((each for each in inputs if isinstance(each, (bool, int, float, complex, str))), None)
    if odd is None:
        return
    try:
        of = types.of_value(inputs)
    except ScriptError:
        of = type(odd).__name__
    raise RuntimeError(
        f"torch.jit.trace: Type '{of}' cannot be traced: the input {odd!r} is no tensor. Only tensors, and tuples, lists and "
        "dictionaries of them can be inputs; bind other arguments with a lambda or functools.partial"
    )


def _caller():
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        frame = frame.f_back
    return frame


def _argument_names(fn, count):
    import inspect

    try:
        parameters = list(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError):
        return []
    names = []
    for p in parameters[:count]:
        if p.kind not in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
            break
        names.append(p.name)
    return names


def _as_tuple(inputs, what):
    if isinstance(inputs, (torch.Tensor, dict)):
        return (inputs,)
    if isinstance(inputs, (tuple, list)):
        return tuple(inputs)
    raise TypeError(
        f"torch.jit.{what}: example_inputs must be a tensor or a tuple of arguments, got {type(inputs).__name__}"
    )


class _ByName:
    """A function that takes the arguments of these names by place."""

    def __init__(self, fn, names):
        import inspect

        self.fn, self.names = fn, names
        self.__name__, self.__qualname__, self.__module__ = (
            getattr(fn, each, type(fn).__name__) for each in ("__name__", "__qualname__", "__module__")
        )
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        self.__signature__ = inspect.Signature([inspect.Parameter(each, kind) for each in names])

    def __call__(self, *given):
        return self.fn(**dict(zip(self.names, given)))

    def by_place(self, kwargs):
        """The values of other arguments by name, in this order; RuntimeError for other names."""
        if kwargs.keys() != set(self.names):
            raise RuntimeError(
                f"torch.jit.trace: check_inputs must name what the example names, {', '.join(self.names)}; got {', '.join(kwargs)}"
            )
        return tuple(kwargs[each] for each in self.names)


def _bound(fn, target, kwargs):
    """A function of what is given by name, and the values in the order of its parameters."""
    import inspect

    names = list(inspect.signature(target).bind(**kwargs).arguments)
    names = [each for each in names if each in kwargs] + [each for each in kwargs if each not in names]
    made = _ByName(fn, names)
    return made, made.by_place(kwargs)


# --- the functions ---


def trace(
    func,
    example_inputs=None,
    optimize=None,
    check_trace=True,
    check_inputs=None,
    check_tolerance=1e-5,
    strict=True,
    _force_outplace=False,
    _module_class=None,
    _compilation_unit=None,
    example_kwarg_inputs=None,
    _store_inputs=True,
):
    """Call a function or module once, and return the operators that it called as a program.

    What depended on values of tensors is as it was for the example; a :class:`TracerWarning` names it. Sizes are followed.

    >>> half = torch.jit.trace(lambda x: torch.relu(x) / 2, torch.ones(2))
    >>> half(torch.tensor([-1.0, 1.0, 2.0]))
    tensor([0.0000, 0.5000, 1.0000])
    """
    from . import ScriptFunction, ScriptModule

    if not _state.enabled() or isinstance(func, (ScriptFunction, ScriptModule)):
        return func
    if not callable(func):
        raise TypeError(f"torch.jit.trace: expected a function or module, got {type(func).__name__}")
    nn = need("nn")
    if example_kwarg_inputs is not None:
        if example_inputs is not None:
            raise RuntimeError("torch.jit.trace: give example_inputs or example_kwarg_inputs, not both")
        if isinstance(func, nn.Module):
            inputs = {"forward": example_kwarg_inputs}
            more = [{"forward": each} for each in check_inputs] if check_inputs else None
            return trace_module(
                func,
                inputs,
                None,
                check_trace,
                more,
                check_tolerance,
                strict,
                _force_outplace,
                example_inputs_is_kwarg=True,
            )
        func, example_inputs = _bound(func, func, example_kwarg_inputs)
        check_inputs = [func.by_place(each) for each in check_inputs or ()]
    if example_inputs is None:
        raise RuntimeError("torch.jit.trace: example_inputs are missing")
    if isinstance(func, nn.Module):
        inputs = {"forward": example_inputs}
        more = [{"forward": each} for each in check_inputs] if check_inputs else None
        return trace_module(func, inputs, None, check_trace, more, check_tolerance, strict, _force_outplace)
    owner = getattr(func, "__self__", None)
    if isinstance(owner, nn.Module):
        if func.__name__ == "forward":
            return trace(
                owner, example_inputs, None, check_trace, check_inputs, check_tolerance, strict, _force_outplace
            )
        raise AttributeError(
            f"torch.jit.trace doesn't support compiling individual module's functions, as {func.__name__}: a method of a module "
            "is traced by torch.jit.trace_module(module, {name: inputs})"
        )
    inputs = _as_tuple(example_inputs, "trace")
    recorded = lambda each: record(
        func, each, None, strict, _argument_names(func, len(each)), outplace=_force_outplace
    )[0]
    graph = recorded(inputs)
    made = _function(ir.Function(unique_name(_qualified(func)), graph), func)
    if check_trace:
        _warn_of_chance(graph)
        again = graph, recorded
        for each in [inputs, *(_as_tuple(i, "trace") for i in check_inputs or ())]:
            _check(func, made, each, check_tolerance, again)
    return made


def _function(function, python):
    import inspect

    from ._script.compiler import Parameter, Program
    from ._script.function import ScriptFunction

    inputs = list(function.graph.inputs())
    found = [Parameter(v.debugName(), v.type(), inspect.Parameter.empty, False) for v in inputs]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    signature = inspect.Signature([inspect.Parameter(each.name.replace(".", "_"), kind) for each in found])
    out = next(iter(function.graph.outputs())).type()
    return ScriptFunction(Program(function.name, function, found, out, signature), python)


def trace_module(
    mod,
    inputs,
    optimize=None,
    check_trace=True,
    check_inputs=None,
    check_tolerance=1e-5,
    strict=True,
    _force_outplace=False,
    _module_class=None,
    _compilation_unit=None,
    example_inputs_is_kwarg=False,
    _store_inputs=True,
):
    """Trace methods of a module, each with example inputs: ``{"forward": x, "encode": (x, y)}``.

    The program has the module's own parameters and buffers.

    >>> net = torch.jit.trace_module(torch.nn.Linear(2, 1), {"forward": torch.ones(1, 2)})
    >>> print(net.graph.findNode("aten::linear").kind())
    aten::linear
    """
    nn = need("nn")
    if not isinstance(mod, nn.Module):
        raise AttributeError("torch.jit.trace_module: expected a torch.nn.Module as the first argument")
    if not isinstance(inputs, dict):
        raise AttributeError("torch.jit.trace_module: inputs must be a dictionary of methods and their arguments")
    from ._modules import TopLevelTracedModule

    tree = Tree(mod)
    methods = {}
    for name, values in inputs.items():
        method = mod if name == "forward" else getattr(mod, name)
        target = mod.forward if name == "forward" else method
        if example_inputs_is_kwarg:
            method, args = _bound(method, target, values)
            target = method
        else:
            args = _as_tuple(values, "trace_module")
        graph, _ = record(method, args, tree, strict, _argument_names(target, len(args)), outplace=_force_outplace)
        of = tree.object._type()
        of.add_method(ir.Function(f"{of.qualified_name()}.{name}", graph))
        methods[name] = method, args
    made = tree.wrap(TopLevelTracedModule)
    if check_trace:
        for name, (method, args) in methods.items():
            traced = made if name == "forward" else getattr(made, name)
            graph = tree.object._type().find_method(name).graph
            _warn_of_chance(graph)
            again = graph, functools.partial(_recorded_again, mod, method, strict, _force_outplace)
            by_name = isinstance(method, _ByName)
            others = [more[name] for more in check_inputs or () if name in more]
            others = [method.by_place(i) if by_name else _as_tuple(i, "trace_module") for i in others]
            for each in [args, *others]:
                _check(method, traced, each, check_tolerance, again)
    return made


def _recorded_again(mod, method, strict, outplace, args):
    return record(method, args, Tree(mod), strict, outplace=outplace)[0]


def _flat(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = value.values()
    return [t for each in value for t in _flat(each)] if isinstance(value, (tuple, list, type({}.values()))) else []


_UNIQUE = re.compile(r"___torch_mangle_\d+\.")  # in names of functions that are compiled at each call


def _shape_of(graph):
    """What a graph consists of: kinds of nodes, which values they take, and constants."""
    numbers, lines, tensors = {}, [], []

    def visit(block):
        for value in block.inputs():
            numbers[value.unique()] = len(numbers)
        for node in block.nodes():
            held = node.output().toIValue() if node.kind() == "prim::Constant" else None
            if isinstance(held, torch.Tensor):
                tensors.append(held)
                held = "a tensor"
            elif isinstance(held, ir.Function):
                held = held.name
            lines.append((node.kind(), *(numbers[v.unique()] for v in node.inputs()), _UNIQUE.sub("", str(held))))
            for inner in node.blocks():
                visit(inner)
            for value in node.outputs():
                numbers[value.unique()] = len(numbers)
        lines.append([numbers[v.unique()] for v in block.outputs()])

    visit(graph.block())
    return lines, tensors


def _compare_graphs(graph, again):
    """TracingCheckError where a second trace is another program."""
    (a, held_a), (b, held_b) = _shape_of(graph), _shape_of(again)
    if a != b:
        first = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
        there, here = (str(each[first]) if first < len(each) else "nothing" for each in (a, b))
        texts = [re.sub(r" # [^\n]*", "", str(each)).splitlines() for each in (graph, again)]
        raise TracingCheckError(
            "Graphs differed across invocations! The function called other operators, or had other constants, the second "
            "time.\n\tGraph diff:\n\t\t"
            + "\n\t\t".join(difflib.ndiff(*texts))
            + f"\n\tFirst diverging operator:\n\tNode diff:\n\t\t- {there}\n\t\t+ {here}"
        )
    for x, y in zip(held_a, held_b):
        if x.shape != y.shape or x.dtype != y.dtype or not torch.equal(x.cpu(), y.cpu()):
            raise TracingCheckError(
                "Tensor-valued Constant nodes differed in value across invocations: the function made another constant "
                "the second time"
            )


def _warn_of_chance(graph):
    """A warning where the program draws numbers."""
    found = []

    def visit(block):
        for node in block.nodes():
            if node.isNondeterministic() and (
                "dropout" not in node.kind() or node.inputsAt(2).toIValue() or node.kind() == "aten::native_dropout"
            ):
                found.append(node)
            for inner in node.blocks():
                visit(inner)

    visit(graph.block())
    if found:
        kinds = "".join(f"\n\t{kind}" for kind in dict.fromkeys(node.kind() for node in found))
        warnings.warn(
            "Trace had nondeterministic nodes, whose numbers are others at each call. Did you forget call .eval() on your "
            f"model? check_trace=False asks for no comparison. Nodes:{kinds}",
            TracerWarning,
            stacklevel=4,
        )


def _check(python, traced, inputs, tolerance, again=None):
    """Compare a trace with what it was made from: TracingCheckError when it fails or a second trace is another, a warning
    when the results differ."""
    if again is not None:
        graph, record_again = again
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                second = record_again(inputs)
            except Exception as error:
                raise TracingCheckError(f"the function cannot be traced a second time: {error}") from error
        _compare_graphs(graph, second)
    state = torch.get_rng_state()
    frame = _caller()
    with torch.no_grad():
        expected = _flat(python(*copied(inputs)))
        torch.set_rng_state(state)
        try:
            found = _flat(traced(*copied(inputs)))
        except RuntimeError as error:
            raise TracingCheckError(f"the trace cannot be run with these inputs, the function can: {error}") from error
        finally:
            torch.set_rng_state(state)
    for i, (a, b) in enumerate(zip(expected, found)):
        a, b = a.detach(), b.detach()
        if a.dtype in _STORED:
            a, b = (t.to(torch.complex64 if t.dtype.is_complex else torch.float32) for t in (a, b))
        if a.shape != b.shape or not torch.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True):
            warn(
                f"Output nr {i + 1} of the traced function does not match the corresponding output of the Python function, "
                "which",
                frame,
            )
            return


_SIZES = {f"aten::conv{transposed}{n}d": n for transposed in ("", "_transpose") for n in (1, 2, 3)}


def _name_convolutions(graph):
    """Convolutions under the one name by which what counts operations looks for them, with that operator's inputs."""
    for node in list(graph.nodes()):
        kind, inputs = node.kind(), list(node.inputs())
        if kind not in _SIZES:
            continue
        input, weight, bias, stride, padding, *rest = inputs
        graph.setInsertPoint(node)
        if padding.type().kind() == "StringType":
            made = graph.create("aten::_convolution_mode", inputs)
        else:
            if "transpose" in kind:
                outer, groups, dilation = rest
            else:
                dilation, groups = rest
                outer = graph.insertConstant([0] * _SIZES[kind])
            transposed, *flags = (
                graph.insertConstant(each) for each in ("transpose" in kind, False, False, True, True)
            )
            given = [input, weight, bias, stride, padding, dilation, transposed, outer, groups, *flags]
            made = graph.create("aten::_convolution", given)
        made.insertBefore(node)
        made.setScope(node.scopeName())
        made.output().setType(node.output().type())
        node.output().replaceAllUsesWith(made.output())
        node.destroy()


def _get_trace_graph(
    f, args=(), kwargs=None, strict=True, _force_outplace=False, return_inputs=False, _return_inputs_states=False
):
    """The graph of a call, and what the function gave; parameters of a module are inputs of it after the arguments."""
    nn = need("nn")
    args = _as_tuple(args, "_get_trace_graph")
    tree = Tree(f) if isinstance(f, nn.Module) else None
    call = f if not kwargs else lambda *values: f(*values, **kwargs)
    # A graph to look at may have any output, and its scopes are those that the caller's hooks push.
    graph, out = record(call, args, tree, strict=False, follow=False, outplace=_force_outplace)
    if tree is not None:
        from ._passes import lower_graph

        given = len(list(graph.inputs())) - 1  # the first one is the module
        graph, weights = lower_graph(graph, tree.object)
        for value, weight in zip(list(graph.inputs())[given:], weights):
            if isinstance(weight, torch.Tensor):
                value.setType(ir.TensorType.create_from_tensor(weight))
        args = (*args, *weights)
    _name_convolutions(graph)
    in_pytorchs_form(graph)
    return (graph, out, args) if return_inputs else (graph, out)
