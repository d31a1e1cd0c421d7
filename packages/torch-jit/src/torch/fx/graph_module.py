"""A module whose forward is the program of a graph."""

from __future__ import annotations

import copy
import itertools
import linecache
import re
import sys
import types
from pathlib import Path

import torch
from torch import nn

from ._names import is_path
from .graph import Graph, PythonCode, _custom_builtins, _PyTreeCodeGen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


__all__ = ["GraphModule", "reduce_graph_module"]

_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"

_counter = itertools.count()


def _exec_with_source(src: str, globals: dict, co_fields=None):
    """Run program text so that tracebacks show its lines."""
    key = f"<eval_with_key>.{next(_counter)}"
    if co_fields and co_fields.get("co_filename"):
        key += (
            f" from {co_fields['co_filename']}:{co_fields.get('co_firstlineno', 0)} in {co_fields.get('co_name', '?')}"
        )
    linecache.cache[key] = (len(src), None, src.splitlines(keepends=True), key)
    exec(compile(src, key, "exec", dont_inherit=True), globals)
    return key


def _forward_from_src(src: str, globals: dict, co_fields=None):
    return _method_from_src("forward", src, globals, co_fields)


def _method_from_src(name: str, src: str, globals: dict, co_fields=None):
    space = dict(globals)
    key = _exec_with_source(src, space, co_fields)
    method = space[name]
    method._source_key = key
    return method


def _import_statement(name, obj) -> str:
    """The statement by which a module gets a global name of generated code."""
    if name in _custom_builtins and (_custom_builtins[name].obj is obj or name == "nan"):
        return _custom_builtins[name].import_str
    if isinstance(obj, types.ModuleType):
        return f"import {obj.__name__} as {name}"
    module, attribute = getattr(obj, "__module__", None), getattr(obj, "__qualname__", getattr(obj, "__name__", None))
    if module == "typing" and attribute is None:
        attribute = obj._name
    module = {None: "builtins", "_operator": "operator"}.get(module, module)
    found = sys.modules.get(module)
    for part in (attribute or "").split("."):
        found = getattr(found, part, None)
    if attribute is None or "." in attribute or found is not obj:
        raise ValueError(
            f"the program calls {obj!r}, which cannot be imported from {module!r} by name: give it a name of its own at module "
            "scope, so that a saved GraphModule can find it"
        )
    if not all(map(is_path, module.split("."))):
        return f"{name} = __import__('importlib').import_module({module!r}).{attribute}"
    return f"from {module} import {attribute} as {name}"


def _format_import_block(made: PythonCode) -> str:
    """The statements that bring what a program mentions."""
    mentioned = set(re.findall(r"\w+", made.src)) | {"torch"}
    return "\n".join(sorted({_import_statement(name, obj) for name, obj in made.globals.items() if name in mentioned}))


def reduce_graph_module(body: dict, import_block: str) -> Any:
    """Make a GraphModule again of what ``pickle`` kept of it; also reads what PyTorch kept."""
    code = body.get("_code") or body["code"]
    # torch.utils shows the module under this name; it may be absent.
    import_block = import_block.replace("import torch.utils._pytree as", "from torch import _pytree as")
    forward = _forward_from_src(import_block + "\n" + code, {})
    return _from_forward(forward, body)


def _from_forward(forward, body, graph_module_cls=None):
    class CodeOnly(nn.Module):
        def __init__(self):
            super().__init__()
            self.__dict__.update(body)

    CodeOnly.forward = forward
    from ._symbolic_trace import Tracer

    tracer_cls = body.get("_tracer_cls") or Tracer
    keeping = type("KeepModules", (tracer_cls,), {"is_leaf_module": lambda self, module, path: True})
    # A tracer of the user's may want arguments; all that counts here is which modules stay whole.
    tracer = keeping(**(body.get("_tracer_extras") or {})) if tracer_cls is not Tracer else keeping()
    module = CodeOnly()
    graph = tracer.trace(module)
    graph._tracer_cls, graph._tracer_extras = body.get("_tracer_cls"), body.get("_tracer_extras")
    result = GraphModule(module, graph, class_name=body.get("_graphmodule_cls_name", "GraphModule"))
    for name, value in body.items():
        if (
            name not in ("_code", "code", "_graphmodule_cls_name", "_lineno_map", "_prologue_start")
            and name not in result.__dict__
        ):
            result.__dict__[name] = value
    for table in ("_parameters", "_buffers", "_modules"):  # those too that the graph does not use
        for name, value in body.get(table, {}).items():
            if name not in result.__dict__[table]:
                result.__dict__.pop(name, None)
                result.__dict__[table][name] = value
    result.meta.update(body.get("meta") or {})
    for hooks in ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "training"):
        if hooks in body:
            result.__dict__[hooks] = body[hooks]
    return result


def _copy_attr(from_module, to_module, target: str):
    """Let ``to_module`` have what stands at a dotted path of ``from_module``, through plain modules on the way."""
    *path, last = target.split(".")
    for name in path:
        following, there = getattr(from_module, name), getattr(to_module, name, None)
        if there is following:
            return  # the whole module is shared already
        if there is None:
            there = nn.Module()
            setattr(to_module, name, there)
        from_module, to_module = following, there
    _put(to_module, last, getattr(from_module, last), _persistent(from_module, last))


def _assign_attr(from_obj, to_module, target: str):
    """Put a value at a dotted path of ``to_module``, through plain modules on the way."""
    *path, last = target.split(".")
    for name in path:
        if getattr(to_module, name, None) is None:
            setattr(to_module, name, nn.Module())
        to_module = getattr(to_module, name)
    _put(to_module, last, from_obj, True)


def _persistent(module, name):
    return name not in getattr(module, "_non_persistent_buffers_set", ())


def _put(module, name, value, persistent):
    if isinstance(value, torch.Tensor) and not isinstance(value, nn.Parameter):
        module.register_buffer(name, value, persistent=persistent)
    else:
        setattr(module, name, value)


def _del_attr(module, target: str):
    *path, last = target.split(".")
    for name in path:
        module = getattr(module, name)
    delattr(module, last)


class GraphModule(nn.Module):
    """A module made from a graph and the parameters, buffers and submodules that it mentions.

    ``root`` is the module that has them, or a dict by dotted path. After changing ``graph`` call :meth:`recompile`.

    >>> module = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU()))
    >>> print(module.code.strip())
    def forward(self, input):
        input_1 = input
        _0 = getattr(self, "0")(input_1);  input_1 = None
        _1 = getattr(self, "1")(_0);  _0 = None
        return _1
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        # Each has a class of its own, which holds its forward: as with any module, forward is found on the class.
        for base in cls.__mro__:
            if "GraphModuleImpl" not in base.__qualname__:
                cls = base
                break

        class GraphModuleImpl(cls):
            pass

        GraphModuleImpl.__module__ = GraphModule.__module__
        return super().__new__(GraphModuleImpl)

    def __init__(self, root: Any, graph: Graph, class_name: str = "GraphModule") -> None:
        super().__init__()
        self.__class__.__name__ = class_name
        self.meta: dict = {}
        self._replace_hooks: list = []
        self._create_node_hooks: list = []
        self._erase_node_hooks: list = []
        self._deepcopy_hooks: list = []
        targets = [(n, n.target) for n in graph.nodes if n.op in ("get_attr", "call_module")]
        if isinstance(root, nn.Module):
            self.training = getattr(root, "training", True)
            for _, target in targets:
                _copy_attr(root, self, target)
            if isinstance(root, GraphModule):
                self.meta.update(root.meta)
        elif isinstance(root, dict):
            for node, target in targets:
                if target not in root:
                    raise RuntimeError(
                        f"Node {node} referenced target {target} but that target was not provided in ``root``! It has "
                        f"{sorted(root)}"
                    )
            for target in sorted({target for _, target in targets}, key=lambda t: t.count(".")):
                _assign_attr(root[target], self, target)
        else:
            raise RuntimeError(f"Unsupported type {type(root)} passed for root: a Module or a dict by dotted path")
        self._tracer_cls = None
        if graph._tracer_cls is not None and "<locals>" not in graph._tracer_cls.__qualname__:
            self._tracer_cls = graph._tracer_cls
        self._tracer_extras = graph._tracer_extras or {}
        self.graph = graph

    @property
    def graph(self) -> Graph:
        """The graph; assigning another one recompiles."""
        return self._graph

    @graph.setter
    def graph(self, graph: Graph) -> None:
        if not isinstance(graph, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(graph)}")
        if graph.owning_module not in (None, self):
            graph = copy.deepcopy(graph)
        self._graph = graph
        graph.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The program text of ``forward``, as of the last :meth:`recompile`."""
        if not hasattr(self, "_code"):
            raise RuntimeError("Code has not been generated yet: call recompile()")
        return self._code

    def recompile(self) -> PythonCode:
        """Make ``forward`` from the graph as it is now."""
        if isinstance(self._graph._codegen, _PyTreeCodeGen):
            self._in_spec = self._graph._codegen.pytree_info.in_spec
            self._out_spec = self._graph._codegen.pytree_info.out_spec
        made = self._graph.python_code(root_module="self")
        self._code, self._lineno_map, self._prologue_start = made.src, made._lineno_map, made._prologue_start
        cls = type(self)
        before = cls.__dict__.get("forward")
        cls.forward = _forward_from_src(made.src, made.globals, self._graph._co_fields)
        if self._graph._codegen.signature is not None:
            cls.forward.__signature__ = self._graph._codegen.signature
        if before is not None:
            linecache.cache.pop(getattr(before, "_source_key", None), None)
        return made

    # --- submodules ---

    def add_submodule(self, target: str, m: nn.Module) -> bool:
        """Put a module at a dotted path, through plain modules on the way; False where something else stands there."""
        *path, last = target.split(".")
        owner = self
        for name in path:
            inner = getattr(owner, name, None)
            if inner is None:
                inner = nn.Module()
                setattr(owner, name, inner)
            if not isinstance(inner, nn.Module):
                return False
            owner = inner
        owner.add_module(last, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Remove the module at a dotted path; False where there is none. Nodes that call it stay."""
        *path, last = target.split(".")
        owner = self
        for name in path:
            owner = getattr(owner, name, None)
            if not isinstance(owner, nn.Module):
                return False
        if not isinstance(getattr(owner, last, None), nn.Module):
            return False
        delattr(owner, last)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Remove every submodule that no node calls and of which no node reads a parameter."""
        used = set()
        for node in self.graph.nodes:
            if node.op not in ("call_module", "get_attr"):
                continue
            parts = node.target.split(".")
            used.update(".".join(parts[:n]) for n in range(1, len(parts) + 1))
            if node.op == "call_module":
                inside = self.get_submodule(node.target)
                used.update(f"{node.target}.{name}" for name, _ in inside.named_modules(remove_duplicate=False) if name)
        for name in [name for name, _ in self.named_modules(remove_duplicate=False) if name]:
            if name not in used:
                self.delete_submodule(name)

    # --- text ---

    def print_readable(self, print_output: bool = True, include_stride: bool = False, include_device: bool = False, colored: bool = False, *,
                       fast_sympy_print: bool = False, expanded_def: bool = False, additional_meta: Any = None) -> Any:  # fmt: skip
        """The program as a class, with shapes and places where the nodes know them; of inner GraphModules too."""
        text = self._readable(include_stride, include_device)
        if print_output:
            print(text + "\n")
        return text

    def _readable(self, include_stride, include_device):
        code = self._graph.python_code(
            "self", verbose=True, include_stride=include_stride, include_device=include_device
        ).src
        body = code.strip("\n").rstrip(" ").rstrip("\n")
        text = f"class {self._get_name()}(torch.nn.Module):\n" + _indent(body) + "\n"
        for child in self.children():
            if isinstance(child, GraphModule):
                text += "\n" + _indent(child._readable(include_stride, include_device)) + "\n"
        return text

    def __str__(self) -> str:
        notice = "# To see more debug info, please use `graph_module.print_readable()`"
        return "\n".join([super().__str__(), self._code, notice])

    def _get_name(self):
        return type(self).__name__

    # --- copies and files ---

    def __deepcopy__(self, memo: Any) -> Any:
        body = {key: value for key, value in self.__dict__.items() if key != "_graph"}
        copied = type(self).__new__(type(self))
        memo[id(self)] = copied
        copied.__dict__.update(copy.deepcopy(body, memo))
        type(copied).__name__ = type(self).__name__
        copied._graph = copy.deepcopy(self._graph, memo)
        copied._graph.owning_module = copied
        copied.recompile()
        for hook in self._deepcopy_hooks:
            hook(copied)
        return copied

    def __copy__(self) -> Any:
        copied = GraphModule(self, copy.deepcopy(self.graph), type(self).__name__)
        for name, value in self.__dict__.items():
            copied.__dict__.setdefault(name, value)
        copied.meta = dict(self.meta)
        return copied

    def __reduce__(self) -> Any:
        made = self._graph.python_code("self")
        body = {key: value for key, value in self.__dict__.items() if key != "_graph"}
        body["_code"] = made.src
        body["_graphmodule_cls_name"] = type(self).__name__
        return reduce_graph_module, (body, _format_import_block(made) + "\n")

    def to_folder(self, folder: Any, module_name: str = "FxModule") -> None:
        """Write the module as a Python package: its program as text and its parameters beside it.

        ``from folder import FxModule`` then gives a plain Module that needs nothing of torch.fx but wrapped names.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        tensors = {**self._parameters, **self._buffers}
        torch.save({name: t.detach() for name, t in tensors.items() if t is not None}, folder / "tensors.pt")
        made = self._graph.python_code("self")
        lines = [
            _format_import_block(made),
            "from pathlib import Path",
            "",
            "",
            f"class {module_name}(torch.nn.Module):",
        ]
        lines += ["    def __init__(self):", "        super().__init__()", "        here = Path(__file__).parent"]
        lines.append("        tensors = torch.load(here / 'tensors.pt')")
        for name, tensor in tensors.items():
            if tensor is None:
                kind = "parameter" if name in self._parameters else "buffer"
                lines.append(f"        self.register_{kind}({name!r}, None)")
            elif name in self._parameters:
                lines.append(f"        self.{name} = torch.nn.Parameter(tensors[{name!r}], {tensor.requires_grad})")
            else:
                persistent = _persistent(self, name)
                lines.append(f"        self.register_buffer({name!r}, tensors[{name!r}], persistent={persistent})")
        for name, child in [
            *self.named_children(),
            *((n, getattr(self, n)) for n in ("_in_spec", "_out_spec") if n in vars(self)),
        ]:
            torch.save(child, folder / f"{name}.pt")
            lines.append(f"        setattr(self, {name!r}, torch.load(here / {f'{name}.pt'!r}, weights_only=False))")
        lines += [_indent(made.src.strip("\n").rstrip()), ""]
        (folder / "module.py").write_text("\n".join(lines))
        (folder / "__init__.py").write_text(f"from .module import {module_name}\n\n__all__ = [{module_name!r}]\n")


def _indent(text):
    return "\n".join(f"    {line}" if line.strip() else line for line in text.split("\n"))


class _CodeOnlyModule(nn.Module):
    """A module with the attributes of a pickled GraphModule, until its graph is traced again."""

    def __init__(self, body):
        super().__init__()
        self.__dict__.update(body)
