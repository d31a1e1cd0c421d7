"""Gradients through collectives, against one process that computes all ranks' parts."""

import pytest
import torch
import torch.distributed as dist
import torch.distributed.nn as dnn

SIZE = 3


def leaf(rank, *shape):
    generator = torch.Generator().manual_seed(rank + 10 * len(shape))
    return torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_()


def weight(rank, k, *shape):
    generator = torch.Generator().manual_seed(100 + 10 * rank + k)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def check(ranks, distributed, alone, shape):
    """``distributed(x, rank)`` gives outputs of one rank, ``alone(xs)`` those of all; each is weighted and summed."""

    def loss(outputs, rank):
        return sum((out.sin() * weight(rank, k, *out.shape)).sum() for k, out in enumerate(outputs))

    xs = [leaf(rank, *shape) for rank in range(SIZE)]
    everything = alone(xs)
    sum(loss(outputs, rank) for rank, outputs in enumerate(everything)).backward()

    def work(rank):
        x = leaf(rank, *shape)
        outputs = distributed(x, rank)
        loss(outputs, rank).backward()
        return [o.detach() for o in outputs], x.grad

    for rank, (outputs, grad) in enumerate(ranks(SIZE, work)):
        assert all(map(torch.allclose, outputs, everything[rank]))
        assert torch.allclose(grad, xs[rank].grad), rank


def test_all_reduce(ranks):
    check(ranks, lambda x, r: [dnn.all_reduce(x * 2)], lambda xs: [[2 * sum(xs)]] * SIZE, (4,))


def test_average(ranks):
    check(ranks, lambda x, r: [dnn.all_reduce(x, dist.ReduceOp.AVG)], lambda xs: [[sum(xs) / SIZE]] * SIZE, (4,))


def test_broadcast(ranks):
    check(ranks, lambda x, r: [dnn.broadcast(x, 1), x], lambda xs: [[xs[1], xs[r]] for r in range(SIZE)], (4,))


def test_reduce(ranks):
    check(ranks, lambda x, r: [dnn.reduce(x, 2)] if r == 2 else [dnn.reduce(x, 2) * 0, x * 0],
          lambda xs: [[xs[0] * 0, xs[0] * 0], [xs[1] * 0, xs[1] * 0], [sum(xs)]], (4,))  # fmt: skip


def test_all_gather(ranks):
    check(ranks, lambda x, r: list(dnn.all_gather(x)), lambda xs: [xs] * SIZE, (2, 3))


def test_gather_and_scatter(ranks):
    check(
        ranks,
        lambda x, r: [dnn.scatter([g * (k + 1) for k, g in enumerate(dnn.gather(x, 1))], 1)],
        lambda xs: [[x * (k + 1)] for k, x in enumerate(xs)],
        (5,),
    )


def test_reduce_scatter(ranks):
    check(
        ranks,
        lambda x, r: [dnn.reduce_scatter(torch.empty(2, dtype=torch.float64), list(x.chunk(SIZE)))],
        lambda xs: [[sum(x.chunk(SIZE)[r] for x in xs)] for r in range(SIZE)],
        (6,),
    )


def test_all_to_all(ranks):
    check(
        ranks,
        lambda x, r: list(dnn.all_to_all([torch.empty(2, dtype=torch.float64)] * SIZE, list(x.chunk(SIZE)))),
        lambda xs: [[x.chunk(SIZE)[r] for x in xs] for r in range(SIZE)],
        (6,),
    )


def test_all_to_all_single_with_sizes(ranks):
    sizes = [1, 2, 3]

    def alone(xs):
        return [[torch.cat([x.split(sizes)[r] for x in xs])] for r in range(SIZE)]

    def distributed(x, r):
        output = torch.empty(sizes[r] * SIZE, dtype=torch.float64)
        return [dnn.all_to_all_single(output, x, [sizes[r]] * SIZE, sizes)]

    check(ranks, distributed, alone, (6,))


def test_second_derivatives(ranks):
    def work(rank):
        x = leaf(rank, 3)
        (first,) = torch.autograd.grad((dnn.all_reduce(x) ** 3).sum(), x, create_graph=True)
        first.sum().backward()
        return x.grad

    total = sum(leaf(r, 3).detach() for r in range(SIZE))
    # d/dx of sum over ranks of (their part of the gradient): both passes add over ranks
    for grad in ranks(SIZE, work):
        assert torch.allclose(grad, 6 * total * SIZE * SIZE)


def test_a_reduction_without_a_derivative_says_so():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        x = leaf(0, 2)
        with pytest.raises(
            NotImplementedError, match=r"nn.all_reduce: the gradient exists for SUM and AVG, not for <ReduceOp.MAX>"
        ):
            dnn.all_reduce(x, dist.ReduceOp.MAX).sum().backward()
    finally:
        dist.destroy_process_group()
