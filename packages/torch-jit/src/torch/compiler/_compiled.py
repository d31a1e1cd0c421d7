"""Functions that ``torch.compile`` gives: the programs that were captured, each with the guards it stands behind."""

from __future__ import annotations

import functools
import types
import weakref

import torch
from torch._dynamo import config, exc, utils
from torch.jit import _ir as ir

from . import _backends, _cuts, _dynamic, _found, _stances, _tables, _transforms
from ._guards import same_value, state_of_thread, writes_to
from ._observer import Observer, Reason
from ._outputs import Outputs
from ._sizes import Size
from ._tables import tensors_in

#: everything that is compiled, for reset()
_all = weakref.WeakSet()


class Compiled:
    """A function, and the door that its calls go through: to a program that was captured, or here for another one."""

    def __init__(self, function, backend, fullgraph, dynamic, options, limit=None):
        self.function, self.backend, self.fullgraph, self.dynamic, self.options = (
            function,
            backend,
            fullgraph,
            dynamic,
            options,
        )
        self.limit = limit  # of programs; None stands for the setting
        self.programs, self.reason, self.captures, self.raised = [], None, 0, 0
        self.parts = self.callees = None  # of a function that is captured in parts
        self.asks = False  # it is another function when it is not compiled, however fast that is
        self.foresees = backend is not _backends.native and not fullgraph  # looks for breaks before the first call
        self.in_vain = 0  # how often it was watched for sizes that may change, and they may not
        self.forks = 0  # how often that was because two calls go different ways
        self.called = False  # as it was written, while a stance says so
        self.settled = False  # whether a call has set up what later ones find at hand
        self.left_alone = set()  # types of arguments with which the function runs as it was written
        self.stand_in = self.codes = (
            None  # what is called in the function's place, if that is a function, and its codes
        )
        self.door = ir._native.Door(function, self._capture, self._slower)
        self._set()
        _all.add(self)

    def _set(self):
        plain = self.reason is not None and self.parts is None
        self.door.set(plain, self._chooses())
        if self.stand_in is not None and (function := self.stand_in()) is not None:
            function.__code__ = self.codes[plain]

    def _chooses(self):
        """Whether calls are timed, and the function runs as it was written where that is faster."""
        return self.backend is _backends.native and config.choose_faster and not self.asks

    def reset(self):
        """Forget the programs."""
        self.programs, self.reason, self.captures, self.raised = [], None, 0, 0
        self.parts = self.callees = None
        self.left_alone.clear()
        self.door.reset()
        self._set()

    def _leave(self, reason):
        """The function runs as it was written from now on."""
        self.reason, self.programs, self.parts = reason, [], None
        self.door.reset()
        self._set()

    def _slower(self):
        self._leave(Reason("as a program it is slower than as Python", ()))

    def _cut(self, reason):
        """The function runs in parts from now on, around what cannot be captured, where it can be cut."""
        if self.callees is None:
            self.callees = _cuts.Callees(self._part)
        found = _cuts.split(self.function, reason, self._part, self.callees)
        self._leave(reason)
        if found is not None:
            self.parts = _cuts.Parts(found[0], self.function, found[1], self.callees, self._chooses())
            self._set()

    def _part(self, function):
        made = Compiled(function, self.backend, False, self.dynamic, self.options, self.limit)
        made.callees = self.callees
        return made

    def _in_parts(self, args, kwargs):
        result = self.parts(args, kwargs)
        if self.parts is not None and self.parts.slower:
            self._leave(self.reason)
        return result

    def _capture(self, args, kwargs):
        if self.parts is not None:
            return self._in_parts(args, kwargs)
        kinds = {type(a) for a in (*args, *kwargs.values())}
        if kinds & self.left_alone or _transforms.stand_for_others(tensors_in((args, kwargs))):
            return self.function(*args, **kwargs)
        if _stances.current.fails and self.captures:
            raise RuntimeError("Detected recompile when torch.compile stance is 'fail_on_recompile'")
        if _stances.current.keeps or (_stances.current.waits and not self.called):
            self.called = _stances.current.waits
            return self.function(*args, **kwargs)
        self._drop_dead()
        if len(self.programs) >= (_limit() if self.limit is None else self.limit):
            return self._too_many(args, kwargs)
        if self.programs:
            if config.error_on_recompile:
                raise exc.RecompileError(
                    f"Recompiling function {_name(self.function)}: {self.programs[0].guards.why(args, kwargs)} "
                    "(torch._dynamo.config.error_on_recompile)"
                )
            utils.note_recompile(self.function, self.programs, args, kwargs)
        if self.foresees and not self.captures and (at := _cuts.foreseen(self.function)):
            self.foresees = False
            reason = Reason(at[0], at[1:], True)
            self._cut(reason)
            if self.parts is not None:
                utils.note_break(self.function, reason)
                return self._in_parts(args, kwargs)
            self.reset()
        self.captures += 1
        observer = Observer(self.fullgraph, self.in_vain < 2 and self.dynamic is not False)
        try:
            result = observer.run(self.function, args, kwargs)
        except Exception:
            self.raised += 1
            if self.raised >= 4 and not self.programs and not self.fullgraph:
                self._leave(Reason("it raised errors while it was captured", ()))
            raise
        self.asks = self.asks or observer.asks
        if (found := self._program(observer, result, args, kwargs)) is not None:
            utils.note_capture(self.function)
            self._add(*found)
            return result
        if observer.settles and not self.settled:
            self.settled = True
            return result
        utils.note_break(self.function, observer.reason)
        alone = observer.strange in kinds
        if self.fullgraph and not (
            alone and hasattr(observer.strange, "__tensor_flatten__")
        ):  # those are run as written
            raise exc.Unsupported(f"{_name(self.function)}: {observer.reason}; {observer.reason.way_out()}")
        if alone:
            self.left_alone.add(observer.strange)
        else:
            self._cut(observer.reason)
        return result

    def _program(self, observer, result, args, kwargs):
        """An observation that makes a program, with its steps: that of this run, or of others that hold for more calls. None,
        with the reason, where there is none.
        """
        steps = _finish(observer, result, self) if observer.reason is None else None
        if observer.reason is not None:
            return None
        again = _dynamic.Again(self, args, kwargs, observer, _finish)
        found = again.found(self.programs)
        if found is None and observer.first_read:
            observer.reason = again.why or Reason("a number that is read of a tensor decides", observer.first_read)
            return None
        if found is None:
            observer.unasked = False
            return observer, steps
        found[0].unasked = observer.unasked
        return *found, (observer, steps) if observer.unasked else None

    def _add(self, observer, steps, other=None):
        """Keep a program; the ``other`` one where the backend looks at sizes that may change, or does not take them."""
        *before, build, outputs, held, device, sets_grad, pure = steps
        try:
            made = build()
        except exc.BackendCompilerFailed as error:
            if other is not None:
                self.in_vain = 2  # each set of sizes has a program of its own
                self._add(*other)
                return
            if self.fullgraph or not config.suppress_errors:
                raise
            self._leave(Reason(str(error), ()))
            return
        observer.guards.release()
        steps = (*before, made, outputs, held, device, sets_grad, pure)
        self.programs.insert(0, Captured(observer.guards, observer.graph, observer.layouts, observer.plain))
        self._set()
        self.door.add(steps)

    def _drop_dead(self):
        """Forget the programs of objects that are gone."""
        for i in reversed(range(len(self.programs))):
            if self.programs[i].guards.is_dead():
                del self.programs[i]
                self.door.drop(i)

    def _too_many(self, args, kwargs):
        if config.fail_on_recompile_limit_hit or self.fullgraph:
            raise exc.FailOnRecompileLimitHit(
                f"{_name(self.function)} was captured {len(self.programs)} times (torch._dynamo.config.recompile_limit)"
            )
        utils.note_limit(self.function, len(self.programs))
        self._leave(Reason("it was captured too often", ()))
        return self.function(*args, **kwargs)


class Captured:
    """One program: its guards and its graph, for who asks."""

    def __init__(self, guards, graph, layouts, plain):
        self.guards, self.graph, self.layouts, self.plain = guards, graph, layouts, plain


def _limit():
    """The limit under either of its names, whichever a program has set."""
    return config.cache_size_limit if config.recompile_limit == 8 else config.recompile_limit


def _name(function):
    return getattr(function, "__qualname__", type(function).__qualname__)


def _finish(observer, result, compiled):
    """The program of an observation that has nothing against it."""
    outputs = Outputs(observer, result)
    if (observer.grad != observer.entry_grad and observer.sets_grad) or torch.is_grad_enabled() != observer.entry_grad:
        if torch.is_grad_enabled() != observer.entry_grad:
            observer.stop("the mode of gradients is another one afterwards")
    if observer.state != state_of_thread():
        observer.stop("modes of operators are others afterwards")
    if observer.tracer.has_failed:
        observer.stop("an operator raised an error, which the program caught")
    graph = observer.graph
    _join_saved(graph)
    pure = _scan(observer, graph)
    if observer.catches:
        if not pure or (observer.writes and _writes_to_inputs(graph)):
            observer.stop("errors are caught around operators that change tensors or draw random numbers")
        observer.writes = False  # to what others see: the function runs again where an operator raises
    if observer.reason is not None:
        return None
    changes = _state_checks(graph) and observer.writes
    graph.setLocation(None)
    values = [t.value() if isinstance(t, Size) else observer.tracer.value_of(t) for t in outputs.tensors]
    graph.registerOutput(_tuple(graph, values))
    if any(node.kind() == "prim::If" for node in graph.nodes()):
        _check_blocks(observer, graph)
        if observer.reason is not None:
            return None
    graph.lint()
    uncounted = observer.uncounted()
    if observer.reason is not None:
        return None
    guards = observer.guards
    guards.inputs, guards.apart = observer.inputs, observer.told_apart()
    run = functools.partial(compiled.backend, observer, graph, outputs.tensors, compiled)  # built where it is kept
    if uncounted:
        run = functools.partial(_counting, run, uncounted)
    device = torch.get_default_device() if any(map(_makes, graph.nodes())) else None
    return (
        guards.steps,
        observer.inputs,
        guards.apart,
        guards.count,
        same_value,
        run,
        outputs.build,
        outputs.held,
        device,
        observer.sets_grad,
        pure and not changes,
    )


def _counting(build, counts):
    """A program that writes through ``.data``: of the writes to each of these inputs, by number, so many count."""
    made = build()

    def run(*inputs):
        counted = [(inputs[i], writes_to(inputs[i]), count) for i, count in counts.items()]
        try:
            return made(*inputs)
        finally:
            for each, before, count in counted:
                if before is not None:
                    ir._native._set_version(each, before + count)

    return run


def _writes_to_inputs(graph):
    """Whether a graph changes what was there before, and not only what it makes."""
    aliases = graph.alias_db()
    return any(aliases.has_writers(value) for value in graph.inputs())


def _join_saved(graph):
    """A tensor that a derivative within saved is a detached one that is given its history back: where it has one, it is the
    tensor itself, whose gradient an outer derivative asks for.
    """
    for node in list(graph.nodes()):
        if node.kind() == "aten::detach" and node.output().type().requires_grad():
            node.output().replaceAllUsesWith(node.inputsAt(0))
            node.destroy()


def _state_checks(graph):
    """What torch asked of values before it went on (classes within bounds, chances between 0 and 1) is asked at each call, and
    raises where it no longer holds; the function as it was written then says what is wrong. Whether what the graph writes to
    may be more than its own: that is only looked for where something is asked.
    """
    nodes = list(graph.nodes())
    if not any(node.kind() == "aten::_holds" for node in nodes):
        return True
    changed, writes = False, _writes_to_inputs(graph)
    for node in nodes:
        changed = changed or _changes(node, writes)
        if node.kind() == "aten::_holds" and not node.output().uses():
            check = graph.create("prim::If", [node.output()], 0)
            check.insertAfter(node)
            check.addBlock()
            with graph.insert_point_guard(check.addBlock()):
                text = graph.insertConstant(_FAILED if changed else ir._native.FAILED_BEFORE_CHANGES)
                graph.insertNode(graph.create("prim::RaiseException", [text], 0))
    return writes


_FAILED = "a check of values does not hold"


def _changes(node, writes):
    """Whether a node may change what stays after a program: where that ``writes`` to its inputs, any that writes."""
    if node.kind() in ("prim::PythonOp", "prim::If", "prim::Loop") or node.isNondeterministic():
        return True
    return writes and node.hasEffects()


def _tuple(graph, values):
    node = graph.create("prim::TupleConstruct", values, 1)
    node.output().setType(ir.TupleType([v.type() for v in values]))
    graph.insertNode(node)
    return node.output()


def _check_blocks(observer, graph):
    """What a block makes is its own; only its results go on."""
    try:
        graph.lint()
    except RuntimeError:
        observer.stop(
            "a tensor that was made in a branch of torch.cond or a turn of torch.while_loop is used outside of it"
        )


def _scan(observer, graph):
    """Look through a graph for what must not be in one; whether running it again has no visible effect, if what it writes to
    (``observer.writes``) is its own."""
    pure = True
    for node in graph.nodes():
        kind = node.kind()
        if kind == "prim::Constant":
            if node.hasAttribute("value") and node.kindOf("value") == "t":
                if node.output().unique() not in observer.constant_values:
                    observer.stop("a tensor is used that was read in a way that is not followed")
        elif kind.startswith("aten::"):
            name = kind[6:]
            finds = _found.finds(node, observer.dtypes)
            if finds and observer.found is None:
                observer.stop(
                    "a mask picks a number of elements" if name == "index" else f"{name} goes by the values of a tensor"
                )
            elif (name == "tensor_split" and node.inputsAt(1).type().kind() == "TensorType") or (
                name in _tables.VALUES and not finds
            ):
                observer.stop(f"{name} goes by the values of a tensor")
            if node.isNondeterministic():
                pure = False
            elif node.hasEffects() and kind != "aten::set_grad_enabled":
                observer.writes = True
        elif kind == "prim::NumToTensor" and observer.takes_sizes:
            pass
        elif kind == "prim::PythonOp":
            pure = False
        elif kind in ("prim::If", "prim::Loop"):
            inside = [_scan(observer, block) for block in node.blocks()]
            pure = pure and all(inside)
        elif not kind.startswith("prim::"):  # of torch.library: its functions are Python's
            pure = False
        elif kind == "prim::ListUnpack" and not _found.takes_apart(node):
            if observer.found is not None and observer.found.follows(node.inputsAt(0)):
                observer.stop("a tensor is taken apart whose size values decide")
        elif kind not in ("prim::ListConstruct", "prim::ListUnpack", "prim::TupleConstruct", *_OF_NUMBERS):
            observer.stop(f"{kind} is called")
    return pure


#: what programs do with numbers that they read of tensors, beside operators
_OF_NUMBERS = (*_tables.EXACT, "prim::RaiseException")


def _makes(node):
    """Whether a node makes a tensor of none: on the default device, if no other is given."""
    return node.kind().startswith("aten::") and not any(
        v.type().kind() in ("TensorType", "ListType") for v in node.inputs()
    )


def reset():
    """Forget all programs."""
    for each in list(_all):
        each.reset()


def function_of(model, compiled):
    """The function that stands for ``model``: it looks like it, and calls go through the captured programs."""
    if type(model) is types.FunctionType:
        call = _stand_in(model, compiled)
    else:
        run = compiled.door.run

        def call(*args, **kwargs):
            return run(args, kwargs)

    functools.update_wrapper(call, model)
    call._torchdynamo_orig_callable = model
    call._torchdynamo_inline = model
    call._compiled = compiled
    return call


def _through_door(*args, _torch_door, **kwargs):
    return _torch_door(args, kwargs)


@functools.cache
def _through(free):
    """The code of ``_through_door`` with so many free variables, which it takes from its closure as any function does: a frame
    without them cannot be asked for its variables."""
    plain = _through_door.__code__
    if not free:
        return plain
    names = ", ".join(f"_free_{i}" for i in range(free))
    inner = f" def {plain.co_name}(*args, _torch_door, **kwargs):\n  return _torch_door(args, kwargs)\n  {names}\n"
    lines = "\n" * (plain.co_firstlineno - 2)
    space = {}
    exec(compile(f"{lines}def factory({names}):\n{inner} return {plain.co_name}", __file__, "exec"), space)
    return space["factory"](*range(free)).__code__


def _stand_in(function, compiled):
    """A twin of the function with a code that leads to the door, and back to its own where the function is left as it was
    written: it then takes the time that the function takes.  ``a + b`` of 8: 374 -> 207 ns, as eager (AMD EPYC, Zen 3)."""
    own = function.__code__
    through = _through(len(own.co_freevars)).replace(co_freevars=own.co_freevars)
    call = types.FunctionType(
        through, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    # Both codes find what they need, so that a change of the code is all: another thread may be about to call.
    call.__kwdefaults__ = {**(function.__kwdefaults__ or {}), "_torch_door": compiled.door.run}
    compiled.stand_in, compiled.codes = weakref.ref(call), (through, own)
    return call
