"""Functions rewritten before they are traced, so that what a trace would lose stays in the graph: ``assert`` becomes
``torch._assert``, and ``x: T = value`` notes the type.
"""

from __future__ import annotations

import ast
import copy
import inspect
import textwrap
import types
from collections.abc import Callable
from typing import Any

import torch
from torch.fx._symbolic_trace import Tracer
from torch.fx.annotate import annotate
from torch.fx.graph import Graph

__all__ = ["AST_Rewriter", "RewritingTracer"]

_ASSERT, _ANNOTATE = "__torch_assert", "__torch_annotate"


class AST_Rewriter(ast.NodeTransformer):
    """Rewrites the body of a function.

    >>> def positive(x):
    ...     assert x > 0, "not positive"
    ...     return x
    >>> AST_Rewriter().rewrite(positive)(3)
    3
    """

    def rewrite(self, fn: types.FunctionType) -> types.FunctionType:
        """The same function with other statements; its variables, defaults and names are shared. OSError without a source."""
        tree = ast.parse(textwrap.dedent(inspect.getsource(fn)))
        function = tree.body[0]
        if not isinstance(function, ast.FunctionDef):
            raise ValueError(f"rewriter: {fn.__qualname__} is no function that begins with def")
        function.decorator_list = []
        made = ast.fix_missing_locations(self.visit(function))
        ast.increment_lineno(made, fn.__code__.co_firstlineno - function.lineno)
        cells = dict(zip(fn.__code__.co_freevars, fn.__closure__ or ()))
        cells.update({_ASSERT: types.CellType(torch._assert), _ANNOTATE: types.CellType(annotate)})
        around = ast.parse(f"def around({', '.join(cells)}): pass")
        around.body[0].body = [made]  # type: ignore[attr-defined]
        code = compile(around, fn.__code__.co_filename, "exec")
        for _ in range(2):  # of the module, of the function around
            code = next(
                c for c in code.co_consts if isinstance(c, types.CodeType) and c.co_name in ("around", fn.__name__)
            )
        closure = tuple(cells[name] for name in code.co_freevars)
        result = types.FunctionType(code, fn.__globals__, fn.__name__, fn.__defaults__, closure)
        result.__kwdefaults__, result.__qualname__ = fn.__kwdefaults__, fn.__qualname__
        return result

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        """``assert a, b`` is ``torch._assert(a, b)``."""
        said = node.msg or ast.Constant("")
        return ast.copy_location(ast.Expr(_called(_ASSERT, self.visit(node.test), self.visit(said))), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        """``x: T = value`` is ``x = annotate(value, T)``."""
        if node.value is None or not isinstance(node.target, ast.Name):
            return node
        made = ast.Assign([node.target], _called(_ANNOTATE, self.visit(node.value), node.annotation))
        return ast.copy_location(made, node)


def _called(name, *args):
    return ast.Call(ast.Name(name, ast.Load()), list(args), [])


class RewritingTracer(Tracer):
    """A tracer that keeps assertions, of the function or of ``forward`` of all modules within.

    >>> def positive(x):
    ...     assert x.sum() > 0, "not positive"
    ...     return x * 2
    >>> [node.name for node in RewritingTracer().trace(positive).nodes]
    ['x', 'sum_1', 'gt', '_assert', 'mul', 'output']
    """

    def trace(self, root: torch.nn.Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None) -> Graph:
        """The graph of the rewritten function or module, which ``root`` is afterwards."""
        return super().trace(_rewrite(root), concrete_args)


def _rewrite(fn):
    """A function rewritten, or a module whose ``forward`` is, with all that stand in it."""
    return _module(fn, {}) if isinstance(fn, torch.nn.Module) else AST_Rewriter().rewrite(fn)


def _module(module, made):
    if module in made:
        return made[module]
    kind, other = type(module), copy.copy(module)
    made[module] = other
    forward = kind.forward
    if isinstance(forward, types.FunctionType) and not kind.__module__.startswith("torch.nn"):
        other.__class__ = type(
            kind.__name__, (kind,), {"forward": AST_Rewriter().rewrite(forward), "__module__": kind.__module__}
        )
    other._modules = type(module._modules)(
        (name, child and _module(child, made)) for name, child in module._modules.items()
    )
    return other
