"""Every row, called as its samples say: the same results of Meta tensors, strides, ``out=``, threads and autocast."""

import threading

import pytest
import torch
from operator_samples import INFO, cases, in_place, name_of, samples_of
from torch import _C

#: Their results' sizes, or their arguments, are values, which the Meta device does not have.
BY_VALUES = {"_linalg_lstsq", "lstsq", "_segment_sum", "_sparse_sparse_matmul"}
#: They speak of memory itself, or take it as it is from operators that have made it so.
OF_MEMORY = ("as_strided", "storage", "set_", "resize", "_sparse_coo_tensor_unsafe", "is_contiguous", "stride")
SCHEMAS = [pytest.param(s, id=s.partition(") ->")[0]) for s in INFO if samples_of(s)]
DRAWN = {s for s, info in INFO.items() if info["random"]} | {s for s in INFO if "dropout" in s or "rrelu" in s}
UNSET = {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "empty_permuted"}


def every_row(test):
    return pytest.mark.parametrize("schema", SCHEMAS)(test)


def changed(x, change):
    """Arguments with each strided tensor changed; one that stands twice stays one."""
    if isinstance(x, torch.Tensor):
        return change(x) if x.layout == torch.strided else x
    if isinstance(x, (list, tuple)):
        return type(x)(changed(y, change) for y in x)
    return {k: changed(v, change) for k, v in x.items()} if isinstance(x, dict) else x


def flat(result):
    if isinstance(result, (list, tuple)) and not isinstance(result, torch.Size):
        return [t for r in result for t in flat(r)]
    return [result]


def run(schema, args, kwargs, change=lambda t: t):
    """The results, and what an operator in place has written to."""
    args, kwargs = changed(args, change), changed(kwargs, change)
    results = flat(_C._operator(name_of(schema))(*args, **kwargs))
    return results + [a for a in args if isinstance(a, torch.Tensor)] if "!" in schema else results


def agree(got, expected, schema, exact=True):
    assert len(got) == len(expected), schema
    if schema in DRAWN:
        return
    for a, b in zip(got, expected, strict=True):
        if not isinstance(b, torch.Tensor):
            assert type(a) is type(b) and (a == b or a != a), schema
            continue
        assert (a.shape, a.dtype, a.layout) == (b.shape, b.dtype, b.layout), schema
        if name_of(schema) in UNSET:
            continue
        a, b = (t.to_dense() if t.layout != torch.strided else t for t in (a, b))
        tolerance = {"rtol": 0, "atol": 0} if exact else {"rtol": 1e-5, "atol": 1e-6}
        torch.testing.assert_close(a, b, **tolerance, equal_nan=True)


def test_every_row_has_a_sample():
    without = [s for s in INFO if not samples_of(s)]
    assert not without, "add calls to core/samples/operator_samples:\n" + "\n".join(without)


@every_row
def test_meta_tells_shapes_and_dtypes(schema):
    if name_of(schema) in BY_VALUES:
        pytest.skip("of values")
    for args, kwargs in cases(schema):
        if any(t.layout != torch.strided for t in flat(args) if isinstance(t, torch.Tensor)):
            continue
        expected = run(schema, *changed((args, kwargs), torch.clone))
        try:
            got = run(schema, args, kwargs, lambda t: t.to("meta"))
        except (NotImplementedError, RuntimeError) as error:
            text = str(error)
            assert "meta" in text.lower() or "same device" in text, text  # the size is in the values
            continue
        for a, b in zip(got, expected, strict=True):
            if isinstance(b, torch.Tensor):
                assert (a.shape, a.dtype, a.layout) == (b.shape, b.dtype, b.layout)
                if any(t.numel() for t in flat(args) if isinstance(t, torch.Tensor)):
                    assert a.is_meta or name_of(schema) in ("result_type",)


def gaps(t):
    return torch.stack([t, t], -1)[..., 0] if t.dim() else t


def swapped(t):
    return t.transpose(0, -1).contiguous().transpose(0, -1) if t.dim() > 1 else t


def behind(t):
    return torch.cat([t.new_zeros(4), t.reshape(-1)])[4:].view(t.shape)


@every_row
def test_strides_do_not_matter(schema):
    if any(word in schema for word in OF_MEMORY):
        pytest.skip("speaks of memory itself")
    for change in (gaps, swapped, behind):
        for (args, kwargs), (others, named) in zip(cases(schema), cases(schema), strict=True):
            expected = run(schema, args, kwargs)
            try:
                got = run(schema, others, named, change)
            except RuntimeError as error:
                assert "view size is not compatible" in str(error) or "contiguous" in str(error), error
                continue
            agree(got, expected, schema, exact=False)


@every_row
def test_out_is_written_to_whatever_it_was(schema):
    if in_place(schema) or "!" in schema:
        pytest.skip("writes to its own arguments")
    for (args, kwargs), (others, named) in zip(cases(schema), cases(schema), strict=True):
        expected = run(schema, args, kwargs)
        if not all(isinstance(t, torch.Tensor) and t.layout == torch.strided for t in expected):
            continue
        made = [torch.empty(0, dtype=t.dtype) for t in expected]
        strided = [torch.empty(t.shape[::-1], dtype=t.dtype).permute([*range(t.dim())][::-1]) for t in expected]
        wholes = [torch.zeros(t.numel() + 5, dtype=t.dtype) for t in expected]
        parts = [whole[3:-2].view(t.shape) for whole, t in zip(wholes, expected, strict=True)]
        for outs in (made, strided, parts):
            try:
                run(schema, others, {**named, "out": outs[0] if len(outs) == 1 else tuple(outs)})
            except TypeError as error:
                assert "out" in str(error), error
                break
            agree(outs, expected, schema)
            assert outs is not parts or not any(whole[:3].any() or whole[-2:].any() for whole in wholes)


@every_row
def test_threads_compute_the_same(schema):
    if not INFO[schema]["random"]:
        expected, found = [], []

        def work(into):
            for args, kwargs in cases(schema):
                into.append(run(schema, args, kwargs))

        work(expected)
        threads = [threading.Thread(target=work, args=(found,)) for _ in range(2)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert len(found) == 2 * len(expected)


@every_row
def test_autocast_changes_dtypes_and_hardly_values(schema):
    for (args, kwargs), (others, named) in zip(cases(schema), cases(schema), strict=True):
        single = lambda t: t.float() if t.dtype == torch.float64 else t
        try:
            expected = run(schema, args, kwargs, single)
        except (RuntimeError, TypeError):
            continue  # the sample is one of float64
        with torch.autocast("cpu", dtype=torch.bfloat16):
            got = run(schema, others, named, single)
        if schema in DRAWN or name_of(schema) in UNSET:
            continue
        for a, b in zip(got, expected, strict=True):
            if isinstance(b, torch.Tensor) and b.is_floating_point() and b.layout == torch.strided and b.numel():
                assert a.shape == b.shape and a.dtype in (b.dtype, torch.bfloat16, torch.float32)
                scale = b[b.isfinite()].abs().max().item() if b.isfinite().any() else 1
                torch.testing.assert_close(a.to(b.dtype), b, rtol=0.05, atol=0.05 * max(scale, 1), equal_nan=True)
