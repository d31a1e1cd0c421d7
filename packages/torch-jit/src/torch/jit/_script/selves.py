"""Modules and objects within a program: their attributes, children, methods; ``self``."""

from __future__ import annotations

import inspect

import torch

from .. import _ir as ir
from . import hooks, library, types
from .calls import modifier
from .errors import NotSupportedError, nearest
from .values import Bound, Items, Self, Static, TupleOf

__all__ = ["Selves"]

#: methods of a module that list what it consists of: where they look, all modules below for None
LISTINGS = {
    **dict.fromkeys(("items", "keys", "values", "children", "named_children"), "_modules"),
    **dict.fromkeys(("modules", "named_modules"), None),
    **dict.fromkeys(("parameters", "named_parameters"), "_parameters"),
    **dict.fromkeys(("buffers", "named_buffers"), "_buffers"),
}
_OLD_TYPE = type(torch.FloatTensor)  # the class of torch.LongTensor and its like


class Selves:
    """Emits what a program does with modules and script classes."""

    # -- attributes -----------------------------------------------------------------------------------------------------

    def self_attribute(self, owner, name):
        """``self.name``: a slot, a child, a constant, a method or an attribute of the class."""
        concrete = owner.concrete
        slot = concrete.slots.get(name)
        if slot is not None:
            if types.is_none(slot):
                return Static(None)
            return self._get(owner.value, name, slot)
        if name in concrete.children:
            child = concrete.children[name]
            if child is None:
                return Static(None)
            value = self._get(owner.value, name, child.type)
            return Self(child, value) if child.is_concrete else value
        if name in concrete.constants:
            return Static(concrete.constants[name])
        if concrete.is_module and inspect.isfunction(concrete.python.__dict__.get(name)):
            return Bound(owner, name)  # a method from a text
        if name in concrete.failed:
            raise self.error(
                f"Module '{type(concrete.python).__name__}' has no attribute '{name}' in the script language: {concrete.failed[name]}"
            )
        return self._of_class(owner, name)

    def _get(self, value, name, type):
        made = self.node("prim::GetAttr", [value], [type])
        made.s_("name", name)
        return made.output()

    def _of_class(self, owner, name):
        concrete = owner.concrete
        cls = type(concrete.python) if concrete.is_module else concrete.cls
        found = inspect.getattr_static(cls, name, None)
        if isinstance(found, property):
            return self.call_inherited(owner, found.fget, defining(cls, name), [], {})
        if isinstance(found, (staticmethod, classmethod)):
            return Static(getattr(cls, name))
        if callable(found) and inspect.isfunction(found):
            return Bound(owner, name)
        if name == "__class__":
            return Static(cls)
        if found is not None or hasattr(cls, name):
            return Static(getattr(cls, name))
        if name in ("_modules", "_parameters", "_buffers"):
            return Static({each: self.self_attribute(owner, each) for each in concrete.registered(name)})
        raise self.error(
            f"Module '{cls.__name__}' has no attribute '{name}'"
            if concrete.is_module
            else f"'{cls.__name__}' object has no attribute or method '{name}'",
            nearest(name, concrete.known()),
        )

    def slot_of(self, owner, name, item):
        """The type of the slot that ``self.name = ...`` writes."""
        concrete = owner.concrete
        wanted = concrete.slots.get(name)
        if wanted is not None:
            if types.is_none(wanted):
                raise self.error(
                    f"self.{name} is None where it is made, so that its type is not known",
                    f"annotate it in the class: {name}: Optional[Tensor]",
                )
            return wanted
        child = concrete.children.get(name)
        if child is not None and self.function.source.function == "__setstate__":  # which makes the module anew
            return child.type
        if concrete.open:  # a class in its __init__
            made = self.type_of(item)
            concrete.add_slot(name, made)
            return made
        if name in concrete.constants:
            raise self.error(f"self.{name} is a constant and cannot be assigned to")
        raise self.error(
            f"Tried to set nonexistent attribute: {name}", nearest(name, concrete.slots) or "make it in __init__"
        )

    # -- containers -----------------------------------------------------------------------------------------------------

    def children(self, owner):
        """The children of a container, by iteration; of a ModuleDict its keys; else None."""
        nn, python = torch.nn, owner.concrete.python
        if isinstance(python, nn.ModuleDict):
            return [Static(name) for name in python._modules]
        if isinstance(python, (nn.ModuleList, nn.Sequential)):
            return [self.self_attribute(owner, name) for name in python._modules]
        if isinstance(python, nn.ParameterList):
            return [self.self_attribute(owner, str(i)) for i in range(len(python))]
        return None

    def child_of(self, owner, index, interface):
        """``self.layers[i]`` with a number or key that is known at run time, as a value of an interface."""
        python = owner.concrete.python
        names = list(python._modules)
        values = [self.value(self.self_attribute(owner, name), interface) for name in names]
        if isinstance(python, torch.nn.ModuleDict):
            kind = ir.DictType(types.STR, interface)
            pairs = [each for name, value in zip(names, values) for each in (self.constant(name), value)]
            whole = self.node("prim::DictConstruct", pairs, [kind]).output()
        else:
            whole = self.list_of(values, ir.ListType(interface))
        return self.op("__getitem__", whole, self.value(index))

    def child(self, owner, index):
        """``self.layers[i]``."""
        python = owner.concrete.python
        if not isinstance(index, Static):
            return self._child_at(owner, index)
        if isinstance(python, (torch.nn.ModuleDict, torch.nn.ParameterDict)):
            if index.value not in owner.concrete.names():
                raise self.error(
                    f"Key Error, {index.value}: there is no {index.value!r} in it",
                    nearest(str(index.value), owner.concrete.names()),
                )
            return self.self_attribute(owner, index.value)
        known = self.children(owner)
        if known is None:
            raise self.error(f"'{type(python).__name__}' object is not subscriptable")
        try:
            return known[index.value]
        except IndexError:
            raise self.error(
                f"IndexError: Index {index.value} out of range of the {len(known)} modules of {type(python).__name__}"
            ) from None
        except TypeError as error:
            raise self.error(f"TypeError: {error}") from None

    def _child_at(self, owner, index):
        known = self.children(owner)
        if known and all(isinstance(each, Self) and each.concrete is known[0].concrete for each in known):
            known = [each.value for each in known]  # all of one kind, so that what is called is known
        if known and all(isinstance(each, ir.Value) for each in known):
            return self.op("__getitem__", self.list_of(known), self.value(index))
        raise self.error(
            "modules of a container are told apart while compiling: the index must be a constant", "iterate over it"
        )

    # -- calls ----------------------------------------------------------------------------------------------------------

    def call_module(self, owner, args, kwargs):
        if owner.concrete.hooks:
            return hooks.call(self, owner, args, kwargs)
        return self.call_method(owner, "forward", args, kwargs)

    def call_method(self, owner, name, args, kwargs):
        """Call a method of a module or script class."""
        concrete = owner.concrete
        if concrete.is_module and name in LISTINGS:
            return self._listing(owner, name)
        if concrete.is_module and name == "state_dict":
            raise self.error("self.state_dict() is not part of the script language", "iterate over named_parameters()")
        if name == "__len__" and self.children(owner) is not None and library.is_library(concrete.function(name)):
            return Static(len(self.children(owner)))
        if not concrete.is_module:
            return self.call_object(owner.value, name, args, kwargs)
        fn = concrete.function(name)
        if fn is None:
            raise self.error(
                f"Module '{type(concrete.python).__name__}' has no attribute {name!r}", nearest(name, concrete.known())
            )
        if hasattr(fn, "_script_function"):
            return self.call_function(fn._script_function, args, kwargs)
        if modifier(fn) in ("unused", "drop"):
            return self._unused(fn)
        if modifier(fn) == "ignore":
            if not inspect.signature(fn).parameters:
                raise self.error(f"the ignored method {name!r} does not have a self argument")
            return self.call_out(fn, args, kwargs, owner=owner)
        cls = defining(type(concrete.python), name)
        if library.is_library(fn) and name != "forward":
            return self.call_inherited(owner, fn, cls, args, kwargs)
        program = self.compiler.method_for(concrete, name, self, args, kwargs)
        values = program.bind(self, args, kwargs)
        made = self.node("prim::CallMethod", [owner.value, *values], [program.returns])
        made.s_("name", program.function.name)
        return self._unpacked(made.output())

    def _unpacked(self, value):
        """A result that is None is known to be None."""
        return Static(None) if types.is_none(value.type()) else value

    def call_inherited(self, owner, fn, cls, args, kwargs):
        """Compile a method into its caller: of a library, of a class above, a property."""
        if isinstance(fn, staticmethod):
            return self.call_python(fn.__func__, args, kwargs)
        if library.is_library(fn):
            return self.inline(fn, args, kwargs, owner=owner, cls=cls)
        return self.inline_user(fn, args, kwargs, owner, cls)

    def inline_user(self, fn, args, kwargs, owner, cls):
        from .scope import Function

        source = self.known(self.compiler.source_of, fn)
        items = self.bind(inspect.signature(fn), [owner, *args], kwargs, fn.__name__)
        parameters = self.compiler.parameters(fn, source, inspect.signature(fn), dict.fromkeys(()), skip=1)
        for each in parameters:
            item = items[each.name]
            if each.type != types.TENSOR or not isinstance(item, Static):
                items[each.name] = self.value(item, each.type) if not isinstance(item, Static) else item
        inner = Function(source, False, owner=owner, cls=cls, above=self.function)
        return self.run_function(inner, items)

    def _listing(self, owner, name):
        """What a module consists of, each with its name or without."""
        registry, python = LISTINGS[name], owner.concrete.python
        if registry is None:
            pairs = [(path, each) for path, each, _ in self._modules_of(owner, python)]
        elif registry == "_modules":
            names = python.keys() if isinstance(python, torch.nn.ParameterDict) else python._modules
            pairs = [(each, self.self_attribute(owner, each)) for each in names]
        else:
            pairs = list(self._tensors_of(owner, registry))
        if name == "keys":
            return Items([Static(path) for path, _ in pairs])
        if name == "items" or name.startswith("named_"):
            return Items([TupleOf([Static(path), each]) for path, each in pairs])
        return Items([each for _, each in pairs])

    def _modules_of(self, owner, python, path="", seen=None):
        """A module and those below it, once each: their paths, what they are in the program, and themselves, as many may
        share one description.
        """
        seen = set() if seen is None else seen
        if id(python) in seen:
            return
        seen.add(id(python))
        yield path, owner, python
        for name, inner in python._modules.items():
            child = self.self_attribute(owner, name)
            below = f"{path}.{name}" if path else name
            if isinstance(child, Self):
                yield from self._modules_of(child, inner, below, seen)
            elif self.is_value(child):
                raise self.error(f"what {below} consists of is not known: it is compiled already")

    def _tensors_of(self, owner, registry):
        seen = set()
        for path, each, python in self._modules_of(owner, owner.concrete.python):
            for name, tensor in getattr(python, registry).items():
                if tensor is not None and id(tensor) not in seen:
                    seen.add(id(tensor))
                    yield (f"{path}.{name}" if path else name), self.self_attribute(each, name)

    def call_object(self, value, name, args, kwargs, scope=None):
        """Call a method of a value whose type is a class; ``scope`` says that it enters or leaves a ``with`` block."""
        cls = value.type()
        if name == "__call__" and cls.find_method("__call__") is None and cls.find_method("forward") is not None:
            name = "forward"
        concrete = self.compiler.concrete_of(cls)
        fn = None if concrete is None or concrete.is_module else concrete.function(name)
        if fn is not None and modifier(fn) in ("unused", "drop"):
            return self._unused(fn)
        program = self.compiler.method_of_class(cls, name, self)
        if program is None:
            if concrete is not None and concrete.is_module:
                return self.call_method(Self(concrete, value), "forward" if name == "__call__" else name, args, kwargs)
            found = [each.name for each in cls.methods()]
            raise self.error(
                f"Tried to access nonexistent attribute or method {name!r} of type '{cls}'", nearest(name, found)
            )
        values = program.bind(self, args, kwargs)
        made = self.node("prim::CallMethod", [value, *values], [program.returns])
        made.s_("name", program.function.name)
        if scope is not None:
            made.s_("scope", scope)
        return self._unpacked(made.output())

    def call_interface(self, value, name, args, kwargs):
        """Call a method of a value whose type is an interface: that of its own class, found when it runs."""
        declared = self.compiler.interfaces[value.type().qualified_name()]
        if name == "__call__" and name not in declared:
            name = "forward"
        if name not in declared:
            raise self.error(f"'{value.type()}' object has no attribute or method {name!r}", nearest(name, declared))
        program = declared[name]
        made = self.node("prim::CallMethod", [value, *program.bind(self, args, kwargs)], [program.returns])
        made.s_("name", name)
        return self._unpacked(made.output())

    def _old_tensor(self, cls, args, kwargs):
        """``torch.LongTensor([1, 2])``: a tensor of this dtype of what a list holds; ``torch.LongTensor(2, 3)``: of sizes."""
        held = (
            self.unrolled(args[0]) is not None or self.type_of(args[0]).kind() == "ListType"
            if len(args) == 1
            else False
        )
        if args and not kwargs and all(self.type_of(each).kind() == "IntType" for each in args):
            return self.row("empty", [self.list_of([self.value(each) for each in args])], {"dtype": Static(cls.dtype)})
        if kwargs or not (held or not args):
            given = ", ".join([*map(self.describe, args), *(f"{name}=" for name in kwargs)])
            raise self.error(
                f"{cls.__name__}({given}): a list of numbers is expected, or sizes",
                f"torch.tensor, torch.empty and .to({cls.dtype}) take others",
            )
        dtype = {"dtype": Static(cls.dtype)}
        return self.row("tensor", args, dtype) if args else self.row("empty", [Static([0])], dtype)

    def construct(self, cls, args, kwargs):
        """``Class(...)``: of a named tuple, an enum, a script class."""
        if types.is_named_tuple(cls):
            wanted = self.known(types.from_annotation, cls)
            signature = inspect.signature(cls)
            items = self.bind(signature, args, kwargs, cls.__name__)
            inner = wanted.containedTypes()
            return TupleOf([self.value(item, want) for item, want in zip(items.values(), inner)], wanted)
        if issubclass(cls, BaseException):
            raise self.error(f"{cls.__name__}(...) stands only after raise")
        if issubclass(cls, torch.nn.Module):
            raise self.error(f"a module cannot be made within a script: {cls.__name__}", "make it in __init__")
        if modifier(cls) == "ignore":
            raise self.error(
                f"Cannot instantiate class '{cls.__name__}' in a script function: it is marked @torch.jit.ignore",
                "make the object outside and pass what the program needs of it",
                NotSupportedError,
            )
        if issubclass(cls, torch.Tensor):
            return self.row("tensor", args, kwargs)
        if isinstance(cls, _OLD_TYPE) and cls.__module__ == "torch":
            return self._old_tensor(cls, args, kwargs)
        if all(isinstance(each, Static) for each in (*args, *kwargs.values())) and issubclass(
            cls, __import__("enum").Enum
        ):
            return self._folded(cls, args, kwargs)
        type = self.known(types.from_annotation, cls)
        if type.kind() != "ClassType":
            raise self.error(f"objects of {cls.__name__} are not part of the script language")
        made = self.node("prim::CreateObject", [], [type]).output()
        self.call_object(made, "__init__", args, kwargs)
        return made


def defining(cls, name):
    """The class in whose body a method is written."""
    return next((each for each in cls.__mro__ if name in each.__dict__), cls)
