"""Every operator on CUDA and on the CPU: ``python every_row.py`` prints for each of its calls what became of it.

``runs``       the same values, dtype and shape; to the bit, where nothing is summed up
``lacks``      NotImplementedError, which names the operator and the device
a sentence     anything else, which is wrong
"""

import os
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "core" / "samples"))
from operator_samples import INFO, cases, name_of
from operator_samples.found import copied, has_tensor, is_factory

#: rows whose values are left as they are, or write one place several times
UNKNOWN = {
    "as_strided_scatter",
    "empty",
    "empty_like",
    "empty_strided",
    "new_empty",
    "new_empty_strided",
    "resize_",
    "resize_as_",
}

#: where places are named twice, any of the values may stay
if "order" in os.environ.get("TORCH_CUDA_HOST", ""):
    UNKNOWN |= {"index_copy", "index_copy_", "index_put", "index_put_", "put", "put_", "scatter", "scatter_"}
    UNKNOWN |= {"max_unpool1d", "max_unpool2d", "max_unpool3d"}


def moved(x, device):
    """Arguments with their tensors on a device."""
    if isinstance(x, torch.Tensor):
        return x.to(device)
    return type(x)(moved(y, device) for y in x) if isinstance(x, (list, tuple)) else x


def difference(info, here, there):
    """What is wrong with a result, or None."""
    if isinstance(here, (list, tuple)):
        if type(here) is not type(there) or len(here) != len(there):
            return f"gives {type(there).__name__} and on the CPU {type(here).__name__}"
        return next((d for h, t in zip(here, there, strict=True) if (d := difference(info, h, t))), None)
    if not isinstance(here, torch.Tensor):
        return None if here == there or here != here else f"gives {there!r} and on the CPU {here!r}"
    if here.shape != there.shape or here.dtype != there.dtype:
        return f"gives {there.dtype} of {tuple(there.shape)} and on the CPU {here.dtype} of {tuple(here.shape)}"
    if not there.is_cuda:
        return f"gives a tensor on {there.device}"
    if name_of(info["schema"]) in UNKNOWN or info["random"]:
        return None
    back = there.cpu()
    if here.is_sparse or here.layout != torch.strided:
        return None
    exact = not (here.is_floating_point() or here.is_complex())
    # groups of equal numbers: what rounding left of them is divided by the root of eps
    near = 1e-5 if name_of(info["schema"]) == "group_norm" else 1e-6
    same = torch.equal(back, here) if exact else torch.allclose(back, here, rtol=1e-5, atol=near, equal_nan=True)
    return None if same else f"gives {back.flatten()[:4].tolist()} and on the CPU {here.flatten()[:4].tolist()}"


def outcome(schema, args, kwargs):
    operator = torch._C._operator(name_of(schema))
    expected = operator(*copied(args), **kwargs)
    there = {k: moved(v, "cuda") for k, v in kwargs.items()}
    if is_factory(schema) and not has_tensor([*args, *kwargs.values()]):
        there["device"] = "cuda"
    try:
        result = operator(*moved(copied(args), "cuda"), **there)
        return difference(INFO[schema], expected, result) or "runs"
    except Exception as e:
        text = f"{type(e).__name__}: {e}".splitlines()[0]
        if isinstance(e, NotImplementedError) and "cuda" in text:
            return "lacks"
        return text


if __name__ == "__main__":
    for schema in INFO:
        for args, kwargs in cases(schema):
            print(name_of(schema), end=" ", flush=True)  # the last name printed is whose call ended the process
            print(outcome(schema, args, kwargs), flush=True)
