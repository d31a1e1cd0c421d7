"""A function that cannot be captured whole, as parts: what stands before the statement that no graph can say, that statement
as it is written, and what follows it.

The parts are functions of the names that they read, made of the statements of the source, and each is compiled by itself: what
follows may be cut again. Only bodies of which it is plain which names have values where they are cut are cut at all; the
others run as they were written.
"""

from __future__ import annotations

import ast
import builtins
import copy
import types
from time import perf_counter

from . import _instrument
from ._guards import of_class
from ._rewrite import Opaque, codes_in, definition
from ._tables import is_torchs, module_class

__all__ = ["Parts", "split"]

#: what a body that is cut may not have: names that are more than names, and functions that keep the variables around them
_TOO_MUCH = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.GeneratorExp, ast.Global, ast.Nonlocal, ast.Delete,
    ast.Yield, ast.YieldFrom, ast.Await, ast.Import, ast.ImportFrom, ast.NamedExpr, ast.Try, ast.Match,
    getattr(ast, "TryStar", ast.Try),
)  # fmt: skip
#: calls of the parts before they are timed, and calls that are
_WARM, _TIMED = 12, 8


class Parts:
    """The parts of a function, called in its place; after some calls, whichever is faster."""

    def __init__(self, whole, written, compiled, callees, chooses):
        self.whole, self.written, self.own, self.callees = whole, written, compiled, callees
        self.turn, self.best = 0 if chooses else _WARM + _TIMED, [float("inf")] * 2

    def __call__(self, args, kwargs):
        self.turn += 1
        if self.turn <= _WARM or self.turn > _WARM + _TIMED:
            return self.whole(*args, **kwargs)
        which = self.turn & 1
        start = perf_counter()
        result = (self.written if which else self.whole)(*args, **kwargs)
        self.best[which] = min(self.best[which], perf_counter() - start)
        return result

    @property
    def compiled(self):
        """What has been compiled of it: the parts, and what the statement between them calls."""
        return [*self.own, *self.callees.compiled()]

    @property
    def slower(self):
        """Whether the function as it was written has been faster, or nothing of it was captured."""
        if self.turn >= _WARM and not any(each.programs or each.parts for each in self.compiled):
            return True
        return self.turn == _WARM + _TIMED and self.best[0] > self.best[1]


class Callees:
    """What statements call that run as they are written: functions of the program and its modules, each compiled by itself."""

    def __init__(self, make):
        self.make, self.found = make, {}

    def __call__(self, callee):
        """What to call in place of ``callee``."""
        if type(callee) is types.MethodType:
            key = callee.__func__, id(callee.__self__)
        else:
            key = callee if type(callee) is types.FunctionType else id(callee)
        known = self.found.get(key)
        if known is None:
            run = None
            if len(self.found) < _MOST_CALLEES and _is_followed(callee):
                made = self.make(callee)
                run = made.door.run
            elif len(self.found) >= _MOST_CALLEES or type(callee) not in _KEPT:
                return callee
            # The callee is kept, so that nothing else gets its id.
            known = self.found[key] = (callee, callee, None) if run is None else (
                callee, lambda *args, **kwargs: run(args, kwargs), made
            )  # fmt: skip
        return known[1]

    def compiled(self):
        """What has been compiled."""
        return [made for _, _, made in self.found.values() if made is not None]


_MOST_CALLEES = 256
_KEPT = (types.FunctionType,)


def _is_followed(callee):
    """Whether it is worth to compile what is called: a function of the program, or a module that is more than one of torch's layers."""
    if type(callee) is types.MethodType:
        callee = callee.__func__
    if type(callee) is types.FunctionType:
        return not is_torchs(callee.__module__) and not callee.__dict__ and "<" not in callee.__code__.co_filename
    module = module_class()
    if module is None or not isinstance(callee, module):
        return False
    return bool(callee._modules) or not is_torchs(type(callee).__module__)


class _Calls(ast.NodeTransformer):
    """Lets a statement ask for what it calls."""

    def visit_Call(self, node):
        node = self.generic_visit(node)
        asked = ast.Call(ast.Name(_CALLEE, ast.Load()), [node.func], [])
        node.func = ast.fix_missing_locations(ast.copy_location(asked, node.func))
        return node


_CALLEE = "__torch_callee"


def split(function, reason, make, callees):
    """The parts of a function around where its capture ended, or None. ``make`` compiles a function of Python, ``callees`` what
    the statement there calls.
    """
    python, through = _target(function)
    if python is None:
        return None
    try:
        node, first = _source(python)
    except (Opaque, SyntaxError, ValueError, RecursionError):
        return None
    code = python.__code__
    mine = code.co_filename, code.co_name  # which others may be called, too
    lines = [line - first for file, line, name in reason.frames if (file, name) == mine]
    lines = [line for line in lines if node.body[0].lineno <= line <= node.body[-1].end_lineno]
    at = next((i for i, each in enumerate(node.body) if lines and each.lineno <= lines[0] <= each.end_lineno), None)
    return None if at is None else _split(python, node, first, at, lines[0], through, make, callees)


def _split(python, node, first, at, line, through, make, callees):
    code = python.__code__
    if "__class__" in code.co_freevars or code.co_flags & _GENERATORS:
        return None
    if any(_instrument.looks_at_frames(each) for each in codes_in(code)):
        return None
    if any(isinstance(each, _TOO_MUCH) for statement in node.body for each in ast.walk(statement)):
        return None
    return _cut(python, node, first, at, line, through, make, callees)


def foreseen(function, depth=0):
    """Where a capture of a function will end for certain, told from its source: at a call of ``torch._dynamo.graph_break``, of
    ``print``, of what is not to be compiled or of what ends so itself, or at an ``if`` that asks a tensor. What it does there,
    with the file, the line and the name; None where nothing is certain.

    A capture that ends has run the function already: a backend of one's own would see its first graph at the second call.
    """
    python, _ = _target(function)
    if python is None or depth > _DEEPEST:
        return None
    try:
        node, first = _source(python)
    except (Opaque, SyntaxError, ValueError, RecursionError):
        return None
    owner = function.__self__ if type(function) is types.MethodType else function if python is not function else None
    known = _Known(python, owner)
    for statement in node.body:
        for each in ast.walk(statement):
            if isinstance(each, ast.Call) and _ends_graphs(known.of(each.func), depth):
                return f"{ast.unparse(each.func)}() is called", _place(python, each.lineno + first)
        if isinstance(statement, ast.If) and any(map(_asks_tensor, ast.walk(statement.test))):
            return "the value of a tensor is asked for", _place(python, statement.test.lineno + first)
    return None


def _place(python, line):
    return python.__code__.co_filename, line, python.__code__.co_name


#: calls within calls that are looked into
_DEEPEST = 4


def _ends_graphs(called, depth):
    from torch._dynamo import graph_break

    if called is None or called is print or called is graph_break:
        return called is not None
    if "_torchdynamo_disable" in getattr(called, "__dict__", ()):
        return True
    return (type(called) is types.MethodType or _is_followed(called)) and foreseen(called, depth + 1) is not None


class _Known:
    """What names of a function stand for, as far as that is certain without running it."""

    def __init__(self, python, owner):
        self.python, self.owner = python, owner
        code = python.__code__
        self.first = code.co_varnames[0] if owner is not None and code.co_argcount else None
        self.own = {*code.co_varnames, *code.co_cellvars}

    def of(self, node):
        """The object behind a name or an attribute, or None."""
        if isinstance(node, ast.Attribute):
            return self.attribute(self.of(node.value), node.attr)
        if not isinstance(node, ast.Name):
            return None
        if node.id == self.first:
            return self.owner
        code = self.python.__code__
        if node.id in self.own:
            return None
        if node.id in code.co_freevars:
            cell = self.python.__closure__[code.co_freevars.index(node.id)]
            return cell.cell_contents if cell != types.CellType() else None
        known = self.python.__globals__
        return known[node.id] if node.id in known else getattr(builtins, node.id, None)

    @staticmethod
    def attribute(owner, name):
        """What an attribute of a module stands for, or of an object of ``torch.nn.Module``."""
        if type(owner) is types.ModuleType:
            return vars(owner).get(name)
        module = module_class()
        if module is None or not isinstance(owner, module):
            return None
        if name in owner._modules:
            return owner._modules[name]
        found = of_class(type(owner), name) if hasattr(type(owner), name) else None
        return types.MethodType(found, owner) if type(found) is types.FunctionType else None


#: methods of tensors that give a tensor of one value, which arrays and numbers are not asked for in an if
_REDUCE = frozenset(("sum", "mean", "norm", "prod", "amax", "amin", "isnan", "isinf"))


def _asks_tensor(node):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _REDUCE


_GENERATORS = 0x20 | 0x80 | 0x200


def _target(function):
    """The function of Python that a call ends in, and how its parts are called in place of it."""
    if type(function) is types.FunctionType:
        code = function.__code__
        return (
            function,
            lambda whole: lambda *args, **kwargs: (whole if function.__code__ is code else function)(*args, **kwargs),
        )
    if type(function) is types.MethodType and type(function.__func__) is types.FunctionType:
        owner = function.__self__
        return function.__func__, lambda whole: lambda *args, **kwargs: whole(owner, *args, **kwargs)
    module = module_class()
    if module is None or not isinstance(function, module):
        return None, None
    kind = type(function)
    forward = of_class(kind, "forward")
    plain = of_class(kind, "__call__") is module.__dict__["__call__"] and "forward" not in function.__dict__
    if not plain or type(forward) is not types.FunctionType:
        return None, None
    from torch.nn.modules import module as file

    def through(whole):
        def call(*args, **kwargs):
            if function._hooked or file.running or of_class(type(function), "forward") is not forward:
                return function(*args, **kwargs)
            try:
                return whole(function, *args, **kwargs)
            except Exception as error:
                file.name_layer(error, function, args, kwargs)
                raise

        return call

    return forward, through


def _source(python):
    """The tree of a function and the lines above it, which belong to the very code that it has."""
    code = python.__code__
    known = _instrument.sources.get(code)
    if known is not None:
        return copy.deepcopy(known[0]), known[1]
    tree, first = _instrument._parse(code)
    for node in _instrument._candidates(tree, code):
        if isinstance(node, ast.FunctionDef) and _instrument._is_of(node, code, first):
            return node, first
    raise Opaque("its source is not that of the code that runs")


def _cut(python, node, first, at, line, through, make, callees):
    code = python.__code__
    head, here, tail = node.body[:at], node.body[at], node.body[at + 1 :]
    asks_there = isinstance(here, (ast.If, ast.While)) and here.test.lineno <= line <= here.test.end_lineno
    branches, turns = asks_there and isinstance(here, ast.If), asks_there and _is_plain_loop(here)
    if (branches or turns) and not any(
        isinstance(each, _MORE_THAN_A_TENSOR) or _reads_value(each) for each in ast.walk(here.test)
    ):
        # What is asked becomes a tensor of the part before, and only its value is read between the parts.
        ask = _at(ast.Assign([ast.Name(_ASKED, ast.Store())], here.test), here)
        again = [copy.deepcopy(ask)] if turns else []
        head = [*head, ask]
        here = _at(type(here)(ast.Name(_ASKED, ast.Load()), [*here.body, *again], here.orelse), here)
    a = node.args
    names = [each.arg for each in (*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg) if each is not None]
    own = {*code.co_varnames, *code.co_cellvars}
    bound = set(names)
    compiled, body, cells = [], [], {}

    def part(statements, given, gives):
        """A call of some statements as a function of their own."""
        name = f"{node.name}_from_line_{statements[0].lineno + first}"
        if gives is not None:
            result = ast.Name(gives[0], ast.Load()) if len(gives) == 1 else _tuple(gives, ast.Load())
            statements = [*statements, _at(ast.Return(result), statements[-1])]
        made = make(_function(python, name, given, statements, first))
        compiled.append(made)
        cell = f"__torch_part_{len(compiled)}"
        run = made.door.run
        cells[cell] = types.CellType(lambda *args: run(args, {}))
        return ast.Call(ast.Name(cell, ast.Load()), [ast.Name(each, ast.Load()) for each in given], [])

    after = _read([here, *tail])
    gives = sorted(_stored(head) & after)
    if (
        any(not _says_nothing(each) for each in head)
        and not any(isinstance(each, ast.Return) for statement in head for each in ast.walk(statement))
        and _read(head) & own <= bound | _stored(head)
        and set(gives) <= bound | _surely(head)
    ):
        given = sorted(_read(head) & bound | (set(gives) & bound))
        called = part(head, given, gives)
        target = ast.Name(gives[0], ast.Store()) if len(gives) == 1 else _tuple(gives, ast.Store())
        body.append(_at(ast.Assign([target], called) if gives else ast.Expr(called), head[0]))
    else:
        body += head
    if branches:
        bound |= _surely(head)
        sides = [side if _ends(*side[-1:]) else [*side, *tail] for side in (here.body, here.orelse)]
        known = {*names} | _stored(head)  # what has a value, or may have one
        if all(_read(side) & known <= bound and _read(side) & own <= known | _stored(side) for side in sides):
            returned = [[_returned(part, side, bound, here)] for side in sides]
            here, tail = _at(ast.If(here.test, *returned), here), []
    if turns and _is_same_each_turn(here, bound | _surely(head)):
        bound |= _surely(head)
        gives = sorted(_stored(here.body) & after)
        called = part(here.body, sorted(_read(here.body) & bound | (set(gives) & bound)), gives)
        target = ast.Name(gives[0], ast.Store()) if len(gives) == 1 else _tuple(gives, ast.Store())
        here.body = [_at(ast.Assign([target], called), here.body[0])]
        rest = here.test
    else:
        rest = here.test if branches and not tail else here  # what is run as it was written
    asks = any(isinstance(each, ast.Call) for each in ast.walk(rest))
    if asks:
        cells[_CALLEE] = types.CellType(callees)
    if asks and branches and not tail:
        here.test = _Calls().visit(copy.deepcopy(here.test))
        body.append(here)
    else:
        body.append(_Calls().visit(copy.deepcopy(here)) if asks else here)
    bound |= _surely([*head, here])
    given = sorted(_read(tail) & own & ({*names} | _stored([*head, here])))
    if tail and set(given) <= bound and _read(tail) & own <= {*given} | _stored(tail) and not _ends(here):
        body.append(_at(ast.Return(part(tail, given, None)), tail[0]))
    else:
        body += tail
    if not compiled and not asks:
        return None
    whole = definition(node.name, node.args, body)
    ast.copy_location(whole, node)
    made = _made(python, whole, first, cells)
    made.__defaults__, made.__kwdefaults__ = python.__defaults__, python.__kwdefaults__
    return through(made), compiled


def _is_plain_loop(node):
    """Whether all turns of a ``while`` run to their end, and it ends where it is asked."""
    ends = (ast.Break, ast.Continue, ast.Return)
    return (
        isinstance(node, ast.While) and not node.orelse and not any(isinstance(each, ends) for each in ast.walk(node))
    )


def _is_same_each_turn(loop, bound):
    """Whether what a turn reads has a value before the first one, or is set by the turn itself before it is read."""
    fresh = (_stored(loop.body) & _read(loop.body)) - bound
    for name in fresh:
        first = next(each for each in loop.body if name in _read([each]) | _stored([each]))
        if name in _read([first]) or name not in _surely([first]):
            return False
    return _stored(loop.body) - bound <= _surely(loop.body) and bool(_stored(loop.body))


#: the name of what an ``if`` asks
_ASKED = "__torch_asked"
#: what a question consists of that is no tensor, or reads the value of one
_MORE_THAN_A_TENSOR = (ast.BoolOp, ast.IfExp, ast.Not, ast.Is, ast.IsNot, ast.In, ast.NotIn, ast.Await)


def _reads_value(node):
    """Whether a call gives a number of Python."""
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", None)
    return name in ("item", "tolist", "bool", "int", "float", "len", "isinstance", "hasattr", "any", "all") and (
        name in ("item", "tolist") or isinstance(node.func, ast.Name)
    )


def _returned(part, statements, known, where):
    """A statement that returns what a part of these statements does."""
    if not statements:
        return _at(ast.Return(ast.Constant(None)), where)
    return _at(ast.Return(part(statements, sorted(_read(statements) & known), None)), statements[0])


def _function(python, name, given, statements, first):
    """Some statements of a function as a function of the names that they read."""
    arguments = ast.arguments([], [ast.arg(each) for each in given], None, [], [], None, [])
    node = definition(name, arguments, copy.deepcopy(statements))
    ast.copy_location(node, statements[0])
    ast.fix_missing_locations(node)
    kept = copy.deepcopy(node)
    made = _made(python, node, first, {})
    made.__module__, made.__qualname__ = python.__module__, f"{python.__qualname__}:{name.rpartition('_')[2]}"
    _instrument.sources[made.__code__] = kept, first
    return made


def _made(python, node, first, cells):
    code = python.__code__
    free = {**dict(zip(code.co_freevars, python.__closure__ or ())), **cells}
    out = _instrument._inner(_instrument._compiled(_instrument._factory(node, tuple(free)), code, first), node.name)
    return types.FunctionType(out, python.__globals__, node.name, None, tuple(free[each] for each in out.co_freevars))


def _at(node, where):
    ast.copy_location(node, where)
    return ast.fix_missing_locations(node)


def _tuple(names, context):
    return ast.Tuple([ast.Name(each, copy.copy(context)) for each in names], context)


def _says_nothing(statement):
    return isinstance(statement, ast.Pass) or (
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    )


def _names(statements, context):
    return {
        each.id
        for statement in statements
        for each in ast.walk(statement)
        if isinstance(each, ast.Name) and isinstance(each.ctx, context)
    }


def _read(statements):
    """The names that statements read, of whatever kind; ``x += 1`` reads x."""
    changed = {
        each.target.id
        for statement in statements
        for each in ast.walk(statement)
        if isinstance(each, ast.AugAssign) and isinstance(each.target, ast.Name)
    }
    return _names(statements, ast.Load) | changed


def _stored(statements):
    return _names(statements, ast.Store)


def _surely(statements):
    """The names that have a value after statements, whichever way they went."""
    found = set()
    for each in statements:
        if isinstance(each, (ast.Assign, ast.AugAssign)) or (
            isinstance(each, ast.AnnAssign) and each.value is not None
        ):
            targets = each.targets if isinstance(each, ast.Assign) else [each.target]
            found |= _names(targets, ast.Store)
        elif isinstance(each, ast.If):
            sides = [_surely(side) for side in (each.body, each.orelse) if not _ends(*side[-1:])]
            found |= set.intersection(*sides) if sides else set()
        elif isinstance(each, ast.With):
            found |= _surely(each.body)
    return found


def _ends(*statement):
    """Whether control never comes past a statement: it returns or raises."""
    return bool(statement) and isinstance(statement[0], (ast.Return, ast.Raise))
