"""Summary messages: what is shown under one tag at one step.

Summary: value 1. Value: tag 1, simple_value 2, image 4, histo 5, audio 6, tensor 8, metadata 9.
"""

from __future__ import annotations

import math
import struct

import torch

from . import proto

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


FLOAT, DOUBLE, STRING = 1, 2, 7  # of TensorFlow's DataType


def value(tag: str, content: bytes, plugin: str | None = None, plugin_data: bytes = b"") -> bytes:
    if not isinstance(tag, str):
        raise TypeError(f"SummaryWriter: a tag is a str, got {type(tag).__name__}")
    metadata = proto.data(9, proto.data(1, proto.data(1, plugin) + proto.data(2, plugin_data))) if plugin else b""
    return proto.data(1, proto.data(1, tag) + content + metadata)


def tensor(dtype: int, shape: tuple[int, ...], content: bytes) -> bytes:
    """TensorProto: dtype 1, tensor_shape 2 {dim 2 {size 1}}, and the values."""
    dims = b"".join(proto.data(2, proto.integer(1, n)) for n in shape)
    return proto.data(8, proto.integer(1, dtype) + proto.data(2, dims) + content)


def number(what: str, scalar: Any) -> float:
    """A Python number, or the one element of a tensor or array. NotImplementedError for a list and other objects."""
    if not hasattr(scalar, "item") and not hasattr(type(scalar), "__float__") and not isinstance(scalar, str):
        raise NotImplementedError(
            f"{what}: got {type(scalar).__name__} ({scalar!r}), but a number, a NumPy array or a tensor is expected"
        )
    try:
        return float(scalar.item() if hasattr(scalar, "item") else scalar)
    except (TypeError, ValueError, RuntimeError) as error:
        shape = f" of shape {tuple(scalar.shape)}" if hasattr(scalar, "shape") else ""
        raise TypeError(f"{what}: expected one number, got {type(scalar).__name__}{shape} ({error})") from None


def as_tensor(what: str, values: Any) -> torch.Tensor:
    if isinstance(values, torch.Tensor):
        return values.detach().cpu()
    try:
        return torch.as_tensor(values)
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeError(
            f"{what}: expected a tensor, an array or a list of numbers, got {type(values).__name__} ({error})"
        )


def scalar(tag: str, scalar_value: Any, new_style: bool = False, double_precision: bool = False) -> bytes:
    x = number(f"add_scalar({tag!r})", scalar_value)
    if not (new_style or double_precision):
        return value(tag, proto.single(2, x))
    content = proto.doubles(6, [x]) if double_precision else proto.data(5, struct.pack("<f", x))
    return value(tag, tensor(DOUBLE if double_precision else FLOAT, (), content), "scalars")


def hparams(
    hparam_dict: dict, metric_dict: dict, hparam_domain_discrete: dict | None = None
) -> tuple[bytes, bytes, bytes]:
    """The three summaries of a run's settings and metrics: experiment, start and end of the session."""
    from .hparams import summaries

    experiment, start, end = summaries(hparam_dict, metric_dict, hparam_domain_discrete)
    return experiment, start, end


def text(tag: str, text_string: str) -> bytes:
    if not isinstance(text_string, str):
        raise TypeError(f"add_text({tag!r}): expected a str, got {type(text_string).__name__}")
    return value(f"{tag}/text_summary", tensor(STRING, (1,), proto.data(8, text_string)), "text")


# --- histograms


def limits_of_tensorflow() -> torch.Tensor:
    """Limits that grow by a tenth from 1e-12 to 1e20, both ways from zero."""
    grow = [1e-12]
    while grow[-1] < 1e20:
        grow.append(grow[-1] * 1.1)
    return torch.tensor([-v for v in reversed(grow)] + [0.0] + grow, dtype=torch.float64)


def histogram(tag: str, values: Any, bins: str = "tensorflow", max_bins: int | None = None) -> bytes:
    what = f"add_histogram({tag!r})"
    x = as_tensor(what, values).flatten()
    if x.is_complex():
        raise TypeError(f"{what}: complex numbers have no order; give their abs() or angle()")
    x = x.to(torch.float64)
    if isinstance(bins, int) and bins < 1:
        raise ValueError(f"{what}: bins is a number from 1 on, got {bins}")
    if x.numel() == 0:
        raise ValueError(f"{what}: there are no values")
    if not bool(x.isfinite().all()):
        raise ValueError(f"{what}: {int((~x.isfinite()).sum())} of {x.numel()} values are infinite or NaN")
    if isinstance(bins, str) and bins == "tensorflow":
        edges = limits_of_tensorflow()
    elif isinstance(bins, str):
        import numpy

        edges = torch.as_tensor(numpy.histogram_bin_edges(x.numpy(), bins=bins))
    elif isinstance(bins, int):
        edges = torch.linspace(float(x.min()), float(x.max()), bins + 1, dtype=torch.float64)
    else:
        edges = as_tensor(what, bins).to(torch.float64)
    # As NumPy counts: [a, b) but for the last, which is [a, b].
    at = torch.searchsorted(edges, x, right=True)
    at = torch.where(x == edges[-1], edges.numel() - 1, at)
    inside = (at > 0) & (at < edges.numel())
    counts = torch.bincount(at[inside], minlength=edges.numel())[1:].to(torch.float64)
    if max_bins is not None and counts.numel() > max_bins:
        every = math.ceil(counts.numel() / max_bins)
        padded = torch.zeros(every * math.ceil(counts.numel() / every), dtype=torch.float64)
        padded[: counts.numel()] = counts
        counts = padded.view(-1, every).sum(1)
        edges = torch.tensor([*edges[::every].tolist()[: counts.numel()], float(edges[-1])], dtype=torch.float64)
    some = counts.nonzero().flatten().tolist()
    if not some:
        raise ValueError(
            f"{what}: no value lies between the first limit {float(edges[0])} and the last {float(edges[-1])}"
        )
    first, last = some[0], some[-1]
    # A bucket is told only by its right limit: an empty one to the left closes the first.
    bucket_limit = edges[first : last + 2].tolist()
    bucket = [0.0, *counts[first : last + 1].tolist()]
    return histogram_raw(
        tag, float(x.min()), float(x.max()), x.numel(), float(x.sum()), float((x * x).sum()), bucket_limit, bucket
    )


def histogram_raw(
    tag: str, min: Any, max: Any, num: Any, sum: Any, sum_squares: Any, bucket_limits: Any, bucket_counts: Any
) -> bytes:
    if len(bucket_limits) != len(bucket_counts):
        raise ValueError(
            f"add_histogram_raw({tag!r}): {len(bucket_limits)} bucket_limits and {len(bucket_counts)} bucket_counts"
        )
    numbers = b"".join(proto.double(i + 1, float(v)) for i, v in enumerate((min, max, num, sum, sum_squares)))
    return value(tag, proto.data(5, numbers + proto.doubles(6, bucket_limits) + proto.doubles(7, bucket_counts)))


# --- precision and recall


def pr_curve(tag: str, labels: Any, predictions: Any, num_thresholds: int = 127, weights: Any = None) -> bytes:
    """Counts of true and false positives and negatives, precision and recall, at each of evenly spaced thresholds."""
    what = f"add_pr_curve({tag!r})"
    if num_thresholds < 2:
        raise ValueError(f"{what}: num_thresholds is a number from 2 on, got {num_thresholds}")
    positive = as_tensor(what, labels).flatten().to(torch.bool)
    p = as_tensor(what, predictions).flatten().to(torch.float64)
    if positive.shape != p.shape:
        raise ValueError(f"{what}: {positive.numel()} labels and {p.numel()} predictions")
    if p.numel() and not (float(p.min()) >= 0 and float(p.max()) <= 1):
        raise ValueError(f"{what}: predictions must lie in [0, 1], got [{float(p.min())}, {float(p.max())}]")
    w = torch.ones_like(p) if weights is None else as_tensor(what, weights).flatten().to(torch.float64)
    at = (p * (num_thresholds - 1)).floor().to(torch.int64)
    ones = torch.bincount(at, weights=w * positive, minlength=num_thresholds)
    zeros = torch.bincount(at, weights=w * ~positive, minlength=num_thresholds)
    tp, fp = ones.flip(0).cumsum(0).flip(0), zeros.flip(0).cumsum(0).flip(0)
    return pr_curve_raw(
        tag, tp, fp, zeros.sum() - fp, ones.sum() - tp, tp / (tp + fp).clamp(min=1e-7), tp / ones.sum().clamp(min=1e-7)
    )


def pr_curve_raw(
    tag: str,
    tp: Any,
    fp: Any,
    tn: Any,
    fn: Callable[..., Any],
    precision: Any,
    recall: Any,
    num_thresholds: int | None = None,
) -> bytes:
    rows = [as_tensor("add_pr_curve", r).to(torch.float32).tolist() for r in (tp, fp, tn, fn, precision, recall)]
    count = num_thresholds or len(rows[0])
    flat = [v for row in rows for v in row[:count]]
    content = proto.data(5, struct.pack(f"<{len(flat)}f", *flat))
    return value(tag, tensor(FLOAT, (6, count), content), "pr_curves", proto.integer(2, count))
