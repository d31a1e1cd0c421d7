"""Places for tensors, and calls of which a refused one must have changed nothing."""

import contextlib
import weakref

import torch

from .tensors import small

PLACES = 8
#: What a wrong call may raise.
REFUSALS = (TypeError, ValueError, RuntimeError, IndexError, OverflowError, MemoryError, ZeroDivisionError, AttributeError, BufferError, NotImplementedError)  # fmt: skip


class Broken(Exception):
    """A promise that did not hold."""


class HookError(RuntimeError):
    """Raised by hooks of programs."""


def tensors_in(value, depth=0):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)) and depth < 3:
        for v in value:
            yield from tensors_in(v, depth + 1)
    elif isinstance(value, dict):
        for v in value.values():
            yield from tensors_in(v, depth + 1)


def bytes_of(t):
    """The bytes of a tensor's memory."""
    return bytes(t.untyped_storage())


def elements_of(t):
    """The bytes of a tensor's elements, in order."""
    if t.is_sparse:
        return elements_of(t._indices()), elements_of(t._values())
    with torch.no_grad():
        return bytes(t.detach().clone(memory_format=torch.contiguous_format).untyped_storage()) if t.numel() else b""


def state_of(t, grad=True):
    """All that a refused call must leave as it was."""
    if t.is_sparse:
        return {"shape": tuple(t.shape), "places": t._nnz(), "values": elements_of(t._values())}
    state = {
        "dtype": t.dtype,
        "shape": tuple(t.shape),
        "strides": t.stride(),
        "offset": t.storage_offset(),
        "memory": t.untyped_storage().data_ptr(),
        "values": bytes_of(t),
        "requires_grad": t.requires_grad,
        "grad_fn": t.grad_fn,
    }
    if not t.is_inference():
        state["version"] = t._version
    if grad and t.is_leaf and t.grad is not None:
        state["grad"] = t.grad, elements_of(t.grad)
    return state


def changed(before, after):
    """The names of what differs."""
    for name in before.keys() | after.keys():
        a, b = before.get(name), after.get(name)
        if name == "grad" and a and b:
            same = a[0] is b[0] and a[1] == b[1]
        else:
            same = a is b if name == "grad_fn" else a == b
        if not same:
            yield f"{name} {a!r:.80} -> {b!r:.80}"


def within_memory(t):
    if t.is_sparse or not t.numel():
        return
    reach = t.storage_offset() + sum((s - 1) * d for s, d in zip(t.shape, t.stride()))
    if (reach + 1) * t.itemsize > t.untyped_storage().nbytes():
        raise Broken(f"shape {tuple(t.shape)} strides {t.stride()} offset {t.storage_offset()} reach beyond the memory")


class Machine:
    def __init__(self, tell=False):
        self.places = [None] * PLACES
        self.handles = []
        self.tell = tell
        #: threads may be at work: refused calls are not looked at, and numbers may differ
        self.ordered = True
        self.repeatable = True
        self.calls = 0
        self.refused = 0
        self.outcomes = []
        self.seen = []  # weak references to all that was made

    def pick(self, r):
        return self.places[r.randrange(PLACES)]

    def put(self, r, result):
        """Results go to places that chance names."""
        for t in list(tensors_in(result))[:2]:
            if t.layout in (torch.strided, torch.sparse_coo) and t.device.type == "cpu":
                self.places[r.randrange(PLACES)] = small(t)

    def text(self, value, depth=0):
        for i, t in enumerate(self.places):
            if value is t:
                return f"x{i}"
        if isinstance(value, torch.Tensor):
            layout = "" if value.is_sparse else f" strides {value.stride()} offset {value.storage_offset()}"
            grad = " grad" if value.requires_grad else ""
            shared = "".join(
                f" on x{i}"
                for i, t in enumerate(self.places)
                if not value.is_sparse and not t.is_sparse and t.untyped_storage().data_ptr() == value.untyped_storage().data_ptr() != 0
            )  # fmt: skip
            return f"<{str(value.dtype)[6:]} {tuple(value.shape)}{layout}{grad}{shared}>"
        if isinstance(value, (list, tuple)) and depth < 3:
            return f"[{', '.join(self.text(v, depth + 1) for v in value)}]"
        if callable(value) and hasattr(value, "__name__"):
            return value.__name__
        return f"{value!r:.60}"

    def call(self, name, function, *args, gathers=False, careless=False, **kwargs):
        """The result of a call, or None when it was refused.

        ``gathers``: what a refused one has gathered in .grad may stay. ``careless``: it may have changed anything.
        """
        self.calls += 1
        if self.tell:
            parts = [self.text(a) for a in args] + [f"{k}={self.text(v)}" for k, v in kwargs.items()]
            mode = "" if torch.is_grad_enabled() else " [no_grad]"
            mode = " [inference]" if torch.is_inference_mode_enabled() else mode
            print(f"  {name}({', '.join(parts)}){mode}", flush=True)
        if not self.ordered:
            try:
                result = function(*args, **kwargs)
            except REFUSALS:
                self.refused += 1
                return None
            self.seen += [weakref.ref(t) for t in tensors_in(result)]
            return result
        operands = list(tensors_in(args)) + list(tensors_in(kwargs))
        before = [state_of(t, not gathers) for t in operands]
        try:
            result = function(*args, **kwargs)
        except REFUSALS as error:
            self.refused += 1
            self.outcomes.append(type(error).__name__)
            if self.tell:
                print(f"    {type(error).__name__}: {error!s:.300}", flush=True)
            for t, was in zip(operands, before if not careless else ()):
                if text := "; ".join(changed(was, state_of(t, not gathers))):
                    raise Broken(f"refused {name} has changed an operand: {text} ({error!s:.200})") from error
            return None
        self.outcomes.append("done")
        for t in tensors_in(result):
            within_memory(t)
            self.seen.append(weakref.ref(t))
        for t in operands:
            within_memory(t)
        if self.tell and result is not None:
            print(f"    -> {self.text(result)}", flush=True)
        return result

    def digest(self):
        """What must be the same when the program runs again."""
        seen = [tuple(self.outcomes)]
        for t in self.places:
            grad = t.grad if t.is_leaf else None
            seen.append(
                (
                    str(t.dtype),
                    tuple(t.shape),
                    t.is_sparse or t.stride(),
                    t.requires_grad,
                    t.grad_fn and t.grad_fn.name(),
                    elements_of(t),
                    None if grad is None else elements_of(grad),
                )
            )
        return seen

    @contextlib.contextmanager
    def without_order(self):
        """Threads share the places: only crashes and hangs are looked for from here on."""
        self.ordered = self.repeatable = False
        yield
        self.ordered = True
