"""Gradients as products of thin matrices (Vogels 2019, PowerSGD): far fewer bytes, and what is lost comes next time."""

import torch

from ... import _collectives as collectives
from ._lane import lane_of
from .default_hooks import allreduce_hook

__all__ = ["PowerSGDState", "batched_powerSGD_hook", "powerSGD_hook"]


class PowerSGDState:
    """What the hook remembers: ``model.register_comm_hook(PowerSGDState(None, 2), powerSGD_hook)``.

    Args:
        matrix_approximation_rank: r, the width of the matrices
        start_powerSGD_iter: iterations before it that average gradients as they are
        min_compression_rate: matrices of n x m are sent whole unless (n + m) r times it is less than n m
        use_error_feedback: add what was lost to the gradients of the next iteration
        warm_start: begin with the matrix of the iteration before, not with a random one

    >>> PowerSGDState(None, matrix_approximation_rank=2, start_powerSGD_iter=3)
    PowerSGDState(rank 2, from iteration 3, compressed to 0 of 0 elements)
    """

    def __init__(
        self,
        process_group,
        matrix_approximation_rank=1,
        start_powerSGD_iter=1000,
        min_compression_rate=2,
        use_error_feedback=True,
        warm_start=True,
        orthogonalization_epsilon=0,
        random_seed=0,
        compression_stats_logging_frequency=10000,
        batch_tensors_with_same_shape=False,
    ):
        if matrix_approximation_rank < 1:
            raise ValueError(
                f"PowerSGDState: matrix_approximation_rank must be positive, got {matrix_approximation_rank}"
            )
        if start_powerSGD_iter <= 1 and (use_error_feedback or warm_start):
            raise ValueError(
                "Expect `start_powerSGD_iter` > 1 if `use_error_feedback` or `warm_start` is enabled, because PowerSGD can "
                "only be applied after the first two iterations in DDP."
            )
        self.process_group = process_group
        self.matrix_approximation_rank, self.start_powerSGD_iter = matrix_approximation_rank, start_powerSGD_iter
        self.min_compression_rate = min_compression_rate
        self.use_error_feedback, self.warm_start = use_error_feedback, warm_start
        self.orthogonalization_epsilon = orthogonalization_epsilon
        self.generator = torch.Generator().manual_seed(random_seed)  # the same on all ranks
        self.iter = 0
        self.errors: dict = {}  # by number of the bucket
        self.second: dict = {}  # Q, by bucket and place in it
        self.total_numel_before_compression = self.total_numel_after_compression = 0

    def compression_stats(self) -> tuple:
        """(rate, elements before, elements after)."""
        before, after = self.total_numel_before_compression, self.total_numel_after_compression
        return (before / after if after else 0, before, after)

    def __repr__(self):
        return (
            f"PowerSGDState(rank {self.matrix_approximation_rank}, from iteration {self.start_powerSGD_iter}, compressed to "
            f"{self.total_numel_after_compression} of {self.total_numel_before_compression} elements)"
        )


def _orthogonal(matrix, epsilon):
    """Orthonormal columns, by Gram and Schmidt; one that depends on those before it becomes zeros, not noise."""
    columns = []
    negligible = torch.finfo(matrix.dtype).eps ** 0.5
    for column in matrix.unbind(1):
        length = column.norm()
        for other in columns:
            column = column - (column @ other) * other
        norm = column.norm()
        columns.append(column / (norm + epsilon) if norm > negligible * length else torch.zeros_like(column))
    return torch.stack(columns, 1)


def _compress(state, group, key, matrix):
    """The mean of all ranks' matrices as a product P Q'; see algorithm 1 of the paper."""
    rank = min(state.matrix_approximation_rank, *matrix.shape)
    second = state.second.get(key)
    if second is None or not state.warm_start:
        second = torch.randn(matrix.shape[1], rank, generator=state.generator, dtype=matrix.dtype)
        second = _orthogonal(second, state.orthogonalization_epsilon)
    first = matrix @ second
    collectives.all_reduce(first, group=group)
    first = _orthogonal(first, state.orthogonalization_epsilon)
    second = matrix.t() @ first
    collectives.all_reduce(second, group=group)
    second.div_(group.size())
    state.second[key] = second
    state.total_numel_after_compression += first.numel() + second.numel()
    return first @ second.t()


def _with_error(state, index, line):
    """The gradients of a bucket with what earlier iterations lost, and a copy of that."""
    if state.use_error_feedback and index in state.errors:
        line.add_(state.errors[index])
    state.total_numel_before_compression += line.numel()
    return line.clone()


def _remember(state, index, before, after):
    if state.use_error_feedback:
        state.errors[index] = before - after


def _plain(state, bucket):
    future = allreduce_hook(state.process_group, bucket)
    state.iter += bucket.is_last()
    return future


def powerSGD_hook(state: PowerSGDState, bucket):
    """The average, each gradient that is worth it as a product of two thin matrices; a future.

    What it computes and sends goes on beside backward, in a thread and over a group of its own.
    """
    if state.iter < state.start_powerSGD_iter:
        return _plain(state, bucket)
    state.iter += bucket.is_last()
    return lane_of(state.process_group).put(_by_matrices, state, bucket.index(), bucket.buffer(), bucket.gradients())


def _by_matrices(group, state, index, line, gradients):
    before = _with_error(state, index, line)
    whole = []
    for place, gradient in enumerate(gradients):
        matrix = gradient.reshape(gradient.shape[0], -1) if gradient.dim() > 1 else None
        n, m = (0, 0) if matrix is None else matrix.shape
        if matrix is None or (n + m) * state.matrix_approximation_rank * state.min_compression_rate >= n * m:
            whole.append(gradient)
        else:
            gradient.copy_(_compress(state, group, (index, place), matrix).view_as(gradient))
    if whole:
        rest = torch.cat([gradient.reshape(-1) for gradient in whole])
        state.total_numel_after_compression += rest.numel()
        collectives.all_reduce(rest.div_(group.size()), group=group)
        for gradient, mean in zip(whole, rest.split([g.numel() for g in whole]), strict=True):
            gradient.copy_(mean.view_as(gradient))
    _remember(state, index, before, line)
    if whole and state.use_error_feedback:  # these were sent exactly
        error = state.errors[index]
        start = line.data_ptr()
        for gradient in whole:
            at = (gradient.data_ptr() - start) // line.element_size()
            error[at : at + gradient.numel()].zero_()
    return line


def batched_powerSGD_hook(state: PowerSGDState, bucket):
    """As :func:`powerSGD_hook`, with all gradients of a bucket as one square matrix: quicker, and less exact."""
    if state.iter < state.start_powerSGD_iter:
        return _plain(state, bucket)
    state.iter += bucket.is_last()
    return lane_of(state.process_group).put(_by_square, state, bucket.index(), bucket.buffer())


def _by_square(group, state, index, line):
    before = _with_error(state, index, line)
    side = 1
    while side * side < line.numel():
        side += 1
    square = torch.cat([line, line.new_zeros(side * side - line.numel())]).view(side, side)
    line.copy_(_compress(state, group, index, square).view(-1)[: line.numel()])
    _remember(state, index, before, line)
    return line
