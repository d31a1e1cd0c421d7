"""Compiled modules as Python sees them: modules whose parameters, buffers, attributes and methods a program shares."""

from __future__ import annotations

import copy
import weakref

import torch
from torch import nn

from .. import _ir as ir
from .._forms import in_pytorchs_form
from .calls import modifier
from .compiler import compiler, loaded
from .concrete import Concrete, describe, forget, form_of
from .convert import Converter, as_interface, to_object
from .errors import ScriptError
from .hooks import Attached, of_type, programs
from .library import is_library

__all__ = ["RecursiveScriptModule", "ScriptModule", "compile_module", "wrap"]


class Slots(dict):
    """One of a module's registries; what is put in is put into the program's object as well."""

    def __init__(self, values, object, unwrap=None):
        super().__init__(values)
        self.object, self.unwrap = object, unwrap

    def __setitem__(self, name, value):
        wanted = self.object._type().attribute_type(name)
        if wanted is not None:
            if value is not None:
                if isinstance(value, nn.Module) and not hasattr(value, "_c"):
                    raise RuntimeError(
                        f"Cannot re-assign modules in a ScriptModule with non-scripted module, tried to replace existing "
                        f"module {name!r} with a {type(value).__name__}: give it torch.jit.script(...)"
                    )
                as_interface(value, wanted)
                value_of = value if self.unwrap is None else self.unwrap(value)
            try:
                self.object.setattr(name, None if value is None else value_of)
            except TypeError as error:
                raise RuntimeError(str(error)) from None
        super().__setitem__(name, value)

    def update(self, *others, **more):
        for name, value in dict(*others, **more).items():
            self[name] = value

    def copy(self):
        return dict(self)

    def __reduce__(self):
        return dict, (dict(self),)


class ScriptMethod:
    """A compiled method of a module."""

    __module__ = "torch.jit"

    def __init__(self, owner, program):
        self.owner, self.program, self.name = owner, program, program.function.name
        self.converter = Converter.of(program)
        if owner.__dict__.get("_concrete") is not None and self.name in dir(type(owner._concrete.python)):
            self.__doc__ = getattr(type(owner._concrete.python), self.name).__doc__

    def __call__(self, *args, **kwargs):
        owner = self.owner
        run = self.program.function
        if self.converter is None:
            result = run(owner._c, *args, **kwargs)
        else:
            result = self.converter.call(lambda *values: run(owner._c, *values), args, kwargs)
        for module, name in owner.__dict__["_written"]:
            module._read_back(name)
        return result

    @property
    def graph(self):
        return self.program.function.graph

    @property
    def inlined_graph(self):
        return in_pytorchs_form(self.program.function.inlined_graph)

    @property
    def schema(self):
        """What it takes and gives, the module first."""
        from .._schema import schema_of

        return schema_of(self.program)

    @property
    def code(self):
        from .printer import code_of

        return code_of(self.program.function)

    def graph_for(self, *args, **kwargs):
        return self.graph

    def __repr__(self):
        return f"<method {self.name} of {self.owner.original_name}>"


class ScriptModule(nn.Module):
    """The base of compiled modules.

    >>> isinstance(torch.jit.script(torch.nn.ReLU()), torch.jit.ScriptModule)
    True
    """

    __module__ = "torch.jit"

    def _complete(self):
        """Make methods that are made late: of traced modules."""


class RecursiveScriptModule(ScriptModule):
    """A compiled module: :func:`torch.jit.script` and :func:`torch.jit.load` make it.

    Parameters, buffers, children, ``state_dict``, ``to``, ``train`` are those of any module.

    >>> net = torch.jit.script(torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU()))
    >>> net(torch.ones(1, 2)).shape, list(net.state_dict())
    (torch.Size([1, 3]), ['0.weight', '0.bias'])
    """

    __module__ = "torch.jit"

    def __init__(self, object, children=None, python=None, name=None):
        nn.Module.__init__(self)
        own, kind = self.__dict__, object._type()
        own["_c"], own["_concrete"] = object, compiler.concrete_of(kind)
        _wrappers[object] = self
        own["original_name"] = name or (
            type(python).__name__ if python is not None else kind.qualified_name().split(".")[-1]
        )
        own["_methods"], own["_python"] = {}, python
        registries = {"_parameters": {}, "_buffers": {}}
        for name, _, is_parameter, is_buffer in kind.attributes():
            if is_parameter or is_buffer:
                registries["_parameters" if is_parameter else "_buffers"][name] = object.getattr(name)
        for registry, values in registries.items():
            own[registry] = Slots(values, object)
        own["_modules"] = Slots(children or {}, object, lambda module: module._c)
        own.pop("training", None)
        own["_written"] = None
        if python is not None:
            for name in _exported(python):  # in place of what every module has, as `_save_to_state_dict`
                method = None if name.startswith("__") or name not in dir(nn.Module) else kind.find_method(name)
                if method is not None:
                    own[name] = self._method(name, method)
            own["_non_persistent_buffers_set"] = set(python._non_persistent_buffers_set)
            for hooks in ("_state_dict_hooks", "_load_state_dict_pre_hooks"):
                own[hooks] = dict(getattr(python, hooks, {}))
        hooks = of_type(kind)
        for program in hooks.before:
            self.register_forward_pre_hook(Attached(ScriptMethod(self, program)))
        for program in hooks.after:
            self.register_forward_hook(Attached(ScriptMethod(self, program)))
        own["_written"] = self._find_written()

    # -- attributes -----------------------------------------------------------------------------------------------------

    @property
    def training(self):
        """Whether the module is in training mode; the program reads the same."""
        return self._c.getattr("training") if self._c._type().has_attribute("training") else True

    def __getattr__(self, name):
        own = self.__dict__
        for registry in ("_parameters", "_buffers", "_modules"):
            if name in own.get(registry, ()):
                return own[registry][name]
        made = own.get("_methods", {}).get(name)
        if made is not None:
            return made
        object = own.get("_c")
        if object is None:
            raise AttributeError(name)
        if object._type().attribute_type(name) is not None:
            return object.getattr(name)
        method = object._type().find_method(name)
        if method is not None:
            return self._method(name, method)
        python, concrete = own.get("_python"), own.get("_concrete")
        if concrete is not None and name in concrete.constants:
            return concrete.constants[name]
        if name in own.get("_finals", ()):
            return own["_finals"][name]
        if python is not None and not name.startswith("__") and hasattr(python, name):
            found = getattr(type(python), name, None)
            if isinstance(found, property):
                return found.fget(self)
            if callable(found) and not isinstance(found, type):
                return found.__get__(self)
            return getattr(python, name)
        raise AttributeError(f"{own['original_name']!r} (compiled) has no attribute {name!r}")

    def constants_of(self):
        """The constants of its program by name."""
        own = self.__dict__
        return own["_concrete"].constants if own.get("_concrete") is not None else own.get("_finals", {})

    def _method_named(self, name):
        function = self._c._type().find_method(name)
        if function is None:
            raise AttributeError(f"{self.original_name} has no compiled method {name!r}")
        return self._methods.get(name) or self._method(name, function)

    def _method(self, name, function):
        program = None
        if self._concrete is not None:
            program = next((each for each in self._concrete.programs.values() if each.function == function), None)
        made = self._methods[name] = ScriptMethod(self, program or loaded(function))
        return made

    def __setattr__(self, name, value):
        object = self.__dict__.get("_c")
        if object is None or name in self.__dict__:
            super().__setattr__(name, value)
            return
        if object._type().attribute_type(name) is None:
            if isinstance(value, (nn.Parameter, nn.Module)):
                raise RuntimeError(
                    f"{self.original_name} is compiled: {name!r} cannot be added; add it to the module before torch.jit.script"
                )
            concrete = self.__dict__.get("_concrete")
            if concrete is not None and name in concrete.constants:
                raise AttributeError(
                    f"{self.original_name} is compiled: {name!r} is a constant of its program and cannot be changed; "
                    "change it before torch.jit.script"
                )
            setter = getattr(type(self._python), name, None) if self.__dict__.get("_python") is not None else None
            if isinstance(setter, property) and setter.fset is not None:
                setter.fset(self, value)
            elif name != "training":
                self.__dict__[name] = value
            return
        for registry in ("_parameters", "_buffers", "_modules"):
            if name in self.__dict__[registry]:
                self.__dict__[registry][name] = value
                return
        try:
            object.setattr(name, to_object(value))
        except TypeError as error:
            raise RuntimeError(str(error)) from None

    def __delattr__(self, name):
        raise RuntimeError(f"{self.original_name} is compiled: {name!r} cannot be deleted")

    def _read_back(self, name):
        """A buffer or parameter that the program has assigned anew."""
        for registry in ("_parameters", "_buffers"):
            if name in self.__dict__[registry]:
                dict.__setitem__(self.__dict__[registry], name, self._c.getattr(name))

    def _find_written(self):
        found = [(self, name) for name in written(self._c._type())]
        for child in self._modules.values():
            if isinstance(child, RecursiveScriptModule):
                found += child._written
        return found

    # -- the program ------------------------------------------------------------------------------------------------------

    @property
    def forward(self):
        """The compiled method."""
        method = self.__dict__["_methods"].get("forward")
        if method is None:
            function = self._c._type().find_method("forward")
            if function is None:
                raise AttributeError(f"{self.original_name} has no compiled forward")
            method = self._method("forward", function)
        return method

    @property
    def graph(self):
        """The graph of forward."""
        return self._c._type().find_method("forward").graph

    @property
    def inlined_graph(self):
        return in_pytorchs_form(self._c._type().find_method("forward").inlined_graph)

    @property
    def code(self):
        """forward as readable Python."""
        from .printer import code_of

        return code_of(self._c._type().find_method("forward"))

    @property
    def code_with_constants(self):
        from .printer import code_and_constants

        return code_and_constants(self._c._type().find_method("forward"))

    def graph_for(self, *args, **kwargs):
        return self.graph

    def get_debug_state(self):
        raise NotImplementedError("get_debug_state: programs here have one plan for all arguments")

    def save(self, f, _extra_files=None, **kwargs):
        """Write an archive that :func:`torch.jit.load` and PyTorch read.

        >>> import io
        >>> file = io.BytesIO()
        >>> torch.jit.script(torch.nn.ReLU()).save(file)
        >>> torch.jit.load(io.BytesIO(file.getvalue()))(torch.tensor([-1.0, 2.0]))
        tensor([0., 2.])
        """
        torch.jit.save(self, f, _extra_files)

    def save_to_buffer(self, _extra_files=None):
        import io

        buffer = io.BytesIO()
        torch.jit.save(self, buffer, _extra_files)
        return buffer.getvalue()

    def _save_for_lite_interpreter(self, f, _extra_files=None, **settings):
        """Write an archive that :mod:`torch.jit.mobile` reads: that of :meth:`save`."""
        self.save(f, _extra_files)

    def _save_to_buffer_for_lite_interpreter(self, _extra_files=None, **settings):
        return self.save_to_buffer(_extra_files)

    def define(self, src):
        """Compile methods from a text and add them."""
        from .unit import define_methods

        define_methods(self, src)

    def extra_repr(self):
        return f"original_name={self.original_name}"

    def _get_name(self):
        return "RecursiveScriptModule"

    def _own(self, name):
        """A special method, compiled or as its class has it in Python; None where it is that of a container."""
        if self._c._type().find_method(name) is not None:
            return self._method_named(name)
        if self._python is None:
            return None
        found = getattr(type(self._python), name, None)
        if found is None:
            raise NotImplementedError(f"{self.original_name} (compiled) has no {name}: its class defines none")
        return None if is_library(found) else found.__get__(self)

    def __len__(self):
        own = self._own("__len__")
        return len(self._modules) if own is None else own()

    def __iter__(self):
        own = self._own("__iter__")
        return iter(self._of_container() if own is None else own())

    def _of_container(self):
        return list(self._modules) if isinstance(self._python, nn.ModuleDict) else list(self._modules.values())

    def __getitem__(self, index):
        own = self._own("__getitem__")
        if own is not None:
            return own(index)
        if isinstance(index, str):
            return self._modules[index]
        if isinstance(index, slice) and self._python is not None:
            return self._python[index]
        return list(self._modules.values())[index]

    def __contains__(self, name):
        own = self._own("__contains__")
        return name in self._modules if own is None else own(name)

    def __bool__(self):
        return True

    # -- copies ---------------------------------------------------------------------------------------------------------------

    def __copy__(self):
        return self._copied({}, lambda value, memo: value)

    def __deepcopy__(self, memo):
        return self._copied(memo, copy.deepcopy)

    def copy(self):
        return self._copied({}, copy.deepcopy)

    def _copied(self, memo, one):
        made = ir.Object(self._c._type())
        children = {}
        for name, *_ in self._c._type().attributes():
            child = self._modules.get(name)
            if child is not None:
                children[name] = memo[id(child)] if id(child) in memo else child._copied(memo, one)
                made.setattr(name, children[name]._c)
            else:
                made.setattr(name, one(self._c.getattr(name), memo))
        if state_method(self._c._type()) is not None:
            made.call("__setstate__", one(self._c.call("__getstate__"), memo))
        module = memo[id(self)] = type(self)(made, children, self._python, self.original_name)
        module.__dict__["_finals"] = self.__dict__.get("_finals", {})
        return module

    def __reduce_ex__(self, protocol):
        raise RuntimeError(f"{self.original_name} is compiled and cannot be pickled: write it with torch.jit.save")


def state_method(cls):
    """The ``__getstate__`` of a class that has its own way to be saved, or None."""
    concrete = compiler.concrete_of(cls)
    if concrete is not None and not concrete.is_module:
        for name in ("__getstate__", "__setstate__"):
            concrete.method(name)
    return cls.find_method("__getstate__") and cls.find_method("__setstate__") and cls.find_method("__getstate__")


def written(cls):
    """Names of parameters and buffers that methods of a class assign."""
    names = [name for name, _, *which in cls.attributes() if any(which)]
    found = set()
    for function in cls.methods():
        for node in function.graph.findAllNodes("prim::SetAttr"):
            if node.s("name") in names:
                found.add(node.s("name"))
    return sorted(found)


_wrappers = weakref.WeakValueDictionary()  # the object of a program -> the module that Python sees


known_wrapper = _wrappers.get


def wrapper_of(object):
    """The compiled module that an object of a program belongs to."""
    found = _wrappers.get(object)
    return of_object(object) if found is None else found


def child_of(object, name, type):
    """The object of a module that another one holds under a name, or None where that is no module."""
    if type.kind() not in ("ClassType", "InterfaceType"):
        return None
    child = object.getattr(name)
    child = getattr(child, "_c", child)
    return child if isinstance(child, ir.Object) and child._type().is_module() else None


def of_object(object, known=None):
    """The compiled module of a program's object, and those below it."""
    known = {} if known is None else known
    found = known.get(object)
    if found is None:
        children = {}
        for name, of, *_ in object._type().attributes():
            child = child_of(object, name, of)
            if child is not None:
                children[name] = of_object(child, known)
        found = known[object] = RecursiveScriptModule(object, children)
    return found


# -- from Python's modules ------------------------------------------------------------------------------------------------------


def compile_module(module):
    """Compile a module and all below it; the parameters stay the same tensors."""
    if "_parameters" not in module.__dict__:
        raise RuntimeError(
            f"'{type(module).__name__}' has not been initialized, did you forget to call 'super().__init__()'?"
        )
    concrete = describe(module)
    if not isinstance(concrete, Concrete):
        return module
    names = list(_exported(module))
    if _has_forward(concrete):
        names.insert(0, "forward")
    compiled = [compiler.method_for(concrete, name).function.name for name in names]
    if compiled != names:  # a caller of a module like this one has given the name a program for other types
        forget(concrete)
        concrete = describe(module)
        for name in names:
            compiler.method_for(concrete, name)
    return wrap(module, {})


def _exported(module):
    for name in dir(type(module)):
        if getattr(getattr(type(module), name, None), "_torchscript_modifier", None) == "export":
            yield name


def _has_forward(concrete):
    """Whether there is a forward to compile: one that its class defines and does not leave to Python."""
    fn = concrete.function("forward")
    return fn not in (None, nn.Module.forward) and modifier(fn) not in ("unused", "drop", "ignore")


def wrap(module, memo):
    """The compiled module of a module whose type is described."""
    if isinstance(module, RecursiveScriptModule):
        return module
    found = memo.get(id(module))
    if found is not None:
        return found
    given, module = module, form_of(module)
    concrete = describe(module)
    made = ir.Object(concrete.type)
    children = {}
    for name, child in module._modules.items():
        children[name] = None if child is None else wrap(child, memo)
        if child is not None and concrete.kinds.get(name) == "interface":
            as_interface(children[name], concrete.slots[name])
        made.setattr(name, None if child is None else children[name]._c)
    _fill(made, concrete, module)
    _compile_rest(concrete)
    if concrete.hooks:
        programs(compiler, concrete)
    wrapped = memo[id(given)] = RecursiveScriptModule(made, children, module)
    return wrapped


def _fill(made, concrete, module):
    """Give an object the attributes of a module."""
    for name, type in concrete.slots.items():
        if concrete.kinds[name] == "interface":
            continue
        value = module.__dict__[name] if name in module.__dict__ else getattr(module, name)
        value = value.value if isinstance(value, torch.jit.Attribute) else value
        try:
            made.setattr(name, to_object(value))
        except (TypeError, RuntimeError) as error:
            raise ScriptError(f"{concrete.python.__class__.__name__}.{name} is {type}: {error}") from None


def exporting(module):
    """The modules of a tree that is traced, each with an object whose class has the exported methods and no other."""
    memo, found = {}, {}
    describe(module, memo, apart=True)

    def build(each):
        if isinstance(each, RecursiveScriptModule):
            return each._c
        if each not in found:
            concrete, form = memo[id(each)], form_of(each)
            made = found[each] = ir.Object(concrete.type)
            for name, child in form._modules.items():
                made.setattr(name, None if child is None else build(child))
            _fill(made, concrete, form)
        return found[each]

    build(module)
    described = [memo[id(each)] for each in found]
    try:
        for concrete in described:
            for name in _exported(concrete.python):
                compiler.method_for(concrete, name)
    finally:
        for concrete in described:  # forward is what the trace makes it, not what Python has
            compiler.concretes.pop(concrete.type.qualified_name())
    return found.items()


def is_exporting(module):
    """Whether the class of a module has exported methods."""
    return next(_exported(module), None) is not None


def _compile_rest(concrete):
    """Exported methods and forward of a child that nothing has called so far; where forward cannot be compiled, whoever calls
    it will read why.
    """
    for name in _exported(concrete.python):
        compiler.method_for(concrete, name)
    if "forward" in {name for name, _ in concrete.programs} or isinstance(
        concrete.python, (nn.ModuleList, nn.ModuleDict, nn.ParameterList, nn.ParameterDict)
    ):
        return
    if not _has_forward(concrete):
        return
    try:
        compiler.method_for(concrete, "forward")
    except (ScriptError, NotImplementedError):
        return
