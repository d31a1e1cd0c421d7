"""Programs from texts: ``CompilationUnit`` and ``ScriptModule.define``, and the modules of 2018, compiled when made."""

from __future__ import annotations
import __future__

import ast
import functools
import itertools
import linecache
import math
import sys
import typing

import torch
from torch import nn

from .compiler import compiler
from .concrete import describe
from .errors import ScriptError, nearest
from .function import ScriptFunction
from .marks import _mark
from .module import RecursiveScriptModule, ScriptModule, compile_module

__all__ = ["CompilationUnit", "functions_of"]

_count = itertools.count(1)


def functions_of(text, names=None):
    """The Python functions that a text defines: defs and nothing else. They see those of the names that they write."""
    import textwrap

    text = textwrap.dedent(text)
    file = f"<torch.jit text {next(_count)}>"
    try:
        tree = ast.parse(text, file)
    except SyntaxError as error:
        raise ScriptError(f"the text is no Python: {error}") from None
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef) or node.decorator_list:
            raise ScriptError(f"the text may only define functions, found {ast.unparse(node).splitlines()[0]!r}")
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    space = {
        "torch": torch,
        "math": math,
        "Tensor": torch.Tensor,
        **{name: getattr(typing, name) for name in typing.__all__},
    }
    written = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    space.update((name, names[name]) for name in written.intersection(names or ()))
    space["__name__"] = "torch_jit_text"
    try:
        code = compile(tree, file, "exec", flags=__future__.annotations.compiler_flag, dont_inherit=True)
    except SyntaxError as error:
        line = (error.text or "").rstrip()
        raise ScriptError(f"SyntaxError: {error.msg}, in line {error.lineno}: {line.strip()}") from None
    exec(code, space)  # definitions only; their defaults are the caller's own text
    made = {node.name: space[node.name] for node in tree.body}
    for fn in made.values():
        fn._text = text
    return made


class CompilationUnit:
    """Functions compiled from a text; they may call functions that are named where the unit is made.

    >>> unit = torch.jit.CompilationUnit('''
    ... def scale(x, n: int):
    ...     return x * n
    ... ''')
    >>> unit.scale(torch.ones(2), 3)
    tensor([3., 3.])
    """

    __module__ = "torch.jit"

    def __init__(self, lang=None, _frames_up=0):
        self._functions, self._python = {}, {}
        if lang is not None:
            self.define(lang, _frames_up=_frames_up + 1)

    def define(self, lang, rcb=None, _frames_up=0):
        """Compile the functions of a text and add them.

        >>> unit = torch.jit.CompilationUnit()
        >>> _ = unit.define("def double(x): return 2 * x")
        >>> unit.double(torch.ones(2))
        tensor([2., 2.])
        """
        frame = sys._getframe(_frames_up + 1)
        made = functions_of(lang, {**frame.f_globals, **frame.f_locals, **self._python})
        for name, fn in made.items():
            self._functions[name] = ScriptFunction(compiler.function_for(fn), fn)
        self._python.update(made)

    def __getattr__(self, name):
        functions = self.__dict__.get("_functions", {})
        if name in functions:
            return functions[name]
        raise AttributeError(
            f"the unit has no function {name!r}" + (f": {hint}" if (hint := nearest(name, functions)) else "")
        )

    def get_functions(self):
        return list(self._functions.values())

    def find_function(self, name):
        """The function of this name, or None."""
        return self._functions.get(name)


def define_methods(module, text):
    """Compile methods from a text and add them to a compiled module.

    >>> net = torch.jit.script(torch.nn.ReLU())
    >>> net.define("def twice(self, x): return self.forward(x) * 2")
    >>> net.twice(torch.tensor([-1.0, 2.0]))
    tensor([0., 4.])
    """
    concrete = module._concrete
    if concrete is None:
        raise NotImplementedError("define: a module from a file takes no new methods")
    for name, fn in functions_of(text).items():
        concrete.python.__dict__[name] = _mark(fn, "script_method")
        module._method(name, compiler.method_for(concrete, name).function)


# -- the modules of 2018 ----------------------------------------------------------------------------------------------------


def _init_subclass(cls, **options):
    """Compile instances at the end of the outermost ``__init__``."""
    super(ScriptModule, cls).__init_subclass__(**options)
    if issubclass(cls, RecursiveScriptModule) or ("__init__" not in cls.__dict__ and not _methods(cls)):
        return
    init = cls.__dict__.get("__init__")

    def __init__(self, *args, **kwargs):
        if init is None:
            super(cls, self).__init__(*args, **kwargs)
        else:
            init(self, *args, **kwargs)
        if type(self) is cls:
            _finish(self)

    cls.__init__ = functools.wraps(init)(__init__) if init is not None else __init__


def _methods(cls):
    found = {}
    for each in reversed(cls.__mro__):
        for name, value in each.__dict__.items():
            if getattr(value, "_torchscript_modifier", None) == "script_method":
                found[name] = value
    return found


def _finish(self):
    """Compile the marked methods and those of texts; attributes are from now on those of the program."""
    if "_parameters" not in self.__dict__:
        raise RuntimeError(
            f"'{type(self).__name__}' has not been initialized, did you forget to call 'super().__init__()'?"
        )
    texts = self.__dict__.pop("_texts", [])
    for text in texts:
        for name, fn in functions_of(text).items():
            self.__dict__[name] = _mark(fn, "script_method")
    names = [*_methods(type(self)), *(name for text in texts for name in functions_of(text))]
    self.__dict__["_made"] = True
    if not names:
        return
    concrete = describe(self)
    for name in names:
        compiler.method_for(concrete, name)
    compiled = compile_module(self) if "forward" not in names else _wrapped(self)
    for registry in ("_parameters", "_buffers", "_modules"):
        self.__dict__[registry] = compiled.__dict__[registry]
    declared = self.__dict__.pop("_declared", {})
    for name in list(self.__dict__):
        if name in declared:
            del self.__dict__[name]
    for name in names:
        self.__dict__[name] = getattr(compiled, name)
    self.__dict__["_compiled"] = compiled
    self.__dict__["_c"] = compiled._c


def _wrapped(self):
    from .module import wrap

    return wrap(self, {})


def _define(self, src):
    """Compile methods from a text; within ``__init__``, at its end.

    >>> class Double(torch.jit.ScriptModule):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.define("def forward(self, x): return 2 * x")
    >>> Double()(torch.ones(2))
    tensor([2., 2.])
    """
    if "_compiled" in self.__dict__:
        define_methods(self._compiled, src)
        for name in functions_of(src):
            self.__dict__[name] = getattr(self._compiled, name)
    else:
        self.__dict__.setdefault("_texts", []).append(src)
        if type(self) is ScriptModule or "_made" in self.__dict__:  # there is no __init__ to wait for
            _finish(self)


def _setattr(self, name, value):
    compiled = self.__dict__.get("_compiled")
    if isinstance(value, torch.jit.Attribute) and compiled is None and "_parameters" in self.__dict__:
        self.__dict__.setdefault("_declared", {})[name] = value.type
        value = value.value
    if compiled is not None and compiled._c._type().attribute_type(name):
        setattr(compiled, name, value)
        if name in self.__dict__:
            self.__dict__[name] = value
        return
    nn.Module.__setattr__(self, name, value)


def _getattr(self, name):
    compiled = self.__dict__.get("_compiled")
    if compiled is not None and compiled._c._type().attribute_type(name) is not None:
        return getattr(compiled, name)
    return nn.Module.__getattr__(self, name)


def program_of(module):
    """The compiled form; where no method is marked, its tensors and children are the program."""
    compiled = module.__dict__.get("_compiled")
    return compile_module(module) if compiled is None else compiled


def _copy(self):
    """A compiled module that shares what this one holds."""
    return program_of(self).__copy__()


def _of_compiled(name):
    return property(lambda self: getattr(program_of(self), name))


ScriptModule.__init_subclass__ = classmethod(_init_subclass)
ScriptModule.define = _define
ScriptModule.__copy__ = _copy
ScriptModule.__setattr__ = _setattr
ScriptModule.__getattr__ = _getattr
for _name in ("graph", "code", "inlined_graph", "code_with_constants"):
    setattr(ScriptModule, _name, _of_compiled(_name))
for _name in ("save", "save_to_buffer", "graph_for"):
    _forwarded = lambda self, *args, _name=_name, **kwargs: getattr(program_of(self), _name)(*args, **kwargs)
    _forwarded.__name__, _forwarded.__doc__ = _name, getattr(RecursiveScriptModule, _name).__doc__
    setattr(ScriptModule, _name, _forwarded)
RecursiveScriptModule.__init_subclass__ = classmethod(lambda cls, **options: None)
