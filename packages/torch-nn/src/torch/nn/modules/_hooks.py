"""Hooks of modules: handles, hooks for all modules, and the call of a module that has any.

``Module.__call__`` comes here only when there is a hook to run; a module without hooks looks at two empty lists.
"""

import functools
import warnings

import torch
from torch._seams import add_hook as add


class HookDict(dict):
    """A dict of hooks that also keeps its keys in the list ``present``, which several dicts share.

    So a call has one list to look at instead of four dicts (``overhead.module``: 280 ns a call before, 220 after), and
    hooks put in or taken out by hand are noticed too.
    """

    __slots__ = ("present",)

    def __init__(self, present, hooks=()):
        dict.__init__(self)
        self.present = present
        self.update(hooks)

    def __setitem__(self, id, hook):
        if id not in self:
            self.present.append(id)
        dict.__setitem__(self, id, hook)

    def __delitem__(self, id):
        dict.__delitem__(self, id)
        self.present.remove(id)

    def pop(self, id, *default):
        if id in self:
            self.present.remove(id)
        return dict.pop(self, id, *default)

    def popitem(self):
        id, hook = dict.popitem(self)
        self.present.remove(id)
        return id, hook

    def clear(self):
        for id in list(self):
            del self[id]

    def update(self, *args, **kwargs):
        for id, hook in dict(*args, **kwargs).items():
            self[id] = hook

    def setdefault(self, id, default=None):
        if id not in self:
            self[id] = default
        return self[id]

    def __reduce_ex__(self, protocol):
        return dict, (dict(self),)


running = []  # the ids of hooks that run for every module


class Everywhere:
    """Hooks that run for every module, and hooks that run when something is registered."""

    def __init__(self):
        self.forward_pre = HookDict(running)
        self.forward = HookDict(running)
        self.backward_pre = HookDict(running)
        self.backward = HookDict(running)
        self.with_kwargs, self.always_call = {}, {}
        self.on_parameter, self.on_buffer, self.on_module = {}, {}, {}
        self._is_full_backward_hook = None


everywhere = Everywhere()


def call(module, args, kwargs):
    """Run ``module.forward`` between its hooks, in the order: global ones first, then the module's own."""
    output, done = None, set()
    try:
        probe, last_node_hooks = None, []
        if everywhere.backward or everywhere.backward_pre or module._backward_hooks or module._backward_pre_hooks:
            before, full, last_node_hooks = _backward_hooks(module)
            probe = BackwardProbe(module, before, full) if before or full else None
        args, kwargs = _run_forward_pre(module, args, kwargs)
        if probe is not None:
            args = probe.watch_inputs(args)
        output = module.forward(*args, **kwargs)
        for id, hook, with_kwargs, _ in _forward_hooks(module):
            done.add(id)
            replaced = hook(module, args, kwargs, output) if with_kwargs else hook(module, args, output)
            if replaced is not None:
                output = replaced
        if probe is not None:
            if not isinstance(output, (torch.Tensor, tuple, list)):
                warnings.warn(
                    f"{type(module).__name__}: backward hooks are not called, for the output should be a Tensor or a tuple "
                    f"of Tensors, but is {type(output)}",
                    stacklevel=4,
                )
            output = probe.watch_outputs(output)
        if last_node_hooks:
            _watch_last_node(module, args, output, last_node_hooks)
        return output
    except Exception:
        for id, hook, with_kwargs, always in _forward_hooks(module):
            if always and id not in done:
                try:
                    hook(module, args, kwargs, output) if with_kwargs else hook(module, args, output)
                except Exception as error:
                    warnings.warn(f"{type(module).__name__}: forward hook failed during another error: {error}")
        raise


def add_backward(owner, hooks, hook, full, prepend=False):
    """Put ``hook`` among the backward hooks of a module, or of all modules, which are full ones or ones of 2018."""
    if hooks and owner._is_full_backward_hook is not full:
        where = "as a global Module hook" if owner is everywhere else "on a single Module"
        raise RuntimeError(
            f"Cannot use both regular backward hooks and full backward hooks {where}. Please use only one of them."
        )
    owner._is_full_backward_hook = full
    return add(hooks, hook, prepend)


def _backward_hooks(module):
    """Those that run before the module's backward, those after it, and those of 2018 at its last node."""
    before = [*everywhere.backward_pre.values(), *module._backward_pre_hooks.values()]
    full, last = [], []
    for owner, hooks in ((everywhere, everywhere.backward), (module, module._backward_hooks)):
        (last if owner._is_full_backward_hook is False else full).extend(hooks.values())
    return before, full, last


def _tensors(x):
    """The tensors in nested tuples, lists and dicts, in order."""
    if isinstance(x, torch.Tensor):
        yield x
    elif isinstance(x, (tuple, list, dict)):
        for part in x.values() if isinstance(x, dict) else x:
            yield from _tensors(part)


def _watch_last_node(module, args, output, hooks):
    first = next(_tensors(output), None)
    node = None if first is None else first.grad_fn
    if node is None:
        return
    for hook in hooks:
        node.register_hook(functools.partial(_run_at_last_node, module, hook, node.name()))
    _warn_of_last_node(args, output, node)


# How many gradients of inputs and of outputs such a hook sees, where the node has more: running statistics, indices.
_SEEN = {
    "NativeBatchNormBackward0": (3, 1),
    "NativeLayerNormBackward0": (3, 1),
    "EmbeddingBackward0": (1, 1),
    "MaxPoolBackward0": (1, 1),
    "AdaptiveMaxPoolBackward0": (1, 1),
    "NllLossForwardBackward0": (1, 1),
    "NativeDropoutBackward0": (1, 1),
}


def _run_at_last_node(module, hook, name, grad_input, grad_output):
    """Show a hook of 2018 the gradients in the order that it knows, and take those it returns back into the node's."""
    if name == "LinearBackward0" and grad_output[0] is not None and grad_output[0].dim() == 2:
        return _run_at_linear(module, hook, grad_input, grad_output)
    inputs, outputs = _SEEN.get(name, (None, None))
    shown = grad_input[:inputs]
    replaced = hook(module, shown, grad_output[:outputs])
    return None if replaced is None else _as_many(module, replaced, shown) + grad_input[len(shown) :]


def _run_at_linear(module, hook, grad_input, grad_output):
    """With the gradients of ``addmm(bias, input, weight.t())``, which a linear layer was in 2018."""
    x, weight, rows = grad_input  # those of the bias are not summed up yet
    shown = (x, None if weight is None else weight.t())
    if rows is not None:
        shown = (rows.sum(0), *shown)
    replaced = hook(module, shown, grad_output)
    if replaced is None:
        return None
    *bias, x, weight = _as_many(module, replaced, shown)
    if rows is not None and bias[0] is not shown[0]:
        rows = torch.zeros_like(rows)
        rows[:1] = bias[0]
    return x, None if weight is None else weight.t(), rows


def _as_many(module, replaced, shown):
    replaced = replaced if isinstance(replaced, tuple) else (replaced,)
    if len(replaced) != len(shown):
        raise RuntimeError(
            f"{type(module).__name__}: backward hook returned {len(replaced)} values for grad_input, expected {len(shown)}"
        )
    return replaced


def _warn_of_last_node(args, output, node):
    """A hook of 2018 sees all gradients only when the module is one node of the graph."""
    outputs = output if isinstance(output, tuple) else (output,)
    if not all(isinstance(x, torch.Tensor) for x in outputs):
        what = "on a Module that does not return a single Tensor or a tuple of Tensors is deprecated"
    elif not all(isinstance(x, torch.Tensor) for x in args):
        what = "on a Module that does not take as input a single Tensor or a tuple of Tensors is deprecated"
    elif len({x.grad_fn for x in outputs if x.grad_fn is not None}) > 1:
        what = "when outputs are generated by different autograd Nodes is deprecated. This hook will be missing some grad_output"
    elif {x.grad_fn for x in args if x.grad_fn is not None} != {before for before, _ in node.next_functions}:
        what = (
            "when the forward contains multiple autograd Nodes is deprecated. This hook will be missing some grad_input"
        )
    else:
        return
    warnings.warn(
        f"Using a non-full backward hook {what}. Please use register_full_backward_hook to get the documented behavior.",
        FutureWarning,
        stacklevel=5,
    )


def _forward_hooks(module):
    """As they are now: id, hook, does it take the keyword arguments, does it run after an error too."""
    hooks = [(everywhere.with_kwargs, everywhere.always_call, *item) for item in everywhere.forward.items()]
    own = module._forward_hooks_with_kwargs, module._forward_hooks_always_called
    hooks += [(*own, *item) for item in module._forward_hooks.items()]
    return [(id, hook, id in with_kwargs, id in always) for with_kwargs, always, id, hook in hooks]


def _run_forward_pre(module, args, kwargs):
    with_kwargs = set(module._forward_pre_hooks_with_kwargs)
    for id, hook in [*everywhere.forward_pre.items(), *module._forward_pre_hooks.items()]:
        if id in with_kwargs:
            replaced = hook(module, args, kwargs)
            if replaced is None:
                continue
            if not (isinstance(replaced, tuple) and len(replaced) == 2):
                raise RuntimeError(
                    "forward pre-hook: with_kwargs=True wants None or a tuple (args, kwargs) back, "
                    f"got {type(replaced).__name__}"
                )
            args, kwargs = replaced
        else:
            replaced = hook(module, args)
            if replaced is not None:
                args = replaced if isinstance(replaced, tuple) else (replaced,)
    return args, kwargs


class BackwardProbe:
    """Sees the gradients that enter and leave one call of a module.

    Two identity nodes stand around the forward.  Backward passes the outer one first (gradients of the outputs, where
    pre-hooks may replace them), later the inner one (gradients of the inputs); then the hooks run with both.  When no
    input needs a gradient there is no inner node, and the hooks run at the outer one with ``None`` for the inputs.
    """

    def __init__(self, module, before, after):
        self.module = module
        self.before, self.after = before, after
        self.grad_output = None
        self.positions = ()
        self.num_inputs = 0

    def watch_inputs(self, args):
        self.num_inputs = len(args)
        self.positions = [i for i, x in enumerate(args) if isinstance(x, torch.Tensor) and x.requires_grad]
        if not (self.positions and torch.is_grad_enabled()):
            self.positions = ()
            return args
        args = list(args)
        tapped = _tap().apply(self._inputs_passed, *(args[i] for i in self.positions))
        for i, x in zip(self.positions, tapped if isinstance(tapped, tuple) else (tapped,)):
            args[i] = x
        return tuple(args)

    def watch_outputs(self, output):
        many = isinstance(output, (tuple, list))
        outputs = list(output) if many else [output]
        where = [i for i, x in enumerate(outputs) if isinstance(x, torch.Tensor) and x.requires_grad]
        if not where:
            return output
        self.output_positions, self.num_outputs = where, len(outputs)
        tapped = _tap().apply(self._outputs_passed, *(outputs[i] for i in where))
        for i, x in zip(where, tapped if isinstance(tapped, tuple) else (tapped,)):
            outputs[i] = x
        if not many:
            return outputs[0]
        return type(output)(*outputs) if hasattr(output, "_fields") else type(output)(outputs)

    def _outputs_passed(self, grads):
        self.grad_output = _spread(grads, self.output_positions, self.num_outputs)
        for hook in self.before:
            replaced = hook(self.module, self.grad_output)
            if replaced is not None:
                self.grad_output = self._checked(replaced, self.num_outputs, "grad_output")
        if not self.positions:
            self._run((None,) * self.num_inputs)
        return tuple(self.grad_output[i] for i in self.output_positions)

    def _inputs_passed(self, grads):
        grad_input = self._run(_spread(grads, self.positions, self.num_inputs))
        return tuple(grad_input[i] for i in self.positions)

    def _run(self, grad_input):
        if self.grad_output is None:  # the inputs were reached on a way around the outputs
            return grad_input
        for hook in self.after:
            replaced = hook(self.module, grad_input, self.grad_output)
            if replaced is not None:
                grad_input = self._checked(replaced, self.num_inputs, "grad_input")
                if not self.positions and any(grad is not None for grad in grad_input):
                    raise RuntimeError(
                        f"{type(self.module).__name__}: backward hook returned a grad_input, but no input requires gradients"
                    )
        if self.positions:
            self.grad_output = None
        return grad_input

    def _checked(self, replaced, count, what):
        replaced = replaced if isinstance(replaced, tuple) else (replaced,)
        if len(replaced) != count:
            raise RuntimeError(
                f"{type(self.module).__name__}: backward hook returned {len(replaced)} values for {what}, expected {count}"
            )
        return replaced


def _spread(grads, positions, count):
    spread = [None] * count
    for i, grad in zip(positions, grads):
        spread[i] = grad
    return tuple(spread)


def _tap():
    """The identity node; made at first use, so that importing torch.nn does not load autograd."""
    global _Tap
    if _Tap is None:

        class Tap(torch.autograd.Function):
            @staticmethod
            def forward(ctx, passed, *tensors):
                ctx.passed = passed
                return tuple(x.view_as(x) for x in tensors)

            @staticmethod
            def backward(ctx, *grads):
                return (None, *ctx.passed(grads))

        _Tap = Tap
    return _Tap


_Tap = None
