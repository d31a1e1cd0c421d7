"""Every operator under a mode of __torch_dispatch__ that changes nothing, and within functionalize: the plain results."""

import pytest
import torch
from operator_samples import INFO, cases, in_place, name_of, samples_of
from torch import _C as core
from torch import _dispatch, func

ROWS = [s for s in INFO if samples_of(s)]

UNSET = {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided"}
#: They read values, or speak of the memory of one tensor.
OTHERWISE = (
    "narrow(Tensor(a) self, int dim, Tensor",
    "tensor_split(Tensor(a) self, Tensor",
    "resize",
    "set_(",
    "equal(",
    "allclose(",
)


class Through:
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        assert str(func._schema).startswith("aten::")
        return func(*args, **kwargs or {})

    def __enter__(self):
        _dispatch.push(self)

    def __exit__(self, *error):
        _dispatch.pop()


def _cases(schema):
    """(function of the tensors in positions, these) for each sample."""
    operator = core._operator(name_of(schema))
    for args, kwargs in cases(schema):
        if any(isinstance(v, torch.Tensor) for v in kwargs.values()):
            continue
        places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        if in_place(schema) and (not places or places[0] != 0):
            continue
        if any(args[i].layout != torch.strided for i in places):
            continue

        def function(*tensors, args=args, kwargs=kwargs, places=places):
            filled = list(args)
            for i, t in zip(places, tensors, strict=True):
                filled[i] = t
            if in_place(schema):
                filled[0] = filled[0].clone()
            result = operator(*filled, **kwargs)
            return result if isinstance(result, (list, tuple)) else [result]

        yield function, [args[i].detach() for i in places]


def _agree(got, expected, schema):
    for a, b in zip(got, expected, strict=True):
        if isinstance(b, torch.Tensor):
            assert a.dtype == b.dtype and a.shape == b.shape, schema
            if name_of(schema) not in UNSET:
                torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-6, equal_nan=True)
        else:
            assert a == b, schema


@pytest.mark.parametrize("schema", ROWS)
def test_a_mode_that_changes_nothing_changes_nothing(schema):
    if INFO[schema]["random"] or "sparse" in schema:
        pytest.skip("drawn anew each time, or of sparse tensors")
    for function, tensors in _cases(schema):
        try:
            expected = function(*tensors)
        except (RuntimeError, NotImplementedError) as error:  # a sample of another overload
            with pytest.raises(type(error)) as raised, Through():
                function(*tensors)
            assert str(raised.value) == str(error)
            continue
        with Through():
            got = function(*tensors)
        _agree(got, expected, schema)


@pytest.mark.parametrize("schema", ROWS)
def test_functionalize_changes_no_result(schema):
    if INFO[schema]["random"] or any(word in schema for word in ("sparse", "native_batch_norm", *OTHERWISE)):
        pytest.skip("drawn anew each time, of sparse tensors, or with statistics from outside")
    for function, tensors in _cases(schema):
        try:
            expected = function(*tensors)
        except (RuntimeError, NotImplementedError):
            with pytest.raises((RuntimeError, NotImplementedError)):
                func.functionalize(function)(*tensors)
            continue
        try:
            got = func.functionalize(function)(*tensors)
        except NotImplementedError as error:
            assert "moves dims in place" in str(error), error
            continue
        _agree(got, expected, schema)
