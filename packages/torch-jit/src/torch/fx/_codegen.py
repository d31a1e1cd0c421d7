"""Program text of a whole graph."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from torch import SymBool, SymFloat, SymInt
from torch import _pytree as pytree

from ._writer import _Writer, tensor_annotation


@dataclass
class PythonCode:
    """The program text of a graph, and the objects that its global names stand for."""

    src: str
    globals: dict[str, Any]
    _lineno_map: dict[int, int | None] | None = field(default=None)
    _prologue_start: int = 0


class _PyTreeInfo(NamedTuple):
    """How a function's arguments and result were taken apart while it was traced."""

    orig_args: list[str]
    in_spec: Any
    out_spec: Any


class CodeGen:
    """Turns a graph into program text; subclasses change how arguments come in and results go out."""

    #: what ``inspect.signature`` says of the function, where the text itself takes any arguments
    signature: Any = None

    def __init__(self):
        self._body_transformer: Callable | None = None
        self._func_name = "forward"

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        """The line with ``def``, and what must stand below it."""
        parameters = free_vars if free_vars and free_vars[0] == "self" else ["self", *free_vars]
        return f"def {self._func_name}({', '.join(parameters)}){maybe_return_annotation}:"

    def generate_output(self, output_args, value=repr) -> str:
        """The return statement."""
        return f"return {value(output_args)}"

    def process_inputs(self, *args):
        """The values of the placeholders for these arguments of the function."""
        return args

    def process_outputs(self, outputs):
        """What the function returns for the argument of the output node."""
        return outputs

    def additional_globals(self):
        """Names beyond those of the nodes that the text needs: pairs of name and object."""
        return []

    def additional_builtins(self):
        return {}

    def _gen_python_code(
        self, nodes, root_module, namespace, *, verbose=False, include_stride=False, include_device=False
    ):
        writer = _Writer(self, root_module, namespace)
        for name, obj in self.additional_globals():
            writer.globals[name] = obj
        nodes = list(nodes)
        last_uses = _last_uses(nodes)
        body, lines = [], {}
        trace = None
        for index, node in enumerate(nodes):
            if verbose and node.op not in ("placeholder", "output"):
                comment = _origin(node)
                if comment != trace:
                    body.append(f"{comment}\n")
                    trace = comment
            statement = writer.statement(node)
            if statement is None:
                if verbose:
                    _annotate_parameter(writer, node, include_stride, include_device)
                continue
            if (
                verbose
                and node.op not in ("placeholder", "output")
                and (note := _note(node, include_stride, include_device))
            ):
                statement = statement.replace(f"{node!r} = ", f'{node!r}: "{note}" = ', 1)
            done = last_uses.get(node, []) if node.op not in ("placeholder", "output") else []
            body.append(statement + (f";  {' = '.join(map(repr, done))} = None" if done else "") + "\n")
            lines[len(body)] = index
        if not body:
            body.append("pass\n")
        if self._body_transformer is not None:
            body = self._body_transformer(body)
        definition = self.gen_fn_def(writer.parameters, writer.returns)
        wraps = "\n".join(f'torch.fx._symbolic_trace.wrap("{name}")' for name in writer.wrapped)
        text = "\n".join(f"    {line}" for line in "".join(body).lstrip("\n").split("\n"))
        start = wraps.count("\n") + 4
        offset = start + definition.count("\n")
        return PythonCode(
            f"\n{wraps}\n\n{definition}\n{text}", writer.globals, {n + offset: i for n, i in lines.items()}, start
        )


def _last_uses(nodes):
    """For each node, what no later node uses: its arguments in order, and itself when it is unused."""
    seen: set = set()
    found: dict = {}
    for node in reversed(nodes):
        for used in node.all_input_nodes:
            if used not in seen:
                seen.add(used)
                found.setdefault(node, []).append(used)
        if not node.users and node.op not in ("placeholder", "output"):
            found.setdefault(node, []).append(node)
    return found


def _origin(node):
    """The comment that tells where a node comes from."""
    trace = node.stack_trace
    if not trace:
        return "# No stacktrace found for following nodes"
    places = re.findall(r'File "(.+)", line (\d+), in (.+)\n\s*(.*)', trace)
    if not places:
        return "# No stacktrace found for following nodes"
    file, line, function, code = places[-1]
    return f"# File: {file}:{line} in {function}, code: {code.strip()}"


def _note(node, include_stride, include_device):
    meta = node.meta.get("val", node.meta.get("tensor_meta"))
    if isinstance(meta, (SymInt, SymFloat, SymBool)):
        return f"Sym({meta})"
    return (
        tensor_annotation(meta, include_stride, include_device)
        if hasattr(meta, "dtype") and hasattr(meta, "shape")
        else ""
    )


def _annotate_parameter(writer, node, include_stride, include_device):
    if node.type is None and (note := _note(node, include_stride, include_device)):
        name, equals, default = writer.parameters[-1].partition(" = ")
        writer.parameters[-1] = f'{name}: "{note}"{equals}{default}'


class _PyTreeCodeGen(CodeGen):
    """A function whose arguments and results are trees of containers: placeholders stand for their leaves."""

    def __init__(self, pytree_info: _PyTreeInfo):
        super().__init__()
        self.pytree_info = pytree_info

    def process_inputs(self, *inputs):
        return pytree.arg_tree_leaves(*inputs)

    def process_outputs(self, out):
        if not isinstance(out, (list, tuple)) or self.pytree_info.out_spec is None:
            return out
        return pytree.tree_unflatten(out, self.pytree_info.out_spec)

    def gen_fn_def(self, free_vars, maybe_return_annotation):
        names = self.pytree_info.orig_args
        definition = super().gen_fn_def(names, maybe_return_annotation)
        if not free_vars:
            return definition
        own = [name for name in names if name != "self"]
        bare = [re.split(r"\s*[:=]", v)[0].strip() for v in free_vars]
        typed = "".join(f"\n    {v.partition(' = ')[0]}" for v in free_vars if " : " in v)
        flat = f"fx_pytree.tree_flatten_spec([{', '.join(own)}], self._in_spec)"
        return f"{definition}{typed}\n    {', '.join(bare)}, = {flat}"

    def generate_output(self, output_args, value=repr):
        if self.pytree_info.out_spec is None:
            return super().generate_output(output_args, value)
        return f"return pytree.tree_unflatten({value(output_args)}, self._out_spec)"
