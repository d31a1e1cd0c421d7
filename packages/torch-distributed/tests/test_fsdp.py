"""Sharded training: against the same steps of a whole model on all data."""

import gc
import weakref

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, set_model_state_dict
from torch.distributed.fsdp import (
    FSDPModule,
    MixedPrecision,
    MixedPrecisionPolicy,
    ShardingStrategy,
    StateDictType,
    fully_shard,
)
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp.wrap import CustomPolicy, ModuleWrapPolicy, size_based_auto_wrap_policy
from torch.distributed.tensor import DTensor, Shard, distribute_tensor


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 7), nn.Linear(7, width)
        self.checkpointed = False

    def inner(self, x):
        return x + self.down(torch.tanh(self.up(self.norm(x))))

    def forward(self, x):
        if not self.checkpointed:
            return self.inner(x)
        return torch.utils.checkpoint.checkpoint(self.inner, x, use_reentrant=False)


class Net(nn.Module):
    """Two blocks, an embedding whose weight is the last layer's too, and a parameter that nothing uses."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(11, 5)
        self.blocks = nn.ModuleList([Block(5), Block(5)])
        self.head = nn.Linear(5, 11, bias=False)
        self.head.weight = self.table.weight
        self.unused = nn.Parameter(torch.ones(3))

    def forward(self, words):
        x = self.table(words)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def net(seed=0):
    torch.manual_seed(seed)
    return Net().double()


def data(rank, step):
    generator = torch.Generator().manual_seed(10 * step + rank)
    return torch.randint(11, (6,), generator=generator), torch.randint(11, (6,), generator=generator)


def loss_of(model, rank, step):
    words, labels = data(rank, step)
    return nn.functional.cross_entropy(model(words).double(), labels)


def reference(world, steps=3):
    model = net()
    optimizer = torch.optim.Adam(model.parameters(), 0.05)
    for step in range(steps):
        optimizer.zero_grad()
        (sum(loss_of(model, rank, step) for rank in range(world)) / world).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
    return model


def train(model, optimizer, rank, first=0, last=3):
    for step in range(first, last):
        optimizer.zero_grad()
        loss_of(model, rank, step).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()


def assert_same(model, expected, rtol=1e-9):
    names = {n.replace("_fsdp_wrapped_module.", ""): p for n, p in model.named_parameters()}
    for name, p in expected.named_parameters():
        assert names[name].shape == p.shape
        assert torch.allclose(names[name].full_tensor(), p, rtol=rtol, atol=1e-12), name


@pytest.mark.parametrize("how", ["again", "kept", "checkpoint", "replicas", "last dim"])
def test_steps_are_those_of_the_whole_model(ranks, how):
    world = 4 if how == "replicas" else 3
    if how == "checkpoint":
        pytest.importorskip("torch.utils.checkpoint")

    def work(rank):
        model = net(rank)  # the first rank's values are taken over
        mesh = dist.init_device_mesh("cpu", (2, 2)) if how == "replicas" else None
        place = (lambda parameter: Shard(-1)) if how == "last dim" else None
        for block in model.blocks:
            block.checkpointed = how == "checkpoint"
            fully_shard(block, mesh=mesh, reshard_after_forward=how != "kept", shard_placement_fn=place)
        fully_shard(model, mesh=mesh, reshard_after_forward=how != "kept", shard_placement_fn=place)
        assert isinstance(model, FSDPModule)
        assert isinstance(model, Net)
        assert model.head.weight is model.table.weight
        optimizer = torch.optim.Adam(model.parameters(), 0.05)
        train(model, optimizer, rank)
        for p in model.parameters():
            assert isinstance(p, DTensor)
            assert p.placements[-1] == Shard(p.dim() - 1 if how == "last dim" else 0)
        assert_same(model, reference(world))
        assert model.blocks[0].up.weight.grad.shape == (7, 5)
        held = sum(p.to_local().numel() for p in model.parameters())
        assert held <= sum(p.numel() for p in model.parameters()) * 0.75
        words, _ = data(0, 0)
        expected = reference(world)(words)
        assert torch.allclose(model(words), expected, rtol=1e-8)
        assert all((block._fsdp.whole is None) is (how != "kept") for block in model.blocks)
        with torch.no_grad():
            assert torch.allclose(model(words), expected, rtol=1e-8)

    ranks(world, work)


def test_gradients_of_several_passes_are_summed_once(ranks):
    def work(rank):
        model = fully_shard(net())
        expected = net()
        for step in range(3):
            (sum(loss_of(expected, r, step) for r in range(2)) / 2).backward()
        model.set_requires_gradient_sync(False)
        loss_of(model, rank, 0).backward()
        assert model.head.weight.grad is None
        loss_of(model, rank, 1).backward()
        model.set_requires_gradient_sync(True)
        loss_of(model, rank, 2).backward()
        for (name, p), q in zip(model.named_parameters(), expected.parameters(), strict=True):
            if name != "unused":
                assert torch.allclose(p.grad.full_tensor(), q.grad, rtol=1e-10), name

    ranks(2, work)


def test_frozen_layers_stay_and_pass_gradients_on(ranks):
    def work(rank):
        def make():
            model = net()
            model.blocks[1].requires_grad_(False)
            model.head.weight = nn.Parameter(model.head.weight.detach().clone(), requires_grad=False)
            return model

        model, expected = make(), make()
        for block in model.blocks:
            fully_shard(block)
        fully_shard(model)
        for step in range(2):
            model.zero_grad()
            expected.zero_grad()
            loss_of(model, rank, step).backward()
            (sum(loss_of(expected, r, step) for r in range(2)) / 2).backward()
        for (name, p), q in zip(model.named_parameters(), expected.named_parameters(), strict=True):
            if q[1].grad is not None:
                assert torch.allclose(p.grad.full_tensor(), q[1].grad, rtol=1e-10), name
        assert model.blocks[1].up.weight.grad is None

    ranks(2, work)


def test_lower_precision_computes_in_it_and_keeps_the_parameters(ranks):
    def work(rank):
        torch.manual_seed(0)
        model = nn.Linear(4, 3)
        seen = []
        model.register_forward_pre_hook(lambda m, args: seen.append((args[0].dtype, m.weight.dtype)))
        policy = MixedPrecisionPolicy(torch.bfloat16, torch.float32, torch.float32)
        fully_shard(model, mp_policy=policy)
        y = model(torch.ones(2, 4))
        y.sum().backward()
        assert seen == [(torch.bfloat16, torch.bfloat16)] or seen == [(torch.float32, torch.bfloat16)]
        assert y.dtype == torch.float32
        assert model.weight.dtype == torch.float32
        assert model.weight.grad.dtype == torch.float32
        assert torch.equal(model.weight.grad.full_tensor(), torch.full((3, 4), 2.0))

    ranks(2, work)


def test_an_error_in_forward_leaves_the_module_usable(ranks):
    def work(rank):
        model = fully_shard(net())
        with pytest.raises(IndexError):
            model(torch.tensor([99]))
        train(model, torch.optim.Adam(model.parameters(), 0.05), rank)
        assert_same(model, reference(2))

    ranks(2, work)


@pytest.mark.parametrize("strategy", ["FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD"])
def test_the_wrapper_trains_and_has_plain_names(ranks, strategy):
    def work(rank):
        model = FSDP(
            net(rank), sharding_strategy=ShardingStrategy[strategy], auto_wrap_policy=ModuleWrapPolicy({Block})
        )
        assert len(FSDP.fsdp_modules(model)) == 3
        assert FSDP.fsdp_modules(model, root_only=True) == [model]
        optimizer = torch.optim.Adam(model.parameters(), 0.05)
        train(model, optimizer, rank, 0, 2)
        assert list(model.state_dict()) == list(net().state_dict())
        assert not isinstance(model.state_dict()["head.weight"], DTensor)
        saved, slots = model.state_dict(), FSDP.optim_state_dict(model, optimizer)
        with FSDP.state_dict_type(model, StateDictType.SHARDED_STATE_DICT):
            pieces = model.state_dict()
            assert all(isinstance(value, DTensor) for value in pieces.values())
        other = FSDP(net(7), auto_wrap_policy=ModuleWrapPolicy({Block}))
        other.load_state_dict(saved)
        anew = torch.optim.Adam(other.parameters(), 0.05)
        anew.load_state_dict(FSDP.optim_state_dict_to_load(other, anew, slots))
        train(other, anew, rank, 2, 3)
        assert_same(other, reference(2))
        with FSDP.state_dict_type(other, StateDictType.SHARDED_STATE_DICT):
            if strategy != "NO_SHARD":
                other.load_state_dict(pieces)
                assert torch.equal(other.state_dict()["head.weight"].full_tensor(), saved["head.weight"])

    ranks(2, work)


def test_whole_parameters_can_be_changed(ranks):
    def work(rank):
        model = FSDP(nn.Linear(3, 2))
        with FSDP.summon_full_params(model):
            assert model.weight.shape == (2, 3)
            assert not isinstance(model.module.weight, DTensor)
            with torch.no_grad():
                model.module.weight.fill_(5)
        assert model.state_dict()["weight"].unique().tolist() == [5.0]
        with FSDP.summon_full_params(model, writeback=False), torch.no_grad():
            model.module.weight.fill_(6)
        assert model.state_dict()["weight"].unique().tolist() == [5.0]
        with model.no_sync():
            model(torch.ones(1, 3)).sum().backward()
        assert model.module.weight.grad is None
        model(torch.ones(1, 3)).sum().backward()
        assert model.module.weight.grad.full_tensor().unique().tolist() == [2.0]
        assert float(model.clip_grad_norm_(1.0)) == pytest.approx((6 * 4 + 2 * 4) ** 0.5)
        model.apply(lambda m: nn.init.ones_(m.bias) if hasattr(m, "bias") and isinstance(m, nn.Linear) else None)
        assert model.state_dict()["bias"].tolist() == [1.0, 1.0]
        low = FSDP(nn.Linear(2, 2), mixed_precision=MixedPrecision(torch.bfloat16))
        assert low(torch.ones(1, 2)).dtype == torch.bfloat16

    ranks(2, work)


def test_policies_pick_modules():
    model = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.Linear(2, 2), nn.ReLU()))
    picked = lambda policy: [
        n for n, m in model.named_modules() if policy(module=m, recurse=False, nonwrapped_numel=20)
    ]
    assert picked(ModuleWrapPolicy([nn.Linear])) == ["0", "1.0"]
    assert picked(CustomPolicy(lambda m: isinstance(m, nn.ReLU))) == ["1.1"]
    assert size_based_auto_wrap_policy(model, False, 20, min_num_params=20)
    assert not size_based_auto_wrap_policy(model, False, 19, min_num_params=20)


@pytest.mark.parametrize("reshard", [True, False])
def test_a_list_of_modules_is_gathered_at_the_first_and_let_go_of_after_the_last(ranks, reshard):
    def work(rank):
        expected, model = net(), net()
        first, second = model.blocks
        fully_shard([first, second], reshard_after_forward=reshard)
        fully_shard(model, reshard_after_forward=reshard)
        held = []
        first.register_forward_hook(lambda *_: held.append(first.up.weight))
        second.register_forward_hook(lambda *_: held.append(first.up.weight))
        sgd, plain = (torch.optim.SGD(m.parameters(), 0.1, momentum=0.9) for m in (model, expected))
        for step in range(3):
            sgd.zero_grad(), plain.zero_grad()
            loss_of(model, rank, step).backward()
            sum(loss_of(expected, r, step) for r in range(2)).div(2).backward()
            sgd.step(), plain.step()
        assert [isinstance(one, DTensor) for one in held] == [False, reshard] * 3
        for a, b in zip(model.parameters(), expected.parameters(), strict=True):
            torch.testing.assert_close(a.full_tensor(), b)

    ranks(2, work)


def test_gradients_are_divided_by_a_number_of_ones_own(ranks):
    def work(rank):
        torch.manual_seed(0)
        model = fully_shard(nn.Linear(2, 3), shard_placement_fn=lambda parameter: Shard(0))
        model.set_gradient_divide_factor(1)
        model(torch.full((4, 2), rank + 1.0)).sum().backward()
        assert model.weight.grad.full_tensor().tolist() == [[12.0, 12.0]] * 3

    ranks(2, work)


def test_what_does_not_fit_is_named(ranks):
    def work(rank):
        model = fully_shard(nn.Linear(2, 2))
        with pytest.raises(ValueError, match=r"shard_placement_fn of bias, of shape \(2,\), returned Shard\(dim=1\)"):
            fully_shard(nn.Linear(2, 2), shard_placement_fn=lambda parameter: Shard(1))
        with pytest.raises(TypeError, match=r"shard_placement_fn of weight returned 1; expected Shard\(dim\) or None"):
            fully_shard(nn.Linear(2, 2), shard_placement_fn=lambda parameter: 1)
        with pytest.raises(ValueError, match="the list of modules is empty"):
            fully_shard([])
        with pytest.raises(ValueError, match="sharded already"):
            fully_shard(model)
        with pytest.raises(ValueError, match="do not implement forward"):
            fully_shard(nn.ModuleList([nn.Linear(1, 1)]))
        scalar = nn.Module()
        scalar.p = nn.Parameter(torch.tensor(1.0))
        with pytest.raises(ValueError, match="doesn't support scalar parameters. Change p"):
            fully_shard(scalar)
        with pytest.raises(NotImplementedError, match="is not copied; copy it before"):
            import copy

            copy.deepcopy(model)
        with pytest.raises(ValueError, match="process_group is a pair, .* got _?[A-Za-z]*Group"):
            FSDP(nn.Linear(1, 1), dist.group.WORLD, sharding_strategy=ShardingStrategy.HYBRID_SHARD)
        with pytest.raises(NotImplementedError, match="LOCAL_STATE_DICT"):
            FSDP.set_state_dict_type(model, StateDictType.LOCAL_STATE_DICT)

    ranks(2, work)


@pytest.mark.parametrize("how", ["machines of two ranks", "one machine", "groups"])
def test_pieces_within_a_machine_and_the_same_on_all(ranks, monkeypatch, how):
    def work(rank):
        groups = None
        if how == "machines of two ranks":
            monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
        elif how == "groups":
            pieces = [dist.new_group([0, 1]), dist.new_group([2, 3])][rank // 2]
            alike = [dist.new_group([0, 2]), dist.new_group([1, 3])][rank % 2]
            groups = pieces, alike
        model = FSDP(net(), groups, sharding_strategy=ShardingStrategy.HYBRID_SHARD, use_orig_params=True)
        expected = net()
        near = 4 if how == "one machine" else 2
        weight = next(model.parameters())
        assert weight.device_mesh.shape == (4 // near, near)
        assert model.process_group.size() == near
        x = torch.randint(11, (8, 4), generator=torch.Generator().manual_seed(1))
        sgd, plain = (torch.optim.SGD(m.parameters(), 0.1) for m in (model, expected))
        for _ in range(3):
            sgd.zero_grad(), plain.zero_grad()
            model(x[2 * rank : 2 * rank + 2]).pow(2).mean().backward()
            expected(x).pow(2).mean().backward()
            sgd.step(), plain.step()
        for a, b in zip(model.parameters(), expected.parameters(), strict=True):
            torch.testing.assert_close(a.full_tensor(), b)

    ranks(4, work)


def test_machines_of_a_size_that_does_not_divide_the_ranks_are_refused(ranks, monkeypatch):
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")

    def work(rank):
        with pytest.raises(ValueError, match="LOCAL_WORLD_SIZE=2 does not divide the 3 ranks; pass device_mesh"):
            FSDP(nn.Linear(1, 1), sharding_strategy=ShardingStrategy.HYBRID_SHARD)

    ranks(3, work)


@pytest.mark.parametrize("reshard", [True, False])
def test_two_forward_passes_before_backward_and_one_without_gradients_between(ranks, reshard):
    def work(rank):
        model, expected = net(), net()
        for block in model.blocks:
            fully_shard(block, reshard_after_forward=reshard)
        fully_shard(model, reshard_after_forward=reshard)
        for first in (0, 2):  # again, after a step of backward
            model.zero_grad()
            expected.zero_grad()
            loss = loss_of(model, rank, first)
            with torch.no_grad():
                loss_of(model, rank, 9)
            (loss + 2 * loss_of(model, rank, first + 1)).backward()
            total = sum(loss_of(expected, r, first) + 2 * loss_of(expected, r, first + 1) for r in range(2)) / 2
            total.backward()
            for (name, p), q in zip(model.named_parameters(), expected.parameters(), strict=True):
                if name != "unused":
                    assert torch.allclose(p.grad.full_tensor(), q.grad, rtol=1e-10), name

    ranks(2, work)


def test_between_forward_and_backward_nothing_holds_whole_parameters(ranks):
    def work(rank):
        model = net()
        for block in model.blocks:
            fully_shard(block)
        fully_shard(model)
        seen = []
        for block in model.blocks:
            block.up.register_forward_hook(lambda m, *_: seen.append(weakref.ref(m.weight)))
        loss = loss_of(model, rank, 0)
        gc.collect()
        assert len(seen) == 2
        assert all(one() is None for one in seen)
        loss.backward()
        assert model.blocks[0].up.weight.grad is not None

    ranks(2, work)


def test_parameters_are_gathered_while_other_modules_compute(ranks):
    def work(rank):
        model = net()
        for block in model.blocks:
            fully_shard(block)
        fully_shard(model)
        first, second = model.blocks
        model.set_modules_to_forward_prefetch([first])
        first.set_modules_to_forward_prefetch([second])
        second.set_modules_to_backward_prefetch([first])
        begun, met = [], []
        for name, block in (("first", first), ("second", second)):
            state = block._fsdp
            begin, gather = state.begin, state.gather
            state.begin = lambda name=name, begin=begin: (begin(), begun.append(name))[0]
            state.gather = lambda name=name, gather=gather, state=state: (
                met.append((name, state.coming is not None)),
                gather(),
            )[1]
        optimizer = torch.optim.Adam(model.parameters(), 0.05)
        train(model, optimizer, rank)
        assert begun == ["first", "second", "first"] * 3
        assert met == [("first", True), ("second", True), ("second", False), ("first", True)] * 3
        assert_same(model, reference(3))
        with pytest.raises(ValueError, match="set_modules_to_forward_prefetch: expects modules that fully_shard"):
            first.set_modules_to_forward_prefetch([first.norm])

    ranks(3, work)


def test_what_was_gathered_before_a_step_is_gathered_again(ranks):
    def work(rank):
        torch.manual_seed(1)
        layer = fully_shard(nn.Linear(3, 4))
        layer.unshard(async_op=True)  # never waited for
        with torch.no_grad():
            layer.weight.fill_(2.0)
            layer.bias.zero_()
        assert layer(torch.ones(1, 3)).tolist() == [[6.0] * 4]
        handle = layer.unshard(async_op=True)
        assert isinstance(layer.weight, DTensor)
        handle.wait()
        handle.wait()
        assert layer.weight.shape == (4, 3)
        assert not isinstance(layer.weight, DTensor)
        layer.reshard()

    ranks(2, work)


def test_a_module_of_the_meta_device_gets_its_values_afterwards(ranks):
    def work(rank):
        with torch.device("meta"):
            model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2)).double()
        for layer in model:
            fully_shard(layer)
        fully_shard(model)
        model.to_empty(device="cpu")
        torch.manual_seed(rank)
        weights = {"0.weight": torch.arange(12.0).view(4, 3), "0.bias": torch.ones(4), "1.weight": torch.ones(2, 4)}
        weights = {name: value.double() for name, value in weights.items()} | {"1.bias": torch.zeros(2).double()}
        set_model_state_dict(
            model,
            weights if rank == 0 else {},
            options=StateDictOptions(full_state_dict=True, broadcast_from_rank0=True),
        )
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
        model(torch.ones(1, 3).double()).sum().backward()
        optimizer.step()
        return {name: p.full_tensor().detach() for name, p in model.named_parameters()}

    for found in ranks(2, work):
        assert torch.equal(found["0.weight"], torch.arange(12.0).view(4, 3).double() - 1)  # 2 outputs, rate a half
        assert torch.equal(found["1.bias"], torch.full((2,), -0.5).double())


def test_pieces_that_are_put_in_place_of_ours_are_taken_over(ranks):
    def work(rank):
        model = fully_shard(nn.Linear(3, 4))
        state = {name: value.clone().fill_(2) for name, value in model.state_dict().items()}
        model.load_state_dict(state, assign=True)
        assert model(torch.ones(1, 3)).tolist() == [[8.0] * 4]
        model.weight = nn.Parameter(distribute_tensor(torch.zeros(4, 5), model.weight.device_mesh, [Shard(0)]))
        with pytest.raises(
            RuntimeError, match=r"weight of FSDPLinear was replaced .* \(4, 5\), .* piece is of \(4, 3\)"
        ):
            model(torch.ones(1, 3))

    ranks(2, work)


def test_a_scaled_step_is_skipped_on_all_ranks_when_one_finds_an_infinity(ranks):
    from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler

    def steps(rank):
        weight = nn.Parameter(torch.ones(2))
        optimizer, scaler, seen = torch.optim.SGD([weight], lr=0.5), ShardedGradScaler("cpu", 4.0), []
        for factor in (1.0, float("inf") if rank == 1 else 1.0, None if rank == 0 else 1.0):
            optimizer.zero_grad()
            if factor is not None:
                scaler.scale((weight * factor).sum()).backward()
            scaler.step(optimizer)
            scaler.update()
            seen.append((weight[0].item(), scaler.get_scale()))
        return seen

    assert ranks(2, steps) == [[(0.5, 4.0), (0.5, 2.0), (0.5, 2.0)], [(0.5, 4.0), (0.5, 2.0), (0.0, 2.0)]]
