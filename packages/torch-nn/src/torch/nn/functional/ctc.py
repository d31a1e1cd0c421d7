"""Connectionist temporal classification (Graves 2006)."""

from __future__ import annotations

import torch
from torch._seams import in_float32

from ._ops import ops
from ._reduction import MEAN, SUM
from ._reduction import code as _code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torch import Tensor


__all__ = ["ctc_loss"]


@in_float32
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor,
    target_lengths: Tensor,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Negative log probability of label sequences, summed over all alignments with the input.

    ``log_probs`` (T, N, C) or (T, C); ``targets`` (N, S), or all sequences joined in one dim; the mean is over examples,
    each divided by its target's length.  ``zero_infinity`` gives 0 where the input is too short for its target.  Targets of
    int32 may be on the CPU for ``log_probs`` on CUDA, as cuDNN takes them.

    The recursion is equations 6 and 7 of the paper, in the log domain: ``alpha[t, s]`` is the log probability of the
    first ``s`` symbols of the target, extended by blanks, after ``t`` inputs.

    >>> probs = torch.full((2, 1, 2), 0.5).log()  # paths that read '1': '01', '10', '11'
    >>> ctc_loss(probs, torch.tensor([[1]]), (2,), (1,)).exp()
    tensor(1.3333)
    """
    reduced = _code(None, None, reduction)
    loss, lengths, single = summed_over_paths(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity)
    if reduced == MEAN:
        return (loss / lengths.to(loss.dtype).clamp(min=1)).mean()
    if reduced == SUM:
        return loss.sum()
    return loss.squeeze(0) if single else loss


def summed_over_paths(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity, record=None):
    """The loss of each example, the lengths of the targets, and whether there was no batch; each step's ``alpha`` goes to
    the list ``record``."""
    single = log_probs.dim() == 2
    if single:
        log_probs = log_probs.unsqueeze(1)
    if log_probs.dim() != 3:
        raise RuntimeError(f"ctc_loss: log_probs must be (T, N, C) or (T, C), got shape {tuple(log_probs.shape)}")
    steps, batch, classes = log_probs.shape
    inputs, lengths = _lengths("input_lengths", input_lengths), _lengths("target_lengths", target_lengths)
    if not 0 <= blank < classes:
        raise RuntimeError(f"ctc_loss: blank must be in [0, {classes}), got {blank}")
    if inputs.shape[0] != batch or lengths.shape[0] != batch:
        raise RuntimeError(
            f"ctc_loss: input_lengths and target_lengths must have {batch} entries, got {inputs.shape[0]} and {lengths.shape[0]}"
        )
    if not ops._holds((inputs >= 0) & (inputs <= steps)):
        raise RuntimeError(f"ctc_loss: input_lengths must be in [0, {steps}], got {_shown(inputs)}")
    if not ops._holds(lengths >= 0):
        raise RuntimeError(f"ctc_loss: target_lengths must not be negative, got {_shown(lengths)}")
    if log_probs.is_cuda and targets.dtype == torch.int32 and not targets.is_cuda:
        targets = targets.to(log_probs.device)
    padded = _padded(targets, lengths, single, batch)
    if steps > 0 and not ops._holds((padded >= 0) & (padded < classes)):
        raise RuntimeError(
            f"ctc_loss: targets must be class numbers from 0 to {classes - 1}, as log_probs {tuple(log_probs.shape)} has "
            f"{classes} classes, got {_shown(padded)}"
        )
    inputs, lengths = inputs.to(log_probs.device), lengths.to(log_probs.device)

    between = torch.stack([torch.full_like(padded, blank), padded], 2).flatten(1)
    symbols = torch.nn.functional.pad(between, (0, 1), value=blank)  # blank y1 blank y2 ... blank
    inf = float("inf")
    impossible = torch.full((batch, 1), -inf, dtype=log_probs.dtype, device=log_probs.device)
    # A symbol may follow the one two before it, unless that is the same or a blank.
    before = torch.nn.functional.pad(symbols, (2, 0), value=blank)[:, : symbols.shape[1]]
    may_skip = (symbols != blank) & (symbols != before)

    emit = log_probs.gather(2, symbols.unsqueeze(0).expand(steps, batch, symbols.shape[1]))
    start = torch.arange(symbols.shape[1], device=log_probs.device) < 2
    alpha = torch.where(start, emit[0] if steps else emit.new_zeros(symbols.shape), torch.full_like(symbols, 0) - inf)
    ends = inputs.unsqueeze(1)
    if record is not None:
        record.append(alpha)
    for t in range(1, steps):
        before = torch.cat([impossible, alpha[:, :-1]], 1)
        skipped = torch.cat([impossible, impossible, alpha[:, :-2]], 1)[:, : symbols.shape[1]]
        skipped = torch.where(may_skip, skipped, torch.full_like(skipped, -inf))
        step = _logsumexp(torch.stack([alpha, before, skipped])) + emit[t]
        alpha = torch.where(t < ends, step, alpha)
        if record is not None:
            record.append(alpha)

    last = 2 * lengths.unsqueeze(1)
    final = torch.stack([alpha.gather(1, last), alpha.gather(1, (last - 1).clamp(min=0))])
    final = torch.where(torch.stack([last >= 0, last > 0]), final, torch.full_like(final, -inf))
    loss = -_logsumexp(final).squeeze(1)
    loss = torch.where(inputs == 0, torch.where(lengths == 0, 0.0, inf).to(loss.dtype), loss)
    # Log probabilities of one step are tied: exp(log_probs) sums to 1. The gradient counts them as the outputs of a
    # log_softmax, so that it is the same with and without one in the graph.
    steps_used = torch.arange(steps, device=log_probs.device).unsqueeze(1) < ends.squeeze(1)
    mass = torch.where(steps_used, log_probs.exp().sum(2), torch.zeros_like(log_probs[:, :, 0])).sum(0)
    tied = mass - mass.detach()
    if zero_infinity:
        loss = torch.where(loss == inf, torch.zeros_like(loss), loss + tied)
    else:  # where there is no path, the loss is infinite, and its gradient NaN: that of -log(x * x) at 0
        zero = torch.where(loss == inf, tied, torch.ones_like(tied))
        loss = torch.where(loss == inf, -(zero * zero).log(), loss + tied)
    return loss, lengths, single


def _lengths(name, lengths):
    """The lengths as whole numbers (N,) on the CPU."""
    given = lengths if isinstance(lengths, torch.Tensor) else torch.tensor(lengths)
    if given.is_floating_point() and given.numel() > 0:
        raise TypeError(f"ctc_loss: {name} must be whole numbers, got {_shown(given)}")
    return given.to(device="cpu", dtype=torch.int64).reshape(-1)


def _shown(numbers):
    return str(numbers) if torch.jit.is_scripting() else str(numbers.tolist())


def _padded(targets, lengths, single, batch):
    """Targets as (N, S); what lies beyond a sequence's length is not read."""
    longest = int(lengths.max()) if lengths.shape[0] > 0 else 0
    total = int(lengths.sum())
    lengths = lengths.to(targets.device)
    within = torch.arange(longest, device=targets.device) < lengths.unsqueeze(1)
    targets = targets.to(torch.int64)
    if targets.dim() == 1 and not single:
        if targets.shape[0] < total:
            raise RuntimeError(f"ctc_loss: targets has {targets.shape[0]} entries, target_lengths sum to {total}")
        starts = lengths.cumsum(0) - lengths
        places = starts.unsqueeze(1) + torch.arange(longest, device=targets.device)
        return torch.where(within, targets[torch.where(within, places, 0)], 0)
    targets = targets.reshape(1, -1) if targets.dim() == 1 else targets
    if targets.dim() != 2 or targets.shape[0] != batch or targets.shape[1] < longest:
        raise RuntimeError(
            f"ctc_loss: targets must be ({batch}, at least {longest}) or one dim of {total}, got shape {tuple(targets.shape)}"
        )
    return torch.where(within, targets[:, :longest], 0)


def _logsumexp(x):
    """logsumexp over dim 0 whose gradient is 0, not NaN, where all entries are -inf."""
    m = x.detach().max(0)[0]
    m = torch.where(m == -float("inf"), torch.zeros_like(m), m)
    total = (x - m).exp().sum(0)
    possible = total > 0
    log = torch.where(possible, total, torch.ones_like(total)).log() + m
    return torch.where(possible, log, torch.full_like(log, -float("inf")))
