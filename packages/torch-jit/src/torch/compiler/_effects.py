"""What a function changes that was there before: attributes of objects, items of lists and dicts. The run that is observed
changes them itself; a program changes them at its end, to what they were left as.
"""

from __future__ import annotations

import collections
import contextlib
import sys
import types

import torch

from ._guards import FIXED, is_plain, of_class, same_value
from ._own import BINARY
from ._sizes import Size
from ._tables import has_dict, is_torchs, module_class

NOTHING = object()
CONTENTS = "cell_contents"
#: containers whose new contents a program can write
_WRITTEN = (list, dict, collections.OrderedDict)


class _Attributes:
    """What stands on the left of ``value.name = ...``: the store is made as the class of the value has it."""

    def __init__(self, observer, value):
        self.__dict__.update(observer=observer, value=value)

    def __setattr__(self, name, new):
        own = self.__dict__
        own["observer"].set_attribute(own["value"], name, new)

    def __delattr__(self, name):
        own = self.__dict__
        own["observer"].set_attribute(own["value"], name)


class Items:
    """What stands for a value in ``value[key] = ...`` and ``value[a:b]`` where its class has these in Python."""

    def __init__(self, observer, value):
        self.observer, self.value = observer, value

    def __getitem__(self, key):
        return self.observer.apply(self.observer.method(self.value, "__getitem__"), key)

    def __setitem__(self, key, new):
        self.observer.apply(self.observer.method(self.value, "__setitem__"), key, new)

    def __delitem__(self, key):
        self.observer.apply(self.observer.method(self.value, "__delitem__"), key)


class _Change:
    """An attribute (``name``) or the contents of a container (``name`` is None), and what was there before.

    ``steps`` are those of a number that only counts: (operator, operand), whatever it was.
    """

    def __init__(self, value, name, before, seen, frames):
        self.value, self.name, self.before, self.seen, self.frames = value, name, before, seen, frames
        self.steps, self.called = [], name


class Effects:
    """The part of an observer that stores are told to."""

    def store(self, value, name):
        """``value.name = ...``: what takes the place of ``value`` there."""
        if self.reason is not None:
            return value
        if type(value) is collections.OrderedDict and id(value) not in self.outside:  # what state_dict() gives
            self.kept.append(value)
            self.named.add(id(value))
            return value
        if isinstance(value, (torch.Tensor, *FIXED)) or not (has_dict(value) or id(value) in self.made):
            self.stop(f"the attribute {name} of a {type(value).__qualname__} is set")
            return value
        return _Attributes(self, value)

    def store_item(self, value, in_place=False):
        """``value[...] = ...``: what takes the place of ``value`` there."""
        if self.reason is not None or isinstance(value, torch.Tensor):
            return value
        if isinstance(of_class(type(value), "__setitem__"), types.FunctionType):
            return Items(self, value)
        if in_place and any(id(v) in self.outside and not isinstance(v, torch.Tensor) for v in _values(value)):
            if any(not is_plain(v) and not isinstance(v, torch.Tensor) for v in _values(value)):
                self.stop("an item of a container is changed in place")
        self.changes(value)
        return value

    def set_attribute(self, value, name, *new):
        """``value.name = new``, or ``del value.name``, by the class's own ``__setattr__`` where it has one."""
        how, kind, module = "__setattr__" if new else "__delattr__", type(value), module_class()
        setter = of_class(kind, how)
        if not isinstance(setter, types.FunctionType):
            self.set_plainly(object, value, name, *new)
        elif module and setter is module.__dict__[how]:
            self.set_plainly(module, value, name, *new)
        elif setter.__code__.co_filename == "<string>":  # of a frozen data class
            self.set_plainly(kind, value, name, *new)
        elif is_torchs(setter.__module__):
            self.stop(f"the attribute {name} of a {kind.__qualname__} is set")
            setter(value, name, *new)
        else:
            self.apply(self.method(value, how), name, *new)

    def set_plainly(self, owner, value, name, *new):
        """What the ``__setattr__`` of ``owner`` does, ``object`` or ``torch.nn.Module``; ``__delattr__`` where nothing is new."""
        found, kind = of_class(type(value), name), type(value).__qualname__
        if self.reason is None and isinstance(found, property) and found.fset and new:
            self.class_has(type(value), name)
            self.apply(found.fset, value, *new)
            return
        if self.reason is None and new and isinstance(of_class(type(found), "__set__"), types.FunctionType):
            self.class_has(type(value), name)
            self.outside_value(found, ("const", found))
            self.apply(self.method(found, "__set__"), value, *new)
            return
        if hasattr(type(found), "__set__") and not isinstance(found, types.MemberDescriptorType):
            self.stop(f"the attribute {name} of a {kind} is set, a descriptor")
        elif name in ("__dict__", "__class__"):
            self.stop(f"the attribute {name} of a {kind} is set")
        is_new = (id(value), name) not in self.changed
        if not is_new:
            self.changed[id(value), name].steps = []  # whatever it had been counted to
        if self.reason is None:
            self._note(value, name, self._attribute)
        before, self.working = self.working, True
        try:
            owner.__setattr__(value, name, *new) if new else owner.__delattr__(value, name)
        except Exception:
            if is_new:
                self.changed.pop((id(value), name), None)
            raise
        finally:
            self.working = before

    @staticmethod
    def _attribute(value, name):
        """What an object itself has under a name, and not its class; of a dict, an item."""
        if type(value) is dict:
            return value.get(name, NOTHING)
        if type(value) is types.CellType:
            try:
                return value.cell_contents
            except ValueError:
                return NOTHING
        own = object.__getattribute__(value, "__dict__") if type(value).__dictoffset__ else {}
        module = module_class()
        tables = ("_parameters", "_buffers", "_modules") if module and isinstance(value, module) else ()
        for held in (own, *(own.get(table, {}) for table in tables)):
            if name in held:
                return held[name]
        slot = of_class(type(value), name)
        return getattr(value, name, NOTHING) if isinstance(slot, types.MemberDescriptorType) else NOTHING

    def changes(self, value):
        """The contents of a container are about to change."""
        if self.reason is not None or id(value) not in self.outside:
            return
        if type(value) not in _WRITTEN:
            self.stop(f"a {type(value).__qualname__} from outside is changed")
        else:
            self._note(value, None, lambda value, name: value.copy())

    def _note(self, value, name, held):
        key = id(value), name
        if id(value) not in self.outside:
            return
        if self.transforms or self.blocks:
            where = "a transform of torch.func" if self.transforms else "a branch or a loop of the graph"
            self.stop(f"{where} changes a {type(value).__qualname__} from outside")
        elif key not in self.changed:
            frames = self.frames_of(sys._getframe(1))
            self.changed[key] = _Change(value, name, held(value, name), key in self.seen, frames)

    def may_set(self, holder, place, name):
        """A variable is set from here on, maybe: of a function around (the contents of a cell; ``holder`` is None where that function
        is followed, too), or of a module (an item of its dict).
        """
        if self.reason is not None:
            return
        if self.blocks or (self.transforms and holder is not None):
            where = "a branch or a loop of the graph" if self.blocks else "a transform of torch.func"
            self.stop(f"{where} sets {name}, {_WHOSE[type(holder) is dict]}")
        key = id(holder), place
        if holder is None or key in self.changed or self.reason is not None:
            return
        self.kept.append(holder)
        frames = self.frames_of(sys._getframe(2))
        self.changed[key] = _Change(holder, place, self._attribute(holder, place), False, frames)
        self.changed[key].called = name

    def is_set(self, holder, place, value):
        """Whether what such a variable holds is no longer what a call finds."""
        change = self.changed.get((id(holder), place))
        if change is None:
            return False
        change.seen = change.seen or value is change.before
        return value is not change.before

    def has_changed(self, value, name):
        """Whether an attribute that is read is no longer what a call finds."""
        change = self.changed.get((id(value), name))
        if change is not None and change.steps:  # what it was takes part in what follows
            change.steps, change.seen = [], True
            self.outside_value(change.before, ("attr", self.known[id(value)][1], name))
        return change is not None

    def may_count(self, value, name):
        """Whether an attribute is a number that nothing has asked for: ``value.name += 1`` holds whatever it was."""
        if self.reason is not None or id(value) not in self.outside or (id(value), name) in self.seen:
            return False
        if isinstance(value, (torch.Tensor, *FIXED)) or not has_dict(value) or of_class(type(value), name) is not None:
            return False
        change, module = self.changed.get((id(value), name)), module_class()
        setter = of_class(type(value), "__setattr__")
        if isinstance(setter, types.FunctionType) and not (module and setter is module.__dict__["__setattr__"]):
            return False
        held = object.__getattribute__(value, "__dict__").get(name)
        return type(held) in (int, float) and (change is None or bool(change.steps))

    def counts(self, value, name, op, by):
        """``value.name += by`` of such a number, by another: whether that is noted as a step."""
        if type(by) not in (int, float) or not self.may_count(value, name):
            return False
        held, plain = object.__getattribute__(value, "__dict__")[name], BINARY[op][1]
        self.guards.check("type", ("attr", self.known[id(value)][1], name), type(held))
        self._note(value, name, lambda value, name: held)
        if self.reason is None:
            self.changed[id(value), name].steps.append((plain, by))
        object.__setattr__(value, name, plain(held, by))
        return True

    def effects(self):
        """Statements of a program for what has not been put back: (value, name, key or None, new or nothing)."""
        for change in self.changed.values():
            if change.name is not None:
                yield from self._of_attribute(change)
            elif type(change.value) is list:
                yield from self._of_list(change)
            else:
                yield from self._of_dict(change)

    @contextlib.contextmanager
    def set_back(self):
        """A block in which what was changed is as it was before, to be changed once more."""
        after = [(change, self._held(change)) for change in self.changed.values()]
        self.undo(())
        try:
            yield
        finally:
            for change, held in after:
                self._put(change, held)

    def _held(self, change):
        value, name = change.value, change.name
        return value.copy() if name is None else self._attribute(value, name)

    def _put(self, change, held):
        """Give an attribute or a container what it held."""
        value, name = change.value, change.name
        if name is not None:
            _set_back(value, name, held, self._attribute(value, name))
        elif type(value) is list:
            value[:] = held
        else:
            value.clear()
            value.update(held)

    def undo(self, kept):
        """Leave what was changed as it was, but for objects with these ids."""
        for change in self.changed.values():
            if id(change.value) not in kept:
                self._put(change, change.before)

    def _of_attribute(self, change):
        value, name, before = change.value, change.name, change.before
        if change.steps:
            yield "count", value, name, change.steps
            return
        now = self._attribute(value, name)
        if change.seen and _is(now, before):
            return
        if type(value) in (types.CellType, dict):
            yield from self._of_variable(change, now)
            return
        if is_plain(before) and _is(now, before):  # put back, as long as it is found so
            self.outside_value(before, ("attr", self.known[id(value)][1], name))
            return
        if now is before is NOTHING:
            self.guards.check("noattr", self.known[id(value)][1], name)
            return
        if change.seen and self._counts_on(value, now, before) and not self._may_lift(value):
            self.stop(f"the attribute {name} of a {type(value).__qualname__} counts", frames=change.frames)
        yield ("del", value, name) if now is NOTHING else ("attr", value, name, now)

    def _of_variable(self, change, now):
        """A variable that another branch may set: where this one has not, it is as it was found."""
        holder, place, before = change.value, change.name, change.before
        of_module = type(holder) is dict
        if now is before:
            if before is not NOTHING:
                self.outside_value(before, ("key", ("const", holder), place) if of_module else ("cell", holder))
            elif of_module:
                self.guards.check("absent", ("const", holder), place)
            return
        if change.seen and self._counts_on(holder, now, before) and not self.whole:
            self.stop(f"{change.called}, {_WHOSE[of_module]}, counts", frames=change.frames)
        if of_module:
            yield ("without", holder, place) if now is NOTHING else ("item", holder, place, now)
        else:
            yield ("del", holder, place) if now is NOTHING else ("attr", holder, place, now)

    def _may_lift(self, value):
        """Whether a program for each number will do: nothing else is wanted, or the second one is for all of them."""
        return self.whole or (self.lifts and id(value) in self.loose)

    def _of_list(self, change):
        value, before = change.value, change.before
        if len(value) == len(before):
            if not self.whole and any(not _is(a, b) and self._counts_on(value, a, b) for a, b in zip(value, before)):
                self.stop("an item of a list from outside counts", frames=change.frames)
            for i, (now, was) in enumerate(zip(value, before)):
                if not _is(now, was):
                    yield "item", value, i, now
        else:
            self._grows(change)
            yield "all", value, list(value)

    def _of_dict(self, change):
        value, before = change.value, change.before
        if [k for k in before if k in value] != list(value)[: sum(k in value for k in before)]:
            yield "refilled", value, dict(value)
            return
        if before.keys() != value.keys():
            self._grows(change)
        for key in before:
            if key not in value:
                yield "without", value, key
        for key, now in value.items():
            was = before.get(key, NOTHING)
            if not _is(now, was):
                if self._counts_on(value, now, was) and not self.whole:
                    text = f"the item {key!r} of a {type(value).__qualname__} from outside counts"
                    self.stop(text, frames=change.frames)
                if not is_plain(key):
                    text = f"a {type(value).__qualname__} from outside gets a key that is an object"
                    self.stop(text, frames=change.frames)
                yield "item", value, key, now

    def _counts_on(self, value, now, before):
        """Whether ``value`` has a number where it had one of its type: the next call finds another one there."""
        if isinstance(now, Size):
            if not now.space.reads or id(value) in self.fresh:
                return False
            now = now.number
        return type(now) in (int, float) and type(before) is type(now)

    def _grows(self, change):
        """A container that each call finds longer needs a program for each call: better a part of the function as it is."""
        value, before = change.value, change.before
        if len(value) > len(before) and not self.whole and not self.known[id(value)][2]:
            if before or type(value) is list:
                self.stop(f"a {type(value).__qualname__} from outside grows", frames=change.frames)


_WHOSE = "a variable of a function around", "a variable of a module"  #: which is set


def _set_back(value, name, before, now):
    """Give an attribute, or an item of a dict, what it was; nothing where there was none."""
    if type(value) is dict:
        if before is not NOTHING:
            value[name] = before
        elif now is not NOTHING:
            del value[name]
        return
    module = module_class()
    owner = module if module and isinstance(value, module) else object
    if before is NOTHING and now is not NOTHING:
        owner.__delattr__(value, name)
    elif now is not before:
        owner.__setattr__(value, name, before)


def _is(a, b):
    return a is b or (is_plain(a) and same_value(a, b))


def _values(container):
    return container.values() if isinstance(container, dict) else container
