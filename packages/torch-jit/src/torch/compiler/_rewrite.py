"""The rewriting of a function's source, so that it tells what it reads, calls and writes: see ``_instrument``."""

from __future__ import annotations

import ast
import types

from ._match import Patterns, captured

WATCH = "__torch_watch"


class Opaque(Exception):
    """A function that cannot be observed, and why."""


def definition(name, arguments, body):
    """``def name(...)`` without decorators. CPython 3.12 compiles no node that has no list of type parameters."""
    extra = {"type_params": []} if "type_params" in ast.FunctionDef._fields else {}
    return ast.FunctionDef(
        name=name, args=arguments, body=body, decorator_list=[], returns=None, type_comment=None, **extra
    )


class Rewrite(Patterns, ast.NodeTransformer):
    def __init__(self, code):
        self.code, self.codes = code, []

    def function(self, node):
        self._refuse(node)
        body = [node.body] if isinstance(node, ast.Lambda) else node.body
        own = _arguments(node.args).union(*map(_bound, body)) - set(self.code.co_freevars)
        self.codes.append(frozenset(own.difference(*map(_of_others, body))))
        if isinstance(node, ast.Lambda):
            return ast.copy_location(ast.Lambda(args=node.args, body=self.visit(node.body)), node)
        body = [self.visit(s) for s in node.body]
        written = _said(node, ast.Nonlocal) & set(self.code.co_freevars) | _said(node, ast.Global)
        if written:
            body.insert(0, self._sets(written, node.body[0]))
        out = ast.FunctionDef(**{name: getattr(node, name, None) for name in node._fields})
        out.body = _flat(body)
        out.args = node.args
        return ast.copy_location(out, node)

    def _refuse(self, node):
        for n in ast.walk(node):
            if isinstance(n, (ast.ClassDef, ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith, ast.Await)):
                raise Opaque(f"it has a {type(n).__name__} within")
        others = {v for c in codes_in(self.code) for v in (*c.co_varnames, *c.co_cellvars, *c.co_freevars)}
        hidden = _said(node, ast.Global) & others
        if hidden:  # there, names would have to be looked up scope by scope
            raise Opaque(
                f"it sets {', '.join(sorted(hidden))}, a variable of the module that has the name of another one"
            )

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
        node.decorator_list = [self._watch("call", d, self.visit(d)) for d in node.decorator_list]
        node.args.defaults = [self.visit(d) for d in node.args.defaults]
        node.args.kw_defaults = [d and self.visit(d) for d in node.args.kw_defaults]
        node.returns = None
        for a in _all_arguments(node.args):
            a.annotation = None
        names = set().union(*map(_bound, node.body)) - set().union(*map(_of_others, node.body))
        self.codes.append(frozenset(_arguments(node.args) | names))
        others = set().union(*map(_of_others, node.body))
        node.body = _flat([self.visit(s) for s in node.body])
        if others:
            node.body.insert(0, self._sets(others, node.body[0]))
        self.codes.pop()
        return node

    def _sets(self, names, at):
        """The statement that variables of functions around may be set from here on."""
        return ast.copy_location(ast.Expr(self._watch("sets", at, *map(ast.Constant, sorted(names)))), at)

    def _comprehension(self, node):
        first = node.generators[0]
        outer = self.visit(first.iter)  # read where the comprehension stands, not within
        first.iter = ast.copy_location(ast.Constant(None), outer)
        self.codes.append(frozenset().union(*(_targets(g.target) for g in node.generators)))
        out = self.generic_visit(node)
        self.codes.pop()
        first.iter = outer
        for g in out.generators:
            g.iter = self._iterated(g)
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
            node.slice = self._watch("store_place", node.slice, node.slice)
        elif isinstance(node.slice, ast.Tuple):
            node.slice.elts = [
                e if isinstance(e, (ast.Slice, ast.Starred)) else self._watch("store_place", e, e)
                for e in node.slice.elts
            ]
        return node

    def visit_Compare(self, node):
        node = self.generic_visit(node)
        if any(isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops):
            sides = [node.left, *node.comparators]
            if not any(isinstance(side, ast.Constant) for side in sides):
                node.left, *node.comparators = [self._watch("compared", side, side) for side in sides]
            elif any(isinstance(side, ast.Constant) and type(side.value) is bool for side in sides):
                node.left, *node.comparators = [self._watch("is_truth", side, side) for side in sides]
        elif len(node.ops) == 1:
            op = ast.Constant(type(node.ops[0]).__name__)
            return self._watch("comparison", node, op, node.left, node.comparators[0])
        return node

    def visit_BinOp(self, node):
        node = self.generic_visit(node)
        return self._watch("binary", node, ast.Constant(type(node.op).__name__), node.left, node.right)

    def visit_UnaryOp(self, node):
        node = self.generic_visit(node)
        if isinstance(node.operand, ast.Constant):
            return node
        return self._watch("unary", node, ast.Constant(type(node.op).__name__), node.operand)

    def visit_If(self, node):
        node = self.generic_visit(node)
        node.test = self._truth(node.test)
        return node

    def _truth(self, node):
        """An expression of which only the truth matters."""
        if isinstance(node, ast.BoolOp):
            node.values = [self._truth(each) for each in node.values]
            return node
        return self._watch("truth", node, node)

    visit_While = visit_IfExp = visit_If

    # --- statements ---

    def visit_For(self, node):
        node = self.generic_visit(node)
        node.iter = self._iterated(node)
        return node

    def _iterated(self, node):
        """What a loop, or that of a comprehension, goes over."""
        form = _form(node.target)
        return self._watch("iter", node.iter, node.iter, *([] if form is None else [ast.Constant(form)]))

    def visit_Assign(self, node):
        node = self.generic_visit(node)
        form = _form(node.targets[0]) if len(node.targets) == 1 else None
        if form is not None and (any(form) or not isinstance(node.value, (ast.Tuple, ast.List))):
            node.value = self._watch("parts", node.value, node.value, ast.Constant(form))
        return node

    def visit_Starred(self, node):
        node = self.generic_visit(node)
        if isinstance(node.ctx, ast.Load):
            node.value = self._watch("iter", node.value, node.value)
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
            held = self.visit(ast.copy_location(ast.Name(target.id, ast.Load()), target))
            op = ast.Constant(type(node.op).__name__)
            made = self._watch("augmented", node, op, held, node.value)
            return ast.copy_location(ast.Assign([target], made), node)
        if isinstance(target, ast.Subscript):
            node.target.value.args.append(ast.Constant(True))
        return node

    def visit_AnnAssign(self, node):
        node.target, node.value = self.visit(node.target), node.value and self.visit(node.value)
        if isinstance(node.target, ast.Name):
            return node
        plain = ast.Assign([node.target], node.value) if node.value else ast.Pass()  # nobody evaluates the annotation
        return ast.copy_location(plain, node)

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


def _form(target):
    """How a target takes a value apart: a form, or None, for each part of it; () where one of them has a star.

    >>> _form(ast.parse("for i, (a, b) in x: pass").body[0].target)
    (None, (None, None))
    """
    if not isinstance(target, (ast.Tuple, ast.List)):
        return None
    return () if any(isinstance(each, ast.Starred) for each in target.elts) else tuple(map(_form, target.elts))


_NOTHING = ast.arguments(posonlyargs=[], args=[], vararg=None, kwonlyargs=[], kw_defaults=[], kwarg=None, defaults=[])


def codes_in(code):
    """A code and those within."""
    yield code
    for c in code.co_consts:
        if isinstance(c, types.CodeType):
            yield from codes_in(c)


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
        elif isinstance(n, ast.pattern) and captured(n):
            names.add(captured(n))
        stack.extend(ast.iter_child_nodes(n))
    return names


def _said(node, kind):
    """The names that statements of this kind, ``nonlocal`` or ``global``, have in a function and in those within it."""
    return {name for n in ast.walk(node) if isinstance(n, kind) for name in n.names}


def _of_others(node):
    """Names that a piece of a function says to be variables around it; what functions within say is theirs."""
    if isinstance(node, (ast.Nonlocal, ast.Global)):
        return set(node.names)
    inner = () if isinstance(node, (*_SCOPES, ast.expr)) else ast.iter_child_nodes(node)
    return set().union(*map(_of_others, inner))


_SCOPES = ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda


def _has_slice(index):
    return isinstance(index, ast.Slice) or (
        isinstance(index, ast.Tuple) and any(isinstance(e, (ast.Slice, ast.Starred)) for e in index.elts)
    )
