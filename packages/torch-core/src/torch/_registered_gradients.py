"""Gradients of operators that programs bring: one autograd function for each call that needs one."""

from . import _C
from ._parts import need

need("autograd")

from torch.autograd import Function  # noqa: E402


class _Call:
    """What one call keeps: the operator, and where tensors stand among the arguments."""

    def __init__(self, operator, arguments):
        self.operator, self.names = operator, list(arguments)
        self.flat, self.places = [], []  # tensors, and the shape of each argument: True for one, a count for a list
        self.rest = []
        for value in arguments.values():
            if isinstance(value, (list, tuple)) and any(isinstance(v, _C.Tensor) for v in value):
                self.places.append(len(value))
                self.flat += value
                self.rest.append(type(value))
            else:
                self.places.append(None)
                self.flat.append(value)
                self.rest.append(None)

    def arguments(self, flat):
        """The arguments by name, lists as they came."""
        flat, found = iter(flat), {}
        for name, count, kind in zip(self.names, self.places, self.rest, strict=True):
            found[name] = next(flat) if count is None else kind(next(flat) for _ in range(count))
        return found

    def flatten_gradients(self, gradients):
        """Gradients by argument, a list where the argument was one, as one flat tuple."""
        if not isinstance(gradients, (list, tuple)) or isinstance(gradients, _C.Tensor):
            gradients = (gradients,)
        if len(gradients) != len(self.places):
            raise RuntimeError(
                f"{self.operator.name()}: the backward function must give a gradient or None for each of the {len(self.places)} "
                f"arguments ({', '.join(self.names)}), got {len(gradients)}"
            )
        flat = []
        for name, count, gradient in zip(self.names, self.places, gradients, strict=True):
            if count is None:
                flat.append(gradient)
            elif gradient is None:
                flat += [None] * count
            elif isinstance(gradient, (list, tuple)) and len(gradient) == count:
                flat += gradient
            else:
                raise RuntimeError(
                    f"{self.operator.name()}: the gradient of {name} must be a list of {count} tensors or None, got {gradient!r:.80}"
                )
        return tuple(flat)


_calls = []  # what the next forward is about: an argument would count among those that have gradients


def apply(operator, arguments):
    """The operator's result from beneath autograd, with the derivative that was registered for it."""
    call = _Call(operator, arguments)
    _calls.append(call)
    result = _Registered.apply(*call.flat)
    return list(result) if operator._schema.returns == ["Tensor[]"] else result


class _Registered(Function):
    @staticmethod
    def forward(ctx, *flat):
        call = _calls.pop()
        schema, arguments = call.operator._schema, call.arguments(flat)
        ctx.call = call
        result = call.operator.call(arguments)
        if call.operator.setup_context is not None:
            setup = call.operator.setup_context
            keyword_only = schema.named(arguments)
            if keyword_only:
                setup(ctx, schema.positional(arguments), keyword_only, result)
            else:
                setup(ctx, schema.positional(arguments), result)
        return tuple(result) if isinstance(result, list) else result

    @staticmethod
    def backward(ctx, *gradients):
        call = ctx.call
        if call.operator.backward is None:
            raise RuntimeError(
                f"Trying to backward through {call.operator} but no autograd formula was registered. Please use register_autograd to add one."
            )
        if call.operator._schema.returns == ["Tensor[]"]:
            gradients = (list(gradients),)
        return call.flatten_gradients(call.operator.backward(ctx, *gradients))
