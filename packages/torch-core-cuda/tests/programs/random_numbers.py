"""Seeds, states and draws."""

import torch
from programs.checks import devices, raises
from torch import cuda


def seeds_of_devices():
    for i in devices():
        with cuda.device(i):
            cuda.manual_seed(2)
            x = cuda.FloatTensor(4, 4).uniform_()
            assert cuda.initial_seed() == 2
            cuda.manual_seed(2)
            y = cuda.FloatTensor(4, 4).uniform_()
            assert torch.equal(x, y) and not torch.equal(y, cuda.FloatTensor(4, 4).uniform_())
    cuda.manual_seed_all(7)
    first = [torch.randn(3, device=f"cuda:{i}").tolist() for i in devices()]
    torch.manual_seed(7)  # seeds all devices, too
    assert first == [torch.randn(3, device=f"cuda:{i}").tolist() for i in devices()] and torch.initial_seed() == 7
    cuda.seed()
    assert cuda.initial_seed() != 7
    cuda.seed_all()


def states_of_generators():
    states = cuda.get_rng_state_all()
    assert len(states) == len(devices()) and all(s.dtype == torch.uint8 and not s.is_cuda for s in states)
    first = [torch.rand(5, device=f"cuda:{i}").tolist() for i in devices()]
    cuda.set_rng_state_all(states)
    assert first == [torch.rand(5, device=f"cuda:{i}").tolist() for i in devices()]
    for name in (0, "cuda", "cuda:0", torch.device("cuda", 0)):
        state = cuda.get_rng_state(name)
        x = torch.rand(3, device="cuda:0")
        cuda.set_rng_state(state, name)
        assert torch.equal(torch.rand(3, device="cuda:0"), x)
    state = cuda.get_rng_state(-1)
    cuda.set_rng_state(state, device=-1)


def fork_rng_restores_every_device():
    cuda.manual_seed_all(3)
    states = [s.tolist() for s in cuda.get_rng_state_all()]
    with torch.random.fork_rng(devices=list(devices())):
        [torch.rand(4, device=f"cuda:{i}") for i in devices()]
        torch.rand(3)
    assert states == [s.tolist() for s in cuda.get_rng_state_all()]


def distributions_fill_tensors():
    x = cuda.FloatTensor(20_000)
    assert 0.48 < x.uniform_().mean().item() < 0.52 and x.min().item() >= 0 and x.max().item() < 1
    assert abs(x.normal_(2, 3).mean().item() - 2) < 0.1 and abs(x.std().item() - 3) < 0.1
    assert abs(x.exponential_(2).mean().item() - 0.5) < 0.03 and abs(x.bernoulli_(0.3).mean().item() - 0.3) < 0.02
    assert abs(x.geometric_(0.5).mean().item() - 2) < 0.1 and x.cauchy_().median().abs().item() < 0.05
    assert abs(x.log_normal_(0, 0.25).log().std().item() - 0.25) < 0.01
    y = cuda.LongTensor(1000)
    assert y.random_(10).min().item() >= 0 and y.max().item() == 9 and y.random_(5, 7).min().item() == 5
    p = torch.full((2000,), 0.25, device="cuda")
    assert abs(torch.bernoulli(p).mean().item() - 0.25) < 0.05
    assert torch.normal(torch.zeros(5, device="cuda"), torch.zeros(5, device="cuda")).tolist() == [0] * 5


def indices_are_drawn_by_their_weights():
    for dtype in (torch.float, torch.double, torch.half):
        p = torch.tensor([[0.0, 1, 3, 0], [2, 0, 0, 2]], device="cuda", dtype=dtype)
        s = torch.multinomial(p, 400, replacement=True)
        assert s.shape == (2, 400) and s.dtype == torch.int64 and s.is_cuda
        counts = [torch.bincount(row, minlength=4).tolist() for row in s]
        assert counts[0][0] == counts[0][3] == counts[1][1] == counts[1][2] == 0 and 230 < counts[0][2] < 370
        s = torch.multinomial(p, 2)
        assert sorted(s[0].tolist()) == [1, 2] and sorted(s[1].tolist()) == [0, 3]
        assert torch.multinomial(p[0], 1).shape == (1,)
    raises(RuntimeError, "", lambda: torch.multinomial(torch.tensor([1.0, -1.0], device="cuda"), 1).cpu())


def permutations_have_each_number_once():
    for n in (0, 1, 10, 1000):
        p = torch.randperm(n, device="cuda")
        assert p.is_cuda and p.sort()[0].tolist() == list(range(n))
    out = cuda.LongTensor(3)
    assert torch.randperm(5, out=out) is out and out.sort()[0].tolist() == [0, 1, 2, 3, 4]
