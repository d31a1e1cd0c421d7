"""``copy.copy`` and ``copy.deepcopy`` in a program: all that is copied is guarded, and the copies are objects that were made within."""

from __future__ import annotations

import copy

import torch

from ._guards import is_plain
from ._kinds import is_fixed
from ._tables import BASES, has_dict, module_class


def _copied(deep):
    function = copy.deepcopy if deep else copy.copy

    def copied(observer, args, kwargs):
        value = args[0]
        if len(args) > 1 or kwargs or not _is_guarded(observer, value, deep, set()):
            observer.stop(f"a {type(value).__qualname__} is copied")
            return function(*args, **kwargs)
        memo = {}
        made = observer.aside(function, (value, memo) if deep else (value,), {})[0]
        found = {
            id(each): each
            for each in (made, *memo.values())
            if has_dict(each) and not is_plain(each) and not is_fixed(each)
        }
        observer.kept.extend(found.values())
        observer.made.update(found)
        return made

    return copied


def _is_guarded(observer, value, deep, seen):
    """Guard what a value holds; whether it is of such things that a copy holds just this."""
    if is_plain(value) or id(value) in seen or is_fixed(value):
        return not isinstance(value, module_class())
    seen.add(id(value))
    if isinstance(value, torch.Tensor):
        return not deep
    if isinstance(value, dict) and type(value) in BASES:
        return not deep or all(_is_guarded(observer, each, deep, seen) for each in value.values())
    if type(value) in (list, tuple, set):
        return not deep or all(_is_guarded(observer, each, deep, seen) for each in value)
    kind = type(value)
    hooks = ("__deepcopy__" if deep else "__copy__", "__reduce__", "__getstate__", "__setstate__")
    if not has_dict(value) or any(getattr(kind, name, None) is not getattr(object, name, None) for name in hooks):
        return False
    if id(value) not in observer.outside and id(value) not in observer.made:
        return False
    names = tuple(object.__getattribute__(value, "__dict__"))
    if id(value) in observer.outside:
        observer.guards.check("keys", ("attr", observer.known[id(value)][1], "__dict__"), names)
    held = [observer.attr(value, name) for name in names]
    return not deep or all(_is_guarded(observer, each, deep, seen) for each in held)


#: function: how(observer, args, kwargs)
COPIES = {copy.copy: _copied(False), copy.deepcopy: _copied(True)}
