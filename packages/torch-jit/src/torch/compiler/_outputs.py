"""The result of a program, taken apart into tensors and put together again at each call."""

from __future__ import annotations

import collections
import dataclasses

import torch

from ._guards import is_plain


class Outputs:
    """What a function gave: tensors that the program computes, its inputs, and what stands around them.

    ``tensors`` are those that the graph has to give; ``build(computed, inputs)`` makes the result of a call.
    """

    def __init__(self, observer, value):
        self.observer, self.tensors, self.names, self._places = observer, [], {"new": object.__new__}, {}
        self.lines = []
        if type(value) is torch.Tensor and id(value) not in observer.input_of and observer.tracer.has_value(value):
            self.tensors, self.build = [value], None  # the only tensor
            return
        text = self._text(value)
        body = "".join(f"    {line}\n" for line in self.lines)
        exec(f"def build(o, i):\n{body}    return {text}\n", self.names)
        self.build = self.names["build"]

    def _constant(self, value):
        name = f"c{len(self.names)}"
        self.names[name] = value
        return name

    def _text(self, value):
        observer, kind = self.observer, type(value)
        if is_plain(value):
            return self._constant(value)
        if id(value) in self._places:
            return self._places[id(value)]
        if isinstance(value, torch.Tensor):
            if id(value) in observer.input_of:
                return f"i[{observer.input_of[id(value)]}]"
            if kind is not torch.Tensor or not observer.tracer.has_value(value):
                observer.stop("the result has a tensor that no operator made")
                return "None"
            text = self._places[id(value)] = f"o[{len(self.tensors)}]"
            self.tensors.append(value)
            return text
        if id(value) in observer.outside:
            if kind is tuple:
                pass
            elif id(value) not in observer.loose and not isinstance(value, (list, dict, set)):
                return self._constant(value)
            else:
                observer.stop(f"the result has a {kind.__qualname__} from outside")
                return "None"
        if kind is tuple:
            return "(" + "".join(self._text(v) + ", " for v in value) + ")"
        if issubclass(kind, tuple) and (hasattr(kind, "_fields") or kind is torch.Size):
            make = self._constant(kind if kind is torch.Size else lambda items, kind=kind: tuple.__new__(kind, items))
            return f"{make}(({''.join(self._text(v) + ', ' for v in value)}))"
        if type(value).__module__ == "torch.return_types":
            make = self._constant(kind)
            return f"{make}(({''.join(self._text(v) + ', ' for v in value)}))"
        name = self._places[id(value)] = f"m{len(self.lines)}_{len(self._places)}"
        if kind is list:
            self.lines.append(f"{name} = [{', '.join(map(self._text, value))}]")
        elif kind in (dict, collections.OrderedDict):
            if not all(map(is_plain, value)):
                observer.stop("the result has a dict whose keys are objects")
            items = ", ".join(f"{self._constant(k)}: {self._text(v)}" for k, v in value.items())
            self.lines.append(
                f"{name} = {'{' + items + '}' if kind is dict else self._constant(kind) + '({' + items + '})'}"
            )
        elif kind is set and all(map(is_plain, value)):
            self.lines.append(f"{name} = {self._constant(value)}.copy()")
        elif kind is slice:
            return f"slice({self._text(value.start)}, {self._text(value.stop)}, {self._text(value.step)})"
        elif dataclasses.is_dataclass(value) and kind.__new__ is object.__new__ and hasattr(value, "__dict__"):
            items = ", ".join(f"{k!r}: {self._text(v)}" for k, v in vars(value).items())
            self.lines.append(f"{name} = new({self._constant(kind)}); {name}.__dict__.update({{{items}}})")
        else:
            observer.stop(f"the result has a {kind.__module__}.{kind.__qualname__}")
        return name
