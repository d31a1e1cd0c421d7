"""Training in several processes against training in one, on all of the data."""

import copy
import pickle
import re

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import debugging_hooks, default_hooks
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel


def net(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(6, 40), nn.Tanh(), nn.Linear(40, 30), nn.Tanh(), nn.Linear(30, 3)).double()


def batch(step, rank=None, size=None, rows=12):
    generator = torch.Generator().manual_seed(step)
    x = torch.randn(rows, 6, generator=generator, dtype=torch.float64)
    y = torch.randn(rows, 3, generator=generator, dtype=torch.float64)
    if rank is None:
        return x, y
    return x.chunk(size)[rank], y.chunk(size)[rank]


def train(model, batches):
    """Gradient descent."""
    for x, y in batches:
        for p in model.parameters():
            p.grad = None
        ((model(x) - y) ** 2).mean().backward()
        with torch.no_grad():
            for p in model.parameters():
                p -= 0.1 * p.grad


def close(model, other):
    for (name, a), (_, b) in zip(model.named_parameters(), other.named_parameters(), strict=True):
        assert torch.allclose(a, b, rtol=1e-12, atol=1e-14), (name, (a - b).abs().max())


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"bucket_cap_mb": 0.001},
        {"gradient_as_bucket_view": True, "bucket_cap_mb": 0.001},
        {"find_unused_parameters": True},
        {"static_graph": True},
        {"broadcast_buffers": False},
    ],
    ids=str,
)
@pytest.mark.parametrize("apart", [1 << 20, 1000])  # bytes of gradients that are sent from where they lie
def test_training_in_several_processes_is_training_on_all_of_the_data(ranks, options, apart):
    def work(rank):
        torch.distributed._data_parallel.reducer.FIRST_BUCKET = 500  # several buckets for this small a model
        torch.distributed._data_parallel.reducer.APART = apart
        model = DistributedDataParallel(net(seed=rank), **options)  # ranks begin with different weights
        train(model, [batch(step, rank, 3) for step in range(4)])
        one = net(seed=0)
        train(one, [batch(step) for step in range(4)])
        close(model.module, one)
        return len(model.reducer.buckets)

    counts = ranks(3, work)
    assert len(set(counts)) == 1
    assert counts[0] >= (4 if "bucket_cap_mb" in options else 2)


def test_all_ranks_have_the_same_bits(ranks):
    def work(rank):
        model = DistributedDataParallel(net(rank).float())
        train(model, [(x.float(), y.float()) for x, y in (batch(step, rank, 2) for step in range(3))])
        return torch.cat([p.detach().view(-1) for p in model.parameters()]).numpy().tobytes()

    first, second = ranks(2, work)
    assert first == second


def test_gradients_add_up_within_no_sync_and_are_averaged_after_it(ranks):
    def work(rank):
        model, one = DistributedDataParallel(net()), net()
        with model.no_sync():
            for step in range(2):
                model(batch(step, rank, 2)[0]).square().mean().backward()
        local = [p.grad.clone() for p in model.parameters()]
        alone = net()
        for step in range(2):
            alone(batch(step, rank, 2)[0]).square().mean().backward()
        assert all(torch.equal(a, p.grad) for a, p in zip(local, alone.parameters(), strict=True))
        model(batch(2, rank, 2)[0]).square().mean().backward()
        for step in range(3):
            one(batch(step)[0]).square().mean().backward()
        for p, q in zip(model.parameters(), one.parameters(), strict=True):
            assert torch.allclose(p.grad, q.grad, rtol=1e-12)

    ranks(2, work)


class Branches(nn.Module):
    """Uses one of two layers, and a third never."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.a, self.b, self.never = nn.Linear(6, 3), nn.Linear(6, 3), nn.Linear(6, 3)

    def forward(self, x, which):
        return {"out": [(self.a if which == 0 else self.b)(x)]}


def test_parameters_without_part_are_found(ranks):
    def work(rank):
        model = DistributedDataParallel(Branches().double(), find_unused_parameters=True)
        for step in range(2):
            for p in model.parameters():
                p.grad = None
            x, _ = batch(step, rank, 2)
            model(x, rank)["out"][0].sum().backward()
        module = model.module
        assert module.never.weight.grad is None
        halves = [batch(1, r, 2)[0] for r in range(2)]
        assert torch.allclose(module.a.weight.grad, halves[0].sum(0).expand(3, 6) / 2)
        assert torch.allclose(module.b.weight.grad, halves[1].sum(0).expand(3, 6) / 2)

    ranks(2, work)


def test_parameters_without_part_that_nobody_asked_to_find_are_named(ranks):
    def work(rank):
        model = DistributedDataParallel(Branches().double())
        x, _ = batch(0, rank, 2)
        model(x, 0)["out"][0].sum().backward()
        model(x, 0)

    for result in ranks(2, work, errors=True):
        assert re.search(r"expected to have finished reduction.*b\.\w+.*never\.\w+.* had no gradient", str(result)), (
            result
        )
        assert "find_unused_parameters=True" in str(result)


@pytest.mark.parametrize("options", [{}, {"find_unused_parameters": True}, {"static_graph": True}], ids=str)
def test_a_program_that_calls_backward_on_its_own_asks_for_the_averages(ranks, options):
    def work(rank):
        model = DistributedDataParallel(net(), **options)
        x, y = batch(0, rank, 2)
        for step in range(2):
            model.zero_grad()
            with model.no_sync():
                loss = ((model(x) - y) ** 2).mean()
            assert model.reducer._rebuild_buckets() is False
            model.reducer.prepare_for_backward([])
            loss.backward()
            if model.static_graph:
                model.reducer._delay_all_reduce()
            one, (whole, targets) = net(), batch(0)
            ((one(whole) - targets) ** 2).mean().backward()
            for mine, p in zip(model.parameters(), one.parameters(), strict=True):
                assert torch.allclose(mine.grad, p.grad, rtol=1e-12), step

    ranks(2, work)


def test_a_static_graph_whose_outputs_nobody_knew_learns_in_backward_what_has_no_part(ranks):
    def work(rank):
        model = DistributedDataParallel(Branches().double(), static_graph=True)
        for step in range(3):
            model.zero_grad()
            x, _ = batch(step, rank, 2)
            with model.no_sync():
                loss = model(x, rank)["out"][0].sum()  # another branch on each rank
            model.reducer.prepare_for_backward([])
            loss.backward()
            model.reducer._delay_all_reduce()
            module, halves = model.module, [batch(step, r, 2)[0] for r in range(2)]
            assert module.never.weight.grad is None
            assert torch.allclose(module.a.weight.grad, halves[0].sum(0).expand(3, 6) / 2)
            assert torch.allclose(module.b.weight.grad, halves[1].sum(0).expand(3, 6) / 2)

    ranks(2, work)


def test_the_training_so_far_can_be_asked_for(ranks):
    def work(rank):
        model = DistributedDataParallel(Branches().double(), find_unused_parameters=True)
        before = model._get_ddp_logging_data()
        assert before["world_size"] == 2
        assert before["rank"] == rank
        assert before["backend_name"] == dist.get_backend()
        assert before["num_parameter_tensors"] == 6
        assert before["total_parameter_size_bytes"] == 3 * (6 + 1) * 3 * 8
        assert sum(map(int, before["bucket_sizes"].split(", "))) == before["total_parameter_size_bytes"]
        assert "can_set_static_graph" not in before
        seen = []
        for branch in (0, 0, 1):
            model(batch(0, rank, 2)[0], branch)["out"][0].sum().backward()
            seen.append(model._get_ddp_logging_data()["can_set_static_graph"])
        assert seen == [1, 1, 0]
        assert model._get_ddp_logging_data()["iteration"] == 3

    ranks(2, work)


def test_models_that_differ_are_refused(ranks):
    def shapes(rank):
        DistributedDataParallel(nn.Linear(3, 4 + (rank == 1)))

    def counts(rank):
        DistributedDataParallel(nn.Linear(3, 4, bias=rank == 0))

    for result in ranks(2, shapes, errors=True):
        assert (
            "rank 0 has parameter 'weight' of shape (4, 3) (torch.float32) where rank 1 has 'weight' of shape (5, 3)"
            in str(result)
        )
    for result in ranks(2, counts, errors=True):
        assert "rank 0 has 2 parameters that require gradients, rank 1 has 1" in str(result)


def test_buffers_are_taken_over_from_rank_0(ranks):
    def work(rank):
        model = DistributedDataParallel(nn.BatchNorm1d(6).double())
        for step in range(2):
            model(batch(step, rank, 2)[0])
        model.eval()
        model(batch(2, rank, 2)[0])  # takes them over once more
        alone = nn.BatchNorm1d(6).double()
        for step in range(2):
            alone(batch(step, 0, 2)[0])
        assert torch.allclose(model.module.running_mean, alone.running_mean)
        assert int(model.module.num_batches_tracked) == 2

    ranks(2, work)


@pytest.mark.parametrize(
    ("hook", "tolerance"),
    [
        (default_hooks.allreduce_hook, 1e-12),
        (default_hooks.fp16_compress_hook, 1e-3),
        (default_hooks.bf16_compress_hook, 1e-2),
    ]
    + [(default_hooks.bf16_compress_wrapper(default_hooks.allreduce_hook), 1e-2)],
)
def test_hooks_that_send_the_buckets(ranks, hook, tolerance):
    def work(rank):
        model, one = DistributedDataParallel(net()), net()
        model.register_comm_hook(None, hook)
        with pytest.raises(RuntimeError, match="can only be called once"):
            model.register_comm_hook(None, hook)
        for step in range(2):
            for p in [*model.parameters(), *one.parameters()]:
                p.grad = None
            model(batch(step, rank, 2)[0]).square().mean().backward()
            one(batch(step)[0]).square().mean().backward()
            for p, q in zip(model.parameters(), one.parameters(), strict=True):
                assert (p.grad - q.grad).abs().max() <= tolerance * q.grad.abs().max()

    ranks(2, work)


def test_a_big_gradient_becomes_the_average_where_it_lies(ranks):
    def work(rank):
        torch.distributed._data_parallel.reducer.APART = 1000
        model = DistributedDataParallel(net())
        weight, seen = model.module[2].weight, []
        weight.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.data_ptr()))
        alone = net()
        for step in range(3):
            for p in [*model.parameters(), *alone.parameters()]:
                p.grad = None
            for each in (model, alone):
                each(batch(step, rank, 2)[0]).square().mean().backward()
            average = alone[2].weight.grad / 2
            dist.all_reduce(average)
            assert weight.grad.data_ptr() == seen[-1]
            assert torch.equal(weight.grad, average)
        bucket = model.reducer.place[model.reducer.numbers[id(weight)]][0]
        assert bucket.numbers == [2] and "line" not in vars(bucket)  # no memory beside the gradient's own
        model.register_comm_hook(None, default_hooks.allreduce_hook)  # which gets lines
        model(batch(3, rank, 2)[0]).square().mean().backward()
        assert len(model.reducer.buckets) == 1

    ranks(2, work)


def test_a_big_gradient_that_no_rank_made_stays_as_it_was(ranks):
    class Either(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.c = (nn.Linear(30, 30).double() for _ in range(3))

        def forward(self, x, which):
            return getattr(self, which)(x)

    def work(rank):
        torch.distributed._data_parallel.reducer.APART = 1000
        model = DistributedDataParallel(Either(), find_unused_parameters=True)
        a, b, c = (layer.weight for layer in model.module.children())
        b.grad, c.grad = torch.ones_like(b), torch.ones_like(c)
        model(torch.full((2, 30), rank + 1.0, dtype=torch.float64), "ab"[rank]).sum().backward()
        assert torch.equal(a.grad, torch.full_like(a, 1.0))  # 2 x 1 of rank 0, over two ranks
        assert torch.equal(b.grad, torch.full_like(b, 3.0))  # 1 of rank 0, and 1 + 2 x 2 of rank 1
        assert torch.equal(c.grad, torch.ones_like(c))

    ranks(2, work)


def test_a_hook_of_ones_own_sees_the_buckets(ranks):
    def work(rank):
        seen = []

        def hook(state, bucket):
            seen.append(
                (
                    bucket.index(),
                    bucket.is_last(),
                    [tuple(g.shape) for g in bucket.gradients()],
                    len(bucket.parameters()),
                )
            )
            return debugging_hooks.noop_hook(None, bucket)

        model = DistributedDataParallel(nn.Linear(6, 3).double())
        model.register_comm_hook("state", hook)
        x = batch(0, rank, 2)[0]
        model(x).sum().backward()
        assert seen == [(0, True, [(3,), (3, 6)], 2)]
        assert torch.allclose(model.module.weight.grad, x.sum(0).expand(3, 6))  # our own, not the average

    ranks(2, work)


@pytest.mark.parametrize("by_all", [True, False])
@pytest.mark.parametrize("apart", [1 << 20, 1000])
def test_ranks_with_different_numbers_of_batches(ranks, by_all, apart):
    def work(rank):
        torch.distributed._data_parallel.reducer.APART = apart
        model = DistributedDataParallel(net(), broadcast_buffers=False)
        with model.join(divide_by_initial_world_size=by_all):
            for step in range(2 + rank):
                train(model, [batch(step, rank, 3)])
        one = net()
        for step in range(4):
            active = [r for r in range(3) if step < 2 + r]
            for p in one.parameters():
                p.grad = None
            for r in active:
                x, y = batch(step, r, 3)
                (((one(x) - y) ** 2).mean() / (3 if by_all else len(active))).backward()
            with torch.no_grad():
                for p in one.parameters():
                    p -= 0.1 * p.grad
        close(model.module, one)  # also on the ranks that stopped early

    ranks(3, work)


class Words(nn.Module):
    """Two tables with sparse gradients, the second of which not every batch needs, beside dense layers."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.table = nn.Embedding(9, 3, sparse=True).double()
        self.bags = nn.EmbeddingBag(5, 3, mode="sum", sparse=True).double()
        self.head = nn.Linear(3, 2).double()

    def forward(self, words):
        x = self.table(words).sum(1)
        return self.head(x + self.bags(words % 5) if int(words[0, 0]) % 2 else x)


def words(step, rank):
    return torch.randint(9, (4, 2), generator=torch.Generator().manual_seed(10 * step + rank))


def step_of_words(model, inputs):
    for p in model.parameters():
        p.grad = None
    for x in inputs:
        (model(x).square().mean() / len(inputs)).backward()
    with torch.no_grad():
        for p in model.parameters():
            if p.grad is not None:
                p -= 0.1 * (p.grad.to_dense() if p.grad.is_sparse else p.grad)


@pytest.mark.parametrize("options", [{}, {"gradient_as_bucket_view": True, "bucket_cap_mb": 1e-5}], ids=str)
def test_sparse_gradients_are_averaged_by_rows(ranks, options):
    def work(rank):
        model, one = DistributedDataParallel(Words(), find_unused_parameters=True, **options), Words()
        for step in range(4):
            step_of_words(model, [words(step, rank)])
            step_of_words(one, [words(step, r) for r in range(3)])
            close(model.module, one)
            grad = model.module.table.weight.grad
            assert grad.is_sparse
            assert grad.is_coalesced()
            assert set(grad.indices()[0].tolist()) == {w for r in range(3) for w in words(step, r).flatten().tolist()}
        return model.module.table.weight.detach()

    results = ranks(3, work)
    assert all(torch.equal(results[0], other) for other in results)


def test_a_rank_without_data_has_no_rows_to_send(ranks):
    def work(rank):
        model, one = DistributedDataParallel(Words(), broadcast_buffers=False, find_unused_parameters=True), Words()
        with model.join(divide_by_initial_world_size=True):
            for step in range(2 + rank):
                step_of_words(model, [words(step, rank)])
        for step in range(3):
            total = [words(step, r) for r in range(2) if step < 2 + r]
            for p in one.parameters():
                p.grad = None
            for x in total:
                (one(x).square().mean() / 2).backward()
            with torch.no_grad():
                for p in one.parameters():
                    if p.grad is not None:
                        p -= 0.1 * (p.grad.to_dense() if p.grad.is_sparse else p.grad)
        close(model.module, one)

    ranks(2, work)


def test_sparse_gradients_where_none_are_expected_and_hooks_for_them_are_refused(ranks):
    def work(rank):
        model = DistributedDataParallel(Words())
        with pytest.raises(NotImplementedError, match="the gradients of table.weight, bags.weight are sparse"):
            model.register_comm_hook(None, default_hooks.allreduce_hook)

        class Own(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.ones(3, 2))

            def forward(self, x):
                return nn.functional.embedding(x, self.weight, sparse=True)

        own = DistributedDataParallel(Own())
        with pytest.raises(
            NotImplementedError, match="gradient of 'weight' is not dense as that of its layer should be"
        ):
            own(torch.tensor([1])).sum().backward()

    ranks(2, work)


def test_a_join_counts_ranks_on_the_device_of_its_collectives(ranks):
    class Elsewhere(DistributedDataParallel):
        join_device = "meta"

    def work(rank):
        model = Elsewhere(nn.Linear(1, 1))
        with pytest.raises(ValueError, match="the tensor is on meta"), model.join():
            pass

    ranks(1, work)


def test_a_join_that_throws_ends_all_ranks_together(ranks):
    def work(rank):
        model = DistributedDataParallel(net())
        with Join([model], throw_on_early_termination=True):
            for step in range(2 + rank):
                train(model, [batch(step, rank, 2)])

    first, second = ranks(2, work, errors=True)
    assert "Rank 0 exhausted all inputs" in str(first)
    assert "Detected at least one rank that exhausted inputs" in str(second)


def test_a_rank_that_dies_in_backward_ends_the_others(ranks):
    def work(rank):
        import os
        import signal

        model = DistributedDataParallel(net())
        if rank == 1:
            model.module[0].weight.register_hook(lambda _: os.kill(os.getpid(), signal.SIGKILL))
        train(model, [batch(0, rank, 2)])

    first, second = ranks(2, work, errors=True)
    assert isinstance(first, dist.DistBackendError)
    assert "rank 1 died" in str(first)
    assert second.exitcode == -9


def test_what_one_process_can_see():
    with pytest.raises(ValueError, match="has not been initialized"):
        DistributedDataParallel(nn.Linear(2, 2))
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        with pytest.raises(RuntimeError, match="doesn't have any parameters that require a gradient"):
            DistributedDataParallel(nn.ReLU())
        with pytest.raises(ValueError, match="only work with single-device GPU modules"):
            DistributedDataParallel(nn.Linear(2, 2), device_ids=[0])
        with pytest.raises(TypeError, match="mixed_precision must be a _MixedPrecision, got 1"):
            DistributedDataParallel(nn.Linear(2, 2), mixed_precision=1)
        model = DistributedDataParallel(nn.Linear(2, 2))
        assert list(model.state_dict()) == ["module.weight", "module.bias"]
        assert type(model).__module__ == "torch.nn.parallel.distributed"
        for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
            other(torch.ones(1, 2)).sum().backward()
            assert other.module.weight.grad.tolist() == [[1.0, 1.0]] * 2
        assert model.module.weight.grad is None
    finally:
        dist.destroy_process_group()


@pytest.mark.parametrize("shape", [(6,), (6, 4), (6, 2, 3)])
def test_batch_norm_over_all_ranks_is_that_of_all_batches(ranks, shape):
    def work(rank):
        torch.manual_seed(3)
        whole = (torch.randn(9, *shape, dtype=torch.float64) * 3 + 100).requires_grad_()
        part = whole.detach()[[0, 3, 6] if rank == 0 else [1, 2, 4, 5, 7, 8]].requires_grad_()
        rows = [0, 3, 6] if rank == 0 else [1, 2, 4, 5, 7, 8]
        weights = torch.randn(9, *shape, dtype=torch.float64)
        one = {1: nn.BatchNorm1d, 2: nn.BatchNorm1d, 3: nn.BatchNorm2d}[len(shape)](6).double()
        with torch.no_grad():
            one.weight.uniform_()
            one.bias.uniform_()
        synced = nn.SyncBatchNorm.convert_sync_batchnorm(copy.deepcopy(one))
        assert isinstance(synced, nn.SyncBatchNorm)
        out, expected = synced(part), one(whole)
        (out * weights[rows]).sum().backward()
        (expected * weights).sum().backward()
        assert torch.allclose(out, expected[rows], rtol=1e-10)
        assert torch.allclose(part.grad, whole.grad[rows], rtol=1e-8, atol=1e-10)
        assert torch.allclose(synced.running_mean, one.running_mean)
        assert torch.allclose(synced.running_var, one.running_var)
        dist.all_reduce(synced.weight.grad)
        assert torch.allclose(synced.weight.grad, one.weight.grad)
        synced.eval()
        one.eval()
        assert torch.allclose(synced(part), one(part), rtol=1e-12)

    ranks(2, work)


def test_mixed_precision_computes_and_sends_in_few_bits_and_keeps_parameters_whole(ranks):
    from torch.nn.parallel.distributed import _MixedPrecision

    def work(rank):
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.Linear(16, 4))
        seen = []
        net[2].register_forward_hook(lambda _, given, out: seen.append((given[0].dtype, out.dtype)))
        policy = _MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.float32, buffer_dtype=torch.float32)
        model = DistributedDataParallel(net, mixed_precision=policy)
        sgd = torch.optim.SGD(model.parameters(), 0.1)
        x = torch.randn(6, 8, generator=torch.Generator().manual_seed(rank))
        for _ in range(2):
            sgd.zero_grad()
            out = model(x)
            out.float().square().mean().backward()
            sgd.step()
        assert seen == [(torch.bfloat16, torch.bfloat16)] * 2
        assert out.dtype == torch.bfloat16
        assert {p.dtype for p in net.parameters()} == {p.grad.dtype for p in net.parameters()} == {torch.float32}
        return [p.grad.tolist() for p in net.parameters()]

    first, second = ranks(2, work)
    assert first == second


def test_mixed_precision_gives_the_gradients_of_the_casts(ranks):
    from torch.nn.parallel.distributed import _MixedPrecision

    def work(rank):
        torch.manual_seed(0)
        net = nn.Linear(4, 3)
        x = torch.randn(2, 4)  # the same on all ranks: the average is each one's
        expected = torch.autograd.grad(
            nn.functional.linear(x.bfloat16(), net.weight.bfloat16(), net.bias.bfloat16()).float().sum(), net.weight
        )[0]
        model = DistributedDataParallel(net, mixed_precision=_MixedPrecision(param_dtype=torch.bfloat16))
        model(x).float().sum().backward()
        assert torch.equal(net.weight.grad, expected)
        with pytest.raises(ValueError, match="mixed_precision.param_dtype must be a floating dtype, got torch.int8"):
            DistributedDataParallel(nn.Linear(2, 2), mixed_precision=_MixedPrecision(param_dtype=torch.int8))

    ranks(2, work)
