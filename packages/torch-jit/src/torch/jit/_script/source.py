"""From a function or class to its syntax tree, the names it sees, and the places of its expressions."""

from __future__ import annotations

import ast
import builtins
import contextlib
import functools
import inspect

from .errors import FrontendError, ScriptError, Where

__all__ = ["Source", "parse", "seen_from", "source_of"]

_MISSING = object()
_around = []  # the local names of those who asked for programs that are being compiled


@contextlib.contextmanager
def seen_from(frame):
    """Annotations of what is compiled meanwhile may use the local names of a frame."""
    _around.append(frame.f_locals)
    try:
        yield
    finally:
        _around.pop()


class Source:
    """The text that a definition stands in, and the names that it sees there."""

    def __init__(self, tree, file, lines, first, names):
        self.tree, self.file, self.lines, self.first, self.names = tree, file, lines, first, names
        self.counts = {}  # of parameters that are a BroadcastingList: how long it is
        self.around = _around[-1] if _around else {}
        self.function = getattr(tree, "name", "<lambda>")

    def where(self, node):
        """The place of a node of the tree."""
        line = getattr(node, "lineno", 1)
        text = self.lines[line - 1].rstrip("\n") if 0 < line <= len(self.lines) else ""
        column = getattr(node, "col_offset", 0)
        same = getattr(node, "end_lineno", line) == line
        end = getattr(node, "end_col_offset", column + 1) if same else len(text)
        return Where(self.file, line + self.first - 1, column, end, text, self.function)

    def lookup(self, name, default=_MISSING):
        """The Python object behind a global, a variable of an enclosing function, or a builtin."""
        for scope in self.names:
            if name in scope:
                return scope[name]
        value = getattr(builtins, name, default)
        if value is _MISSING:
            raise KeyError(name)
        return value

    def lookup_type(self, name):
        """What a name in an annotation is, or None: a comment may name what only the caller of the compiler sees."""
        found = self.lookup(name, None)
        return self.around.get(name) if found is None else found

    def visible(self):
        """All names that :meth:`lookup` knows."""
        return [*(name for scope in self.names for name in scope), *dir(builtins)]

    def inner(self, tree):
        """The same place for a definition inside."""
        return Source(tree, self.file, self.lines, self.first, self.names)


def parse(text):
    """The tree of a text, with its type comments where they can be read."""
    try:
        return ast.parse(text, type_comments=True)
    except SyntaxError:
        return ast.parse(text)


def _closure(fn):
    names = {}
    for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or ()):
        try:
            names[name] = cell.cell_contents
        except ValueError:  # assigned later
            continue
    return names


@functools.lru_cache(maxsize=4096)
def _lines(code, file=None):
    """The lines of a definition, the number of the first, and its file, which equal code objects may not share."""
    lines, first = inspect.getsourcelines(code)
    return lines, first, inspect.getsourcefile(code) or "<string>"


def source_of(obj):
    """The :class:`Source` of a function or class."""
    if inspect.isfunction(obj):
        names = [_closure(obj), obj.__globals__]
        key = obj.__code__
    else:
        names = [vars(inspect.getmodule(obj)) if inspect.getmodule(obj) else {}]
        key = obj
    try:
        lines, first, file = _lines(key, getattr(key, "co_filename", None))
    except (OSError, TypeError) as error:
        raise ScriptError(
            f"the source of {getattr(obj, '__qualname__', obj)!r} cannot be read ({error})",
            way_out="define it in a file; text goes through torch.jit.CompilationUnit",
        ) from None
    kept, body = list(lines), None
    if kept[0][
        :1
    ].isspace():  # a definition within another, as the body of an `if`: texts of several lines stay as they are
        kept, first = ["if True:\n", *kept], first - 1
    try:
        module = parse("".join(kept))
        body = module.body[0].body if kept[0] == "if True:\n" else module.body
    except SyntaxError:
        raise FrontendError(f"the source of {obj.__qualname__!r} is not a definition of its own") from None
    tree = body[0] if body else None
    if not isinstance(tree, (ast.FunctionDef, ast.ClassDef)):
        tree = _find_lambda(module, obj)
    return Source(tree, file, kept, first, names)


def _find_lambda(module, obj):
    found = [node for node in ast.walk(module) if isinstance(node, ast.Lambda)]
    if len(found) != 1 or not inspect.isfunction(obj):
        raise FrontendError(
            f"{getattr(obj, '__qualname__', obj)!r} is neither a function with def nor the only lambda of its line"
        )
    tree = found[0]
    body = ast.copy_location(ast.Return(tree.body), tree.body)
    made = ast.FunctionDef("<lambda>", tree.args, [body], [], None, None)
    return ast.copy_location(made, tree)
