"""Every row, called as its samples say, within a trace: the recorded program gives what the call gave."""

import sys
from pathlib import Path

import pytest
import torch

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(p / "core" / "samples") for p in HERE.parents if (p / "core" / "samples").is_dir()]

from operator_samples import INFO, cases, in_place, name_of, samples_of  # noqa: E402

UNSET = {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided"}
SCHEMAS = [
    pytest.param(s, id=s.partition(") ->")[0])
    for s, info in INFO.items()
    if samples_of(s) and not info["random"] and not info["hidden"] and name_of(s) not in UNSET
]


def flat(result):
    return [t for r in result for t in flat(r)] if isinstance(result, (list, tuple)) else [result]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_a_trace_of_a_row_computes_what_it_computes(schema):
    operator = torch._C._operator(name_of(schema))
    for args, kwargs in cases(schema):
        places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        if not places or any(args[i].layout != torch.strided for i in places):
            continue

        def function(*tensors, args=args, kwargs=kwargs, places=places):
            filled = list(args)
            for i, t in zip(places, tensors, strict=True):
                filled[i] = t.clone() if in_place(schema) and i == 0 else t
            return tuple(flat(operator(*filled, **kwargs)))

        tensors = [args[i] for i in places]
        expected = function(*tensors)
        if not all(isinstance(t, torch.Tensor) and t.layout == torch.strided for t in expected):
            continue
        found = torch.jit.trace(function, tuple(tensors), check_trace=False)(*tensors)
        for a, b in zip(flat(found), expected, strict=True):
            assert a.dtype == b.dtype and a.shape == b.shape, schema
            torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-6, equal_nan=True)
