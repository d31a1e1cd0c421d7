"""What a program may do in one step: functions of a machine and a source of chance, and how often each is drawn."""

import copy
import gc
import threading

import torch
from differentiability import DIFFERENTIABILITY
from operator_samples import INFO
from torch import _C as core
from torch.autograd import Function, graph

from . import tensors
from .arguments import of_row, operand
from .machine import REFUSALS, Broken, HookError

ACTIONS, WEIGHTS = [], []


def action(weight):
    def add(function):
        ACTIONS.append(function)
        WEIGHTS.append(weight)
        return function

    return add


SCHEMAS = list(DIFFERENTIABILITY)
#: Their results hold whatever the memory held.
UNFILLED = {"resize_", "resize_as_", "resize_as_sparse_", "empty", "empty_like", "new_empty", "new_empty_strided", "empty_strided", "empty_permuted", "_sparse_assign_", "_coalesced_", "can_cast", "promote_types", "result_type"}  # fmt: skip


def name_of(schema):
    return schema.partition("(")[0]


PLAIN = [s for s in SCHEMAS if "(a!)" not in s and name_of(s) not in UNFILLED]
IN_PLACE = [s for s in SCHEMAS if "(a!) self" in s and name_of(s) not in UNFILLED]
WITH_OUT = [s for s in PLAIN if "(a)" not in s and " -> Tensor" in s and "[]" not in s.rpartition("->")[2]]


# --- operators


@action(30)
def row(m, r):
    schema = r.choice(PLAIN)
    name = name_of(schema)
    args, kwargs = of_row(m, r, schema)
    m.put(r, m.call(name, core._operator(name), *args, **kwargs))


#: Results that say where elements lie in memory, or which of equals was found first.
NOT_COMPARED = {"as_strided", "as_strided_", "as_strided_scatter", "set_", "argmax", "argmin", "argsort", "_coalesced_"}
TOLERANCES = {torch.float16: 1e-2, torch.bfloat16: 1e-1, torch.float32: 1e-3, torch.complex64: 1e-3}


def copied(value):
    """The value with tensors that share memory with nothing."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    return [copied(v) for v in value] if isinstance(value, list) else value


def close(got, expected, dtype):
    """Whether numbers are those of a call on copies, in the dtype that they were cast to."""
    if got.shape != expected.shape:
        return False
    wide = torch.complex128 if got.is_complex() or expected.is_complex() else torch.float64
    a, b = got.detach().to(wide), expected.detach().to(got.dtype).to(wide)
    limit = max(TOLERANCES.get(d, 1e-8) for d in (got.dtype, expected.dtype, dtype))
    good = (a == b) | ((a - b).abs() <= limit * (1 + b.abs())) | (~a.isfinite() & ~b.isfinite())
    return bool(good.all())


def lies_apart(t):
    """Whether the elements of a tensor are as many places of memory."""
    if not isinstance(t, torch.Tensor) or t.is_sparse or t.numel() > tensors.LARGEST:
        return False
    places = torch.zeros((), dtype=torch.int64)
    for size, stride in zip(t.shape, t.stride()):
        places = places.unsqueeze(-1) + torch.arange(size) * stride
    return len(set(places.reshape(-1).tolist())) == t.numel()


def call_and_compare(m, r, schema, args, kwargs, out=None):
    """A call that writes to a tensor: its numbers must be those of the same call on copies, whatever shares memory."""
    name = name_of(schema)
    function = core._operator(name)
    extra = {} if out is None else {"out": out}
    if out is not None and "dtype? dtype" in schema:  # of makers, that of out
        return m.call(name, function, *args, **extra, **kwargs)
    changed = out if out is not None else args[0] if args else None
    if not m.ordered or r.random() < 0.5 or INFO[schema]["random"] or name in NOT_COMPARED or not lies_apart(changed):
        return m.call(name, function, *args, **extra, **kwargs)
    given, named = copied(list(args)), {k: copied(v) for k, v in kwargs.items()}
    result = m.call(name, function, *args, **extra, **kwargs)
    if not isinstance(result, torch.Tensor) or result.is_sparse or result.is_inference():
        return result
    try:
        with torch.no_grad():
            expected = function(*given, **named)
    except REFUSALS:
        return result
    widest = max(
        (t.dtype for t in given if isinstance(t, torch.Tensor)),
        key=lambda d: TOLERANCES.get(d, 0),
        default=torch.float64,
    )
    with torch.no_grad():
        if not expected.is_sparse and not close(result, expected, widest):
            raise Broken(f"{name} gives {result.tolist()!s:.300}, and {expected.tolist()!s:.300} on copies")
    return result


@action(14)
def row_in_place(m, r):
    schema = r.choice(IN_PLACE)
    args, kwargs = of_row(m, r, schema)
    if args and r.random() < 0.7:
        args[0] = m.pick(r)
    call_and_compare(m, r, schema, args, kwargs)


@action(10)
def row_with_out(m, r):
    schema = r.choice(WITH_OUT)
    args, kwargs = of_row(m, r, schema)
    out = m.pick(r) if r.random() < 0.7 else tensors.fresh(r)
    if INFO[schema]["results"] > 1:
        out = tuple(m.pick(r) if r.random() < 0.5 else tensors.fresh(r) for _ in range(INFO[schema]["results"]))
    call_and_compare(m, r, schema, args, kwargs, out)


@action(10)
def arithmetic_in_place(m, r):
    """Changes that are seldom refused."""
    x = m.pick(r)
    other = r.choice((2, 0.5, m.pick(r), m.pick(r), tensors.shaped(r, tuple(x.shape), x.dtype)))
    name = r.choice(("mul_", "add_", "sub_", "copy_", "fill_", "zero_", "sin_", "neg_", "tanh_", "clamp_", "masked_fill_", "cumsum_"))  # fmt: skip
    args = {"clamp_": (-1, 1), "masked_fill_": (x.detach() != 0, 0.5), "cumsum_": (0,)}.get(name, (other,))
    if name == "copy_" and not isinstance(other, torch.Tensor):
        return
    m.call(name, getattr(torch.Tensor, name), x, *(() if name in ("zero_", "sin_", "neg_", "tanh_") else args))


@action(4)
def set_item(m, r):
    x = m.pick(r)
    index = r.choice((0, -1, slice(None), slice(0, 2), slice(None, None, 2), Ellipsis, None, (Ellipsis, 0), True))
    if r.random() < 0.2:
        index = x.detach() != 0
    m.call("setitem", torch.Tensor.__setitem__, x, index, r.choice((1, 0.5, m.pick(r), m.pick(r))))


@action(3)
def get_item(m, r):
    index = r.choice((0, -1, slice(1, None), slice(None, None, 2), Ellipsis, None, (Ellipsis, 0), (slice(None), None), True))  # fmt: skip
    if r.random() < 0.2:
        index = m.pick(r)
    x = m.pick(r)
    m.put(r, m.call("getitem", torch.Tensor.__getitem__, x, index))


# --- views

VIEWS = [
    ("select", lambda r, d: (r.randrange(-1, max(d, 1)), 0)),
    ("narrow", lambda r, d: (r.randrange(max(d, 1)), r.randrange(2), r.randrange(3))),
    ("t", lambda r, d: ()),
    ("transpose", lambda r, d: (0, -1)),
    ("unsqueeze", lambda r, d: (r.randrange(-d - 1, d + 1),)),
    ("squeeze", lambda r, d: ()),
    ("expand", lambda r, d: (r.randrange(1, 4), *([-1] * d))),
    ("diagonal", lambda r, d: (r.randrange(-1, 2),)),
    ("unfold", lambda r, d: (r.randrange(max(d, 1)), 2, 1)),
    ("view", lambda r, d: (-1,)),
    ("flatten", lambda r, d: ()),
    ("unbind", lambda r, d: (r.randrange(max(d, 1)),)),
    ("chunk", lambda r, d: (2, r.randrange(max(d, 1)))),
    ("split", lambda r, d: (r.randrange(3), r.randrange(max(d, 1)))),
    ("detach", lambda r, d: ()),
    ("view", lambda r, d: (r.choice((torch.uint8, torch.bool, torch.float32, torch.int64, torch.complex64)),)),
    ("as_strided", lambda r, d: ((2, 2), (r.randrange(3), r.randrange(3)), r.randrange(2))),
]  # fmt: skip


@action(14)
def view(m, r):
    x = m.pick(r)
    name, arguments = r.choice(VIEWS)
    m.put(r, m.call(name, getattr(torch.Tensor, name), x, *arguments(r, x.dim())))


@action(3)
def part_of_complex(m, r):
    x = m.pick(r)
    name = r.choice(("real", "imag", "data", "mT", "T", "H"))
    m.put(r, m.call(name, lambda x: getattr(x, name), x))


# --- what exchanges shape, memory or history


@action(5)
def reshape_in_place(m, r):
    x = m.pick(r)
    name, args = r.choice((("t_", ()), ("transpose_", (0, -1)), ("squeeze_", ()), ("unsqueeze_", (0,)), ("swapaxes_", (0, 1)), ("as_strided_", ((2,), (1,), 0))))  # fmt: skip
    m.call(name, getattr(torch.Tensor, name), x, *args)


@action(6)
def resize(m, r):
    x, like = m.pick(r), m.pick(r)
    if x.is_sparse or like.is_sparse:
        return
    storage, was, strides = x.untyped_storage(), x.untyped_storage().nbytes(), x.stride()
    how = r.randrange(3)
    shape = tuple(x.shape) if how == 0 else tuple(like.shape) if how == 1 else r.choice(tensors.SHAPES)
    same = shape == tuple(x.shape)
    if how == 1:
        done = m.call("resize_as_", torch.Tensor.resize_as_, x, like)
    else:
        done = m.call("resize_", torch.Tensor.resize_, x, shape)
    if not m.ordered:
        return
    if done is not None and same and x.stride() != strides:
        raise Broken(f"resize_ to the shape {shape} that the tensor has: strides {strides} -> {x.stride()}")
    if storage.nbytes() > was:  # new memory holds anything
        with torch.no_grad():
            torch.empty(0, dtype=torch.uint8).set_(storage)[was:].zero_()


@action(5)
def exchange(m, r):
    x, y = m.pick(r), m.pick(r)
    how = r.randrange(4)
    if how == 0:
        m.call("set_", torch.Tensor.set_, x, y)
    elif how == 1 and not y.is_sparse:
        m.call("set_", torch.Tensor.set_, x, y.untyped_storage(), 0, r.choice(((2,), (1, 2), ())))
    elif how == 2:
        m.call("set data", lambda x, y: setattr(x, "data", y), x, y)
    else:
        m.call("set data", lambda x, y: setattr(x, "data", y), x, tensors.fresh(r).detach())


@action(4)
def cut(m, r):
    m.call("detach_", torch.Tensor.detach_, m.pick(r))


@action(4)
def require(m, r):
    m.call("requires_grad_", torch.Tensor.requires_grad_, m.pick(r), r.random() < 0.75)


@action(3)
def renew(m, r):
    m.put(r, tensors.fresh(r))


@action(2)
def duplicate(m, r):
    x = m.pick(r)
    function = r.choice((copy.copy, copy.deepcopy, torch.clone, torch.Tensor.contiguous, torch.zeros_like, torch.Tensor.to_sparse, torch.Tensor.tolist))  # fmt: skip
    m.put(r, m.call(function.__name__, function, x))


@action(1)
def forget(m, r):
    m.places[r.randrange(len(m.places))] = torch.zeros(2)
    if r.random() < 0.2:
        gc.collect()


# --- gradients, hooks


def loss_of(tensors):
    parts = [t.sum() if not t.is_sparse else t.to_dense().sum() for t in tensors]
    parts = [p.abs() if p.is_complex() else p for p in parts]
    return sum(p.to(torch.float64) for p in parts)


@action(9)
def backward(m, r):
    roots = [m.pick(r) for _ in range(r.choice((1, 1, 2)))]
    retain, create = r.random() < 0.6, r.random() < 0.3
    with torch.enable_grad():
        loss = m.call("loss", lambda *t: loss_of(t), *roots)
    if loss is None:
        return
    leaves = [t for t in m.places if t.is_leaf and t.requires_grad] if create and m.ordered else []
    create = bool(leaves)
    into = {"inputs": leaves} if create else {}
    m.call("backward", lambda *t: loss.backward(retain_graph=retain, create_graph=create, **into), *roots, gathers=True)
    forget_recorded_grads(m)


def forget_recorded_grads(m):
    """A graph that hangs on .grad of a tensor in it is a cycle that the user has made."""
    for t in m.places:
        if (t.is_leaf or t.retains_grad) and t.grad is not None and t.grad.requires_grad:
            t.grad = None


@action(6)
def gradients(m, r):
    root, wanted = m.pick(r), [m.pick(r) for _ in range(r.choice((1, 2)))]
    create = m.ordered and r.random() < 0.5

    def grad(root, *wanted):
        return torch.autograd.grad(loss_of([root]), wanted, create_graph=create, retain_graph=True, allow_unused=True)

    found = m.call("grad", grad, root, *wanted, gathers=True)
    for g, t in zip(found or (), wanted):
        if m.ordered and t.is_leaf and g is not None and (g.shape, g.dtype) != (t.shape, t.dtype):
            raise Broken(f"the gradient of {m.text(t)} is {m.text(g)}")
    m.put(r, found)
    forget_recorded_grads(m)


@action(3)
def seeded(m, r):
    x = m.pick(r)
    m.call("backward", torch.Tensor.backward, x, operand(m, r, x), retain_graph=True, gathers=True)


@action(3)
def gathered(m, r):
    """.grad read, set, forgotten, changed."""
    x = m.pick(r)
    how = r.randrange(5)
    if how == 0:
        m.call("set grad", lambda x: setattr(x, "grad", None), x)
    elif how == 1:
        m.call("set grad", lambda x, g: setattr(x, "grad", g), x, m.pick(r).detach())
    elif how == 2:
        m.put(r, m.call("get grad", lambda x: x.grad, x))
    elif how == 3:
        m.call("retain_grad", torch.Tensor.retain_grad, x)
    else:
        m.call("grad.zero_", lambda x: x.grad.zero_(), x, gathers=True)


def hooks_of(m, r):
    def double(g, *_):
        return g * 2

    def nothing(*_):
        return None

    def refuse(*_):
        raise HookError("a hook refuses")

    def wrong(*_):
        return torch.ones(7, 3)

    def change(g, *_):
        if isinstance(g, torch.Tensor):
            with torch.no_grad():
                g.add_(1)

    handles = m.handles  # not the machine itself: a cycle through a node that others hold is never collected

    def remove(*_):
        for h in handles[:2]:
            h.remove()

    return r.choice((double, double, nothing, nothing, refuse, wrong, change, remove))


@action(4)
def hook(m, r):
    x, function, how = m.pick(r), hooks_of(m, r), r.randrange(5)
    if how < 2:
        handle = m.call("register_hook", lambda x: x.register_hook(function), x)
    elif how == 2:
        handle = m.call("post hook", lambda x: x.register_post_accumulate_grad_hook(function), x)
    elif how == 3:
        handle = m.call("node hook", lambda x: x.grad_fn.register_hook(lambda gi, go: None), x)
    else:
        handle = m.call("node prehook", lambda x: x.grad_fn.register_prehook(lambda go: tuple(g if g is None else g * 1 for g in go)), x)  # fmt: skip
    if handle is not None:
        m.handles.append(handle)
    if m.handles and r.random() < 0.3:
        m.handles.pop(r.randrange(len(m.handles))).remove()


@action(2)
def saved_elsewhere(m, r):
    x, y = m.pick(r), m.pick(r)

    def pack(t):
        if r.random() < 0.05:
            raise HookError("cannot be packed")
        return t.detach().clone() if r.random() < 0.5 else t

    def product(x, y):
        with graph.saved_tensors_hooks(pack, lambda t: t):
            return x * y

    m.put(r, m.call("mul with saved_tensors_hooks", product, x, y))


class Keeps(Function):
    """Keeps its input by save_for_backward and its own output as an attribute."""

    @staticmethod
    def forward(ctx, x, mode):
        ctx.mode = mode
        ctx.save_for_backward(x.detach())  # a leaf itself would be a cycle when it becomes a result of this graph
        ctx.result = x * 3
        return ctx.result

    @staticmethod
    def backward(ctx, g):
        if ctx.mode == 0:
            raise HookError("no backward")
        return (None if ctx.mode == 1 else g * 3 + 0 * ctx.saved_tensors[0]), None


class Changes(Function):
    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 2


class Parts(Function):
    """Two results, of which one is its input and one a view of it."""

    @staticmethod
    def forward(ctx, x):
        return x, x.view(-1)

    @staticmethod
    def backward(ctx, a, b):
        return a + b.view(a.shape)


@action(4)
def function(m, r):
    x, how = m.pick(r), r.randrange(4)
    if how < 2:
        mode = r.randrange(4)
        m.put(r, m.call("Keeps", lambda x: Keeps.apply(x, mode), x))
    elif how == 2:
        m.call("Changes", Changes.apply, x, careless=True)
    else:
        m.put(r, m.call("Parts", Parts.apply, x))


# --- threads


def step_of_thread(m, r):
    r.choices(ACTIONS[:THREADED], WEIGHTS[:THREADED])[0](m, r)


THREADED = len(ACTIONS)


def in_threads(m, sources, steps):
    """The same number of steps in as many threads as there are sources of chance; raises what one of them broke."""
    broken = []

    def work(r):
        try:
            for _ in range(steps):
                step_of_thread(m, r)
        except REFUSALS:  # while arguments are made: what is read is changed meanwhile
            pass
        except BaseException as error:
            broken.append(error)

    threads = [threading.Thread(target=work, args=(r,)) for r in sources]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if broken:
        raise broken[0]


@action(2)
def another_thread(m, r):
    """A few steps in another thread while this one waits."""
    in_threads(m, [r], r.randrange(1, 4))


@action(1)
def threads_without_order(m, r):
    if r.random() < 0.7:
        return
    with m.without_order():
        in_threads(m, [type(r)(r.random()) for _ in range(r.choice((2, 3)))], r.randrange(2, 7))
