"""A function as Python runs it, with its reads, calls and writes told to an observer.

The source of the function is parsed, and taken only if it compiles to the very code that the function has: so a file that
has changed since it was imported is not mistaken for the program. What comes back is Python too, with the lines of the
original, in which ``self.scale * f(x)`` reads ``watch.attr(self, "scale") * watch.call(watch.load(f, "f"))(x)``.
"""

from __future__ import annotations

import ast
import dis
import inspect
import linecache
import sys
import textwrap
import types

WATCH = "__torch_watch"
_FACTORY = "__torch_factory"
_cache: dict = {}
#: instrumented codes with ``except`` or ``finally``
catching: set = set()
_NESTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


#: builtins that look at the frame of their caller
_FRAMES = frozenset(
    ("eval", "exec", "locals", "globals", "vars", "dir", "__import__", "breakpoint", "_getframe", "currentframe")
)


class Opaque(Exception):
    """A function that cannot be observed, and why."""


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


def _instrument(code):
    if seen := {name for each in _codes(code) for name in _FRAMES.intersection(each.co_names)}:
        raise Opaque(f"it calls {', '.join(sorted(seen))}()")
    if code.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        raise Opaque("it is a coroutine")
    tree, first = _parse(code)
    for node in _candidates(tree, code):
        _mangle(node, code)
        plain = _inner(_compiled(_factory(node, code.co_freevars), code, first), code.co_name)
        if plain is not None and _same(plain, code):
            break
    else:
        raise Opaque("its source is not that of the code that runs")
    made = _Rewrite(code).function(node)
    out = _inner(_compiled(_factory(made, (*code.co_freevars, WATCH)), code, first), code.co_name)
    if out is None:
        raise Opaque("its source cannot be rewritten")
    if any(isinstance(n, (ast.Try, getattr(ast, "TryStar", ast.Try))) for n in ast.walk(node)):
        catching.add(out)
    return out


def _parse(code):
    lines = linecache.getlines(code.co_filename)
    if not lines:
        raise Opaque("its source is not there")
    at = code.co_firstlineno - 1
    if at >= len(lines):
        raise Opaque("its source is not that of the code that runs")
    if code.co_name == "<lambda>":
        return _statement(lines, at), at
    text = "".join(inspect.getblock(lines[at:]))
    try:
        # Not dedented: lines within texts would lose their spaces.
        return (ast.parse("if 1:\n" + text), at - 1) if text[0].isspace() else (ast.parse(text), at)
    except SyntaxError:
        return _statement(lines, at), at


def _statement(lines, at):
    """The smallest run of lines from one at or before ``at`` that is Python: a lambda stands within a statement."""
    for start in range(at, max(at - 30, -1), -1):
        for end in range(at + 1, min(at + 40, len(lines)) + 1):
            text = textwrap.dedent("".join(lines[start:end]))
            for form in (text, text.rstrip().rstrip(",")):
                try:
                    tree = ast.parse(form)
                except SyntaxError:
                    continue
                if any(isinstance(n, _NESTED) for n in ast.walk(tree)):
                    ast.increment_lineno(tree, start - at)
                    return tree
    raise Opaque("its source cannot be read")


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
    names = [ast.arg(name) for name in free]
    arguments = ast.arguments(
        posonlyargs=[], args=names, vararg=None, kwonlyargs=[], kw_defaults=[], kwarg=None, defaults=[]
    )
    extra = {"type_params": []} if "type_params" in ast.FunctionDef._fields else {}
    outer = ast.FunctionDef(
        name=_FACTORY, args=arguments, body=[inner], decorator_list=[], returns=None, type_comment=None, **extra
    )
    return ast.Module(body=[outer], type_ignores=[])


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
    """Globals of which attributes are called in the way that Python has for modules that a file imports."""
    modules, others = set(), set()
    for each in _codes(code):
        before = None
        for step in dis.get_instructions(each):
            if before is not None and before.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                if step.opname == "LOAD_METHOD" or (
                    step.opname == "LOAD_ATTR" and sys.version_info >= (3, 12) and step.arg & 1
                ):
                    others.add(before.argval)
                elif step.opname == "LOAD_ATTR":
                    modules.add(before.argval)
            before = step
    return sorted(modules - others)


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
    for x, y in zip(a.co_consts, b.co_consts):
        if isinstance(x, types.CodeType) and isinstance(y, types.CodeType):
            if not _same(x, y):
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


class _Rewrite(ast.NodeTransformer):
    def __init__(self, code):
        self.code, self.codes = code, []

    def function(self, node):
        self._refuse(node)
        body = [node.body] if isinstance(node, ast.Lambda) else node.body
        self.codes.append(frozenset(_arguments(node.args).union(*map(_bound, body)) - set(self.code.co_freevars)))
        if isinstance(node, ast.Lambda):
            return ast.copy_location(ast.Lambda(args=node.args, body=self.visit(node.body)), node)
        body = [self.visit(s) for s in node.body]
        out = ast.FunctionDef(**{name: getattr(node, name, None) for name in node._fields})
        out.body = _flat(body)
        out.args = node.args
        return ast.copy_location(out, node)

    def _refuse(self, node):
        written = set()
        for n in ast.walk(node):
            if isinstance(n, (ast.Global, ast.Nonlocal)):
                written.update(n.names)
            elif isinstance(n, (ast.ClassDef, ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith, ast.Await)):
                raise Opaque(f"it has a {type(n).__name__} within")
            elif isinstance(n, getattr(ast, "Match", ())):
                raise Opaque("it has a match statement")
        outside = written - {v for c in _codes(self.code) for v in c.co_cellvars}
        if outside:
            raise Opaque(f"it sets {', '.join(sorted(outside))}, which is a variable of others")

    # --- names ---

    def _is_local(self, name):
        return any(name in scope for scope in self.codes)

    def visit_Name(self, node):
        if not isinstance(node.ctx, ast.Load) or self._is_local(node.id) or node.id in ("super", "__class__"):
            return node
        free = node.id in self.code.co_freevars
        return self._watch("cell" if free else "load", node, node, ast.Constant(node.id))

    def _watch(self, what, at, *args, keywords=()):
        hook = ast.Attribute(ast.Name(WATCH, ast.Load()), what, ast.Load())
        return ast.copy_location(ast.Call(hook, list(args), list(keywords)), at)

    # --- scopes: names that any nested scope binds are taken for local only where they are ---

    def visit_Lambda(self, node):
        node.args.defaults = [self.visit(d) for d in node.args.defaults]
        node.args.kw_defaults = [d and self.visit(d) for d in node.args.kw_defaults]
        self.codes.append(frozenset(_arguments(node.args) | _bound(node.body)))
        node.body = self.visit(node.body)
        self.codes.pop()
        return node

    def visit_FunctionDef(self, node):
        node.decorator_list = [self.visit(d) for d in node.decorator_list]
        node.args.defaults = [self.visit(d) for d in node.args.defaults]
        node.args.kw_defaults = [d and self.visit(d) for d in node.args.kw_defaults]
        node.returns = None
        for a in _all_arguments(node.args):
            a.annotation = None
        names = set()
        for s in node.body:
            names |= _bound(s)
        self.codes.append(frozenset(_arguments(node.args) | names))
        node.body = _flat([self.visit(s) for s in node.body])
        self.codes.pop()
        if node.decorator_list:
            raise Opaque("it has a decorated function within")
        return node

    def _comprehension(self, node):
        first = node.generators[0]
        outer = self.visit(first.iter)  # read where the comprehension stands, not within
        first.iter = ast.copy_location(ast.Constant(None), outer)
        self.codes.append(frozenset().union(*(_targets(g.target) for g in node.generators)))
        out = self.generic_visit(node)
        self.codes.pop()
        first.iter = outer
        for g in out.generators:
            g.iter = self._watch("iter", g.iter, g.iter)
        return out

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    # --- expressions ---

    def visit_Call(self, node):
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args:
            return node
        node = self.generic_visit(node)
        node.func = self._watch("call", node, node.func)
        return node

    def visit_Attribute(self, node):
        if isinstance(node.ctx, ast.Load):
            node = self.generic_visit(node)
            return self._watch("attr", node, node.value, ast.Constant(node.attr))
        value = self._watch("store", node, self.visit(node.value), ast.Constant(node.attr))
        return ast.copy_location(ast.Attribute(value, node.attr, node.ctx), node)

    def visit_Subscript(self, node):
        node = self.generic_visit(node)
        if isinstance(node.ctx, ast.Load):
            index = node.slice
            if _has_slice(index):
                node.value = self._watch("sliced", node.value, node.value)
                if isinstance(index, ast.Tuple):
                    index.elts = [
                        e if isinstance(e, (ast.Slice, ast.Starred)) else self._watch("place", e, e) for e in index.elts
                    ]
                return node
            return self._watch("item", node, node.value, index)
        node.value = self._watch("store_item", node.value, node.value)
        if not _has_slice(node.slice):
            node.slice = self._watch("place", node.slice, node.slice)
        elif isinstance(node.slice, ast.Tuple):
            node.slice.elts = [
                e if isinstance(e, (ast.Slice, ast.Starred)) else self._watch("place", e, e) for e in node.slice.elts
            ]
        return node

    def visit_Compare(self, node):
        node = self.generic_visit(node)
        if any(isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops):
            sides = [node.left, *node.comparators]
            if not any(isinstance(side, ast.Constant) for side in sides):
                node.left, *node.comparators = [self._watch("compared", side, side) for side in sides]
        return node

    # --- statements ---

    def visit_For(self, node):
        node = self.generic_visit(node)
        node.iter = self._watch("iter", node.iter, node.iter)
        return node

    def visit_With(self, node):
        node = self.generic_visit(node)
        for item in node.items:
            item.context_expr = self._watch("manager", item.context_expr, item.context_expr)
        return node

    def visit_Try(self, node):
        if any(isinstance(n, (ast.Return, ast.Break, ast.Continue)) for s in node.finalbody for n in ast.walk(s)):
            raise Opaque("it leaves a finally block, which drops exceptions")
        node = self.generic_visit(node)
        for handler in node.handlers:
            handler.body.insert(0, ast.copy_location(ast.Expr(self._watch("caught", handler)), handler))
        node.body, node.orelse, node.finalbody = _flat(node.body), _flat(node.orelse), _flat(node.finalbody)
        return node

    def visit_Raise(self, node):
        node = self.generic_visit(node)
        if node.exc is not None:
            node.exc = self._watch("raised", node.exc, node.exc)
        return node

    def visit_AugAssign(self, node):
        target = node.target
        if isinstance(target, ast.Attribute) and not any(
            isinstance(n, (ast.NamedExpr, ast.Yield, ast.YieldFrom)) for n in ast.walk(node)
        ):
            later = ast.copy_location(ast.Lambda(args=_NOTHING, body=self.visit(node.value)), node.value)
            name, op = ast.Constant(target.attr), ast.Constant(type(node.op).__name__)
            return ast.copy_location(
                ast.Expr(self._watch("augment", node, self.visit(target.value), name, op, later)), node
            )
        node = self.generic_visit(node)
        if isinstance(target, ast.Name):  # a list of others would change in place
            seen = self._watch("augmented", node, ast.Name(target.id, ast.Load()))
            return [ast.copy_location(ast.Expr(seen), node), node]
        if isinstance(target, ast.Subscript):
            node.target.value.args.append(ast.Constant(True))
        return node

    def visit_AnnAssign(self, node):
        node.target, node.value = self.visit(node.target), node.value and self.visit(node.value)
        if not isinstance(node.target, ast.Name):
            raise Opaque("it annotates an attribute")
        return node

    def visit_ImportFrom(self, node):
        out = [node]
        for a in node.names:
            if a.name == "*":
                raise Opaque("it imports *")
            name = a.asname or a.name
            args = [
                ast.Name(name, ast.Load()),
                ast.Constant(node.module or ""),
                ast.Constant(a.name),
                ast.Constant(node.level),
            ]
            out.append(
                ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], self._watch("imported", node, *args)), node)
            )
        return out

    def visit_YieldFrom(self, node):
        node = self.generic_visit(node)
        node.value = self._watch("iter", node.value, node.value)
        return node


_NOTHING = ast.arguments(posonlyargs=[], args=[], vararg=None, kwonlyargs=[], kw_defaults=[], kwarg=None, defaults=[])


def _codes(code):
    yield code
    for c in code.co_consts:
        if isinstance(c, types.CodeType):
            yield from _codes(c)


def _flat(statements):
    out = []
    for s in statements:
        out.extend(s if isinstance(s, list) else [s])
    return out


def _all_arguments(a):
    return [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg))]


def _arguments(a):
    return {each.arg for each in _all_arguments(a)}


def _targets(node):
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _bound(node):
    """Names that a piece of a function binds; those of functions and comprehensions within are theirs."""
    names, stack = set(), [node]
    while stack:
        n = stack.pop()
        if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(n.name)
            continue
        if isinstance(n, ast.Lambda):
            continue
        if isinstance(n, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            names |= {w.target.id for w in ast.walk(n) if isinstance(w, ast.NamedExpr)}
            continue
        if isinstance(n, ast.Name) and isinstance(n.ctx, (ast.Store, ast.Del)):
            names.add(n.id)
        elif isinstance(n, (ast.Import, ast.ImportFrom)):
            names |= {(a.asname or a.name).partition(".")[0] for a in n.names}
        elif isinstance(n, ast.ExceptHandler) and n.name:
            names.add(n.name)
        stack.extend(ast.iter_child_nodes(n))
    return names


def _has_slice(index):
    return isinstance(index, ast.Slice) or (
        isinstance(index, ast.Tuple) and any(isinstance(e, (ast.Slice, ast.Starred)) for e in index.elts)
    )
