"""Every operator under a mode of __torch_dispatch__ that changes nothing, and within functionalize: the plain results."""

import pytest
import torch
from samples import INFO, TREATMENTS, Source, calls_of, in_place, name_of
from torch import _C as core
from torch import _dispatch, func

ROWS = [s for s in TREATMENTS if calls_of(s)]


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
    for number, sample in enumerate(calls_of(schema)):
        args, kwargs = sample(Source(f"{schema} {number}"))
        kwargs = {k: v for k, v in kwargs.items() if k not in ("nograd", "outputs")}
        if "seed" in kwargs or any(isinstance(v, torch.Tensor) for v in kwargs.values()):
            continue
        places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        if in_place(schema) and (not places or places[0] != 0):
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
            if name_of(schema) not in ("empty_like", "new_empty"):
                torch.testing.assert_close(a, b, rtol=0, atol=0, equal_nan=True)
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
    if INFO[schema]["random"] or "sparse" in schema or name_of(schema) == "native_batch_norm":
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
