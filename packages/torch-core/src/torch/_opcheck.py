"""The checks of torch.library.opcheck."""

import contextlib

from . import _C
from ._registered import _tensors


def _copies(values):
    if isinstance(values, _C.Tensor):
        return values.detach().clone().requires_grad_(values.requires_grad)
    if isinstance(values, (list, tuple)):
        return type(values)(map(_copies, values))
    if isinstance(values, dict):
        return {k: _copies(v) for k, v in values.items()}
    return values


def _schema(operator, args, kwargs):
    """What the schema does not mark as written stays as it is."""
    args, kwargs = _copies((args, kwargs))
    arguments = operator._schema.bind(operator.name(), args, kwargs)
    before = {name: [t.detach().clone() for t in _tensors([value])] for name, value in arguments.items()}
    with _no_grad():
        operator(*args, **kwargs)
    for name, value in arguments.items():
        same = all(_equal(a, b) for a, b in zip(before[name], _tensors([value]), strict=True))
        if not same and name not in operator._schema.written:
            raise RuntimeError(
                f"{operator.name()}: argument {name} changed, but the schema does not say so: {operator._schema}"
            )


def _equal(a, b):
    return a.shape == b.shape and bool(((a == b) | ((a != a) & (b != b))).all())


def _no_grad():
    try:
        from torch.autograd import no_grad
    except ImportError:  # without torch-autograd nothing records
        return contextlib.nullcontext()
    return no_grad()


def _fake(operator, args, kwargs):
    """Shapes and dtypes on device "meta" are those of the result."""
    with _no_grad():
        expected = operator(*_copies(args), **_copies(kwargs))
        made = operator(*_on_meta(args), **_on_meta(kwargs))
    expected, made = (list(_tensors(r if isinstance(r, (list, tuple)) else [r])) for r in (expected, made))
    said = [(tuple(t.shape), t.dtype) for t in made]
    if said != (wanted := [(tuple(t.shape), t.dtype) for t in expected]):
        raise RuntimeError(f"{operator.name()}: on device 'meta' the result is {said}, on the tensors' own {wanted}")


def _on_meta(values):
    if isinstance(values, _C.Tensor):
        return values.to("meta")
    if isinstance(values, (list, tuple)):
        return type(values)(map(_on_meta, values))
    return {k: _on_meta(v) for k, v in values.items()} if isinstance(values, dict) else values


def _gradients(operator, args, kwargs):
    """Where an argument asks for a gradient, the result passes one back."""
    args, kwargs = _copies((args, kwargs))
    inputs = [t for t in _tensors([*args, *kwargs.values()]) if t.requires_grad]
    if not inputs:
        return
    result = operator(*args, **kwargs)
    tracked = [t for t in _tensors(result if isinstance(result, (list, tuple)) else [result]) if t.requires_grad]
    if not tracked:
        raise RuntimeError(f"{operator.name()}: no result requires a gradient although an argument does")
    sum(t.sum() for t in tracked).backward()


def _taken_apart(operator, args, kwargs):
    """Results and gradients are the same where changes in place are taken out, as compilers do."""
    try:
        from torch.func import functionalize
    except ImportError:  # without torch-autograd there is nothing that takes calls apart
        return
    args, kwargs = _copies((args, kwargs))
    expected, gradients = _run(operator, *_copies((args, kwargs)))
    found, others = _run(functionalize(operator), args, kwargs)
    for what, ours, theirs in (("result", found, expected), ("gradient", others, gradients)):
        for a, b in zip(ours, theirs, strict=True):
            if (a is None) != (b is None) or (a is not None and not _equal(a.detach(), b.detach())):
                raise RuntimeError(f"{operator.name()}: without changes in place a {what} is {a}, and else {b}")


def _run(function, args, kwargs):
    inputs = [t for t in _tensors([*args, *kwargs.values()]) if t.requires_grad]
    result = function(*args, **kwargs)
    results = list(_tensors(result if isinstance(result, (list, tuple)) else [result]))
    tracked = [t for t in results if t.requires_grad]
    if not inputs or not tracked:
        return results, []
    from torch.autograd import grad

    return results, grad(sum(t.sum() for t in tracked), inputs, allow_unused=True)


CHECKS = {
    "test_schema": _schema,
    "test_autograd_registration": _gradients,
    "test_faketensor": _fake,
    "test_aot_dispatch_dynamic": _taken_apart,
}
#: by other names; "static" is of sizes that do not vary, as all are here
FURTHER = {"test_aot_dispatch_static": _taken_apart}


def check(operator, args, kwargs, names, raise_exception):
    """The result of each check by name."""
    found = {}
    for name in names:
        try:
            (CHECKS | FURTHER)[name](operator, args, kwargs)
            found[name] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise
            found[name] = error
    return found
