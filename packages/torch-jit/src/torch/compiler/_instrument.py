"""A function as Python runs it, with its reads, calls and writes told to an observer.

The source of the function is parsed, and taken only if it compiles to the very code that the function has: so a file that
has changed since it was imported is not mistaken for the program. What comes back is Python too, with the lines of the
original, in which ``self.scale * f(x)`` reads ``watch.attr(self, "scale") * watch.call(watch.load(f, "f"))(x)``.
"""

from __future__ import annotations

import ast
import copy
import dis
import inspect
import linecache
import os
import sys
import textwrap
import types

from ._rewrite import WATCH, Opaque, Rewrite, codes_in, definition

_FACTORY = "__torch_factory"
_cache: dict = {}
#: instrumented codes with ``except``, and the lines that these stand for: first and last of each
catching: dict = {}
#: codes that were made of a tree (parts of functions): the tree, and the lines above it in its file
sources: dict = {}
_NESTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


#: builtins that look at the frame of their caller
_FRAMES = frozenset(
    ("eval", "exec", "locals", "globals", "vars", "dir", "__import__", "breakpoint", "_getframe", "currentframe")
)


def instrumented(code: types.CodeType) -> types.CodeType:
    """The code of a function that tells its reads; its last free variable is the observer. Raises Opaque."""
    found = _cache.get(code)
    if found is None:
        try:
            found = _instrument(code)
        except Opaque as error:
            found = str(error)
        except (SyntaxError, ValueError, RecursionError) as error:
            found = f"its source cannot be read ({error})"
        _cache[code] = found
    if isinstance(found, str):
        raise Opaque(found)
    return found


def looks_at_frames(code):
    """The builtins by which a code looks at frames, its own or others."""
    return _FRAMES.intersection(code.co_names)


def _instrument(code):
    if seen := {name for each in codes_in(code) for name in looks_at_frames(each)} - {"vars"}:
        raise Opaque(f"it calls {', '.join(sorted(seen))}()")
    if code.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        raise Opaque("it is a coroutine")
    if code in sources:
        node, first = copy.deepcopy(sources[code][0]), sources[code][1]
    else:
        tree, first = _parse(code)
        node = next((each for each in _candidates(tree, code) if _is_of(each, code, first)), None)
        if node is None:
            raise Opaque("its source is not that of the code that runs")
    if any(isinstance(n, ast.Call) and getattr(n.func, "id", "") == "vars" and not n.args for n in ast.walk(node)):
        raise Opaque("it calls vars()")
    tried = _tried(node, first)
    made = Rewrite(code).function(node)
    out = _inner(_compiled(_factory(made, (*code.co_freevars, WATCH)), code, first), code.co_name)
    if out is None:
        raise Opaque("its source cannot be rewritten")
    if tried:
        catching[out] = tried
    return out


def _tried(node, first):
    """The lines of a function that stand before an ``except`` which may catch what operators raise by values."""
    tries = [n for n in ast.walk(node) if isinstance(n, (ast.Try, getattr(ast, "TryStar", ast.Try)))]
    tries = [n for n in tries if any(_NEVER_BY_VALUES.isdisjoint(_named(each.type)) for each in n.handlers)]
    return [(n.body[0].lineno + first, n.body[-1].end_lineno + first) for n in tries]


#: errors that no operator raises for the values of its tensors
_NEVER_BY_VALUES = frozenset(
    (
        "NotImplementedError",
        "KeyError",
        "AttributeError",
        "TypeError",
        "NameError",
        "ImportError",
        "ModuleNotFoundError",
        "StopIteration",
    )
)


def _named(kinds):
    """The only class that an ``except`` names; nothing where there are several, or none."""
    return (kinds.id,) if isinstance(kinds, ast.Name) else ()


def catches(code):
    """Whether a code has an ``except``, or cannot be read."""
    try:
        return instrumented(code) in catching
    except Opaque:
        return True


def may_drop(code):
    """Whether an ``__exit__`` of this code may drop the exception that it is told of."""
    try:
        tree, first = _parse(code)
        node = next(each for each in _candidates(tree, code) if _is_of(each, code, first))
    except (Opaque, StopIteration, SyntaxError, ValueError):
        return True
    given = [n.value for n in ast.walk(node) if isinstance(n, ast.Return) and n.value is not None]
    return any(not isinstance(value, ast.Constant) or value.value for value in given)


def _is_of(node, code, first):
    """Whether a definition compiles to this very code; private names are written as the class has them."""
    _mangle(node, code)
    plain = _inner(_compiled(_factory(node, code.co_freevars), code, first), code.co_name)
    return plain is not None and _same(plain, code)


def _parse(code):
    lines = linecache.getlines(_file_of(code))
    if not lines:
        raise Opaque("its source is not there")
    at = code.co_firstlineno - 1
    if at >= len(lines):
        raise Opaque("its source is not that of the code that runs")
    if code.co_name == "<lambda>":
        return _statement(lines, at), 0
    text = "".join(inspect.getblock(lines[at:]))
    try:
        # Not dedented: lines within texts would lose their spaces. With empty lines before it, its lines have their numbers.
        return ast.parse("\n" * (at - 1) + "if 1:\n" + text if text[0].isspace() else "\n" * at + text), 0
    except SyntaxError:
        return _statement(lines, at), 0


def _file_of(code):
    """The file of a code; of one that is frozen into the interpreter that which it was made of."""
    name = code.co_filename
    if name.startswith("<frozen "):
        return os.path.join(os.path.dirname(os.__file__), *name[8:-1].split(".")) + ".py"
    return name


def _statement(lines, at):
    """The smallest run of lines from one at or before ``at`` that is Python, for a lambda stands within a statement; all of
    them where that one is long.
    """
    for start in range(at, max(at - 30, -1), -1):
        for end in range(at + 1, min(at + 40, len(lines)) + 1):
            text = textwrap.dedent("".join(lines[start:end]))
            for form in (text, text.rstrip().rstrip(",")):
                try:
                    tree = ast.parse(form)
                except SyntaxError:
                    continue
                if any(isinstance(n, _NESTED) for n in ast.walk(tree)):
                    return ast.increment_lineno(tree, start)
    return ast.parse("".join(lines))


def _candidates(tree, code):
    for node in ast.walk(tree):
        if (isinstance(node, ast.Lambda) and code.co_name == "<lambda>") or (
            isinstance(node, ast.FunctionDef) and node.name == code.co_name
        ):
            yield node
        elif isinstance(node, ast.AsyncFunctionDef) and node.name == code.co_name:
            raise Opaque("it is a coroutine")


def _factory(node, free):
    """``def factory(<free variables>): def f(...): ...``, so that f has its free variables."""
    if isinstance(node, ast.Lambda):
        inner = ast.Expr(ast.copy_location(ast.Lambda(args=_bare(node.args), body=node.body), node))
    else:
        inner = ast.FunctionDef(**{name: getattr(node, name, None) for name in node._fields})
        inner.decorator_list, inner.returns, inner.args = [], None, _bare(node.args)
        ast.copy_location(inner, node)
    body = [inner]
    if isinstance(inner, ast.FunctionDef) and inner.name not in free:
        body.insert(0, ast.Global([inner.name]))  # one that calls itself finds itself among the globals
    names = [ast.arg(name) for name in free]
    arguments = ast.arguments(
        posonlyargs=[], args=names, vararg=None, kwonlyargs=[], kw_defaults=[], kwarg=None, defaults=[]
    )
    return ast.Module(body=[definition(_FACTORY, arguments, body)], type_ignores=[])


def _bare(a):
    """Parameters without annotations and defaults: those are evaluated where a function is made."""

    def plain(each):
        return each and ast.copy_location(ast.arg(each.arg), each)

    return ast.arguments(
        posonlyargs=[plain(e) for e in a.posonlyargs], args=[plain(e) for e in a.args], vararg=plain(a.vararg),
        kwonlyargs=[plain(e) for e in a.kwonlyargs], kw_defaults=[None for _ in a.kw_defaults], kwarg=plain(a.kwarg), defaults=[],
    )  # fmt: skip


def _compiled(module, code, first):
    module.body[:-1] = [ast.Import([ast.alias(name)], lineno=1, col_offset=0) for name in _imported(code)]
    ast.fix_missing_locations(module)
    if first:
        ast.increment_lineno(module, first)
    try:
        flags = code.co_flags & _FUTURES
        return compile(module, code.co_filename, "exec", flags=flags, dont_inherit=True)
    finally:
        if first:
            ast.increment_lineno(module, -first)


_FUTURES = 0
for _name in ("annotations",):
    _FUTURES |= getattr(__import__("__future__"), _name).compiler_flag


def _imported(code):
    """Names of which attributes are called in the way that Python has for modules that a file imports, under whatever
    scope's name they stand here."""
    modules, others = set(), set()
    for each in codes_in(code):
        before = None
        for step in dis.get_instructions(each):
            if before is not None and before.opname.startswith("LOAD_") and (name := _loaded(before)):
                if step.opname == "LOAD_METHOD" or (
                    step.opname == "LOAD_ATTR" and sys.version_info >= (3, 12) and step.arg & 1
                ):
                    others.add(name)
                elif step.opname == "LOAD_ATTR":
                    modules.add(name)
            before = step
    return sorted(modules - others)


def _loaded(step):
    """The variable that an instruction loads last; None where it loads something else."""
    if step.opname.startswith(("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FAST", "LOAD_DEREF", "LOAD_CLASSDEREF")):
        name = step.argval[-1] if isinstance(step.argval, tuple) else step.argval
        return name if name.isidentifier() else None
    return None


def _inner(module_code, name):
    outer = next(c for c in module_code.co_consts if isinstance(c, types.CodeType) and c.co_name == _FACTORY)
    found = [c for c in outer.co_consts if isinstance(c, types.CodeType) and c.co_name == name]
    return found[0] if found else None


def _same(a, b):
    """Whether two codes do the same; lines and qualified names aside."""
    plain = (
        "co_code",
        "co_names",
        "co_varnames",
        "co_cellvars",
        "co_argcount",
        "co_kwonlyargcount",
        "co_posonlyargcount",
    )
    if any(getattr(a, name) != getattr(b, name) for name in plain) or set(a.co_freevars) != set(b.co_freevars):
        return False
    if len(a.co_consts) != len(b.co_consts):
        return False
    before = None
    for x, y in zip(a.co_consts, b.co_consts):
        # Up to CPython 3.10 the qualified name of a function stands among the constants, behind its code.
        named = sys.version_info < (3, 11) and isinstance(before, types.CodeType)
        before = x
        if isinstance(x, types.CodeType) and isinstance(y, types.CodeType):
            if not _same(x, y):
                return False
        elif named and isinstance(x, str) and isinstance(y, str):
            if x.rpartition(".")[2] != y.rpartition(".")[2]:
                return False
        elif type(x) is not type(y) or (x != y and x == x) or repr(x) != repr(y):
            return False
    return True


def _mangle(node, code):
    """Private names (``self.__x``) as the class has them."""
    names = {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}
    private = {n for n in names if n.startswith("__") and not n.endswith("__")}
    if not private:
        return
    own = {n.rsplit("__", 1)[-1]: n for n in code.co_names if n.startswith("_") and "__" in n[1:]}
    for n in ast.walk(node):
        if isinstance(n, ast.Attribute) and n.attr in private:
            if n.attr[2:] not in own:
                raise Opaque(f"it has the private name {n.attr}")
            n.attr = own[n.attr[2:]]
