"""Random numbers: repeatable, independent of threads and layout, distributed as they should be, and bad parameters."""

import pickle

import numpy as np
import pytest
import torch

N = 40_000
FILLS = {
    "uniform_": (-1.0, 2.0),
    "normal_": (1.0, 2.0),
    "exponential_": (1.5,),
    "geometric_": (0.3,),
    "cauchy_": (0.0, 1.0),
    "log_normal_": (0.0, 0.5),
    "bernoulli_": (0.25,),
    "random_": (3, 90),
}


def values(tensor):
    return np.asarray(tensor.tolist())


def repeated(draw):
    torch.manual_seed(11)
    first = draw().tolist()
    torch.manual_seed(11)
    assert draw().tolist() == first
    assert draw().tolist() != first
    return first


@pytest.mark.parametrize("name", FILLS)
def test_the_same_seed_gives_the_same_numbers(name):
    for dtype in (torch.float32, torch.float64):
        repeated(lambda dtype=dtype: getattr(torch.empty(50, dtype=dtype), name)(*FILLS[name]))


@pytest.mark.parametrize(
    "draw",
    [
        lambda: torch.rand(3, 4), lambda: torch.randn(5), lambda: torch.randint(1000, (9,)), lambda: torch.randint(-5, 5000, (9,)),
        lambda: torch.randperm(30), lambda: torch.randperm(100_000), lambda: torch.multinomial(torch.ones(20), 9),
        lambda: torch.multinomial(torch.ones(20), 30, replacement=True), lambda: torch.bernoulli(torch.full((60,), 0.5)),
        lambda: torch.poisson(torch.full((60,), 20.0)), lambda: torch.dropout(torch.ones(60), 0.5, True), lambda: torch.randn(4, dtype=torch.complex64),
        lambda: torch.rand_like(torch.ones(3, 3)), lambda: torch.randn_like(torch.ones(3)), lambda: torch.randint_like(torch.ones(9), 500),
        lambda: torch.normal(torch.zeros(4), torch.ones(4)), lambda: torch.normal(0.0, 1.0, (3,)),
    ],
)  # fmt: skip
def test_drawing_functions_repeat_and_go_on(draw):
    repeated(draw)


def test_numbers_do_not_depend_on_threads():
    before = torch.get_num_threads()
    results = set()
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            torch.manual_seed(0)
            parts = [
                torch.randn(100_003),
                torch.rand(50_001, dtype=torch.float64),
                torch.randperm(70_000),
                torch.dropout(torch.ones(99_999), 0.3, True),
            ]
            results.add(b"".join(np.asarray(p).tobytes() for p in parts))
    finally:
        torch.set_num_threads(before)
    assert len(results) == 1


def test_numbers_do_not_depend_on_layout():
    torch.manual_seed(4)
    rows = torch.empty(30, 50).normal_()
    torch.manual_seed(4)
    columns = torch.empty(50, 30).t().normal_()
    assert rows.tolist() == columns.tolist()


def test_a_generator_has_a_sequence_of_its_own():
    torch.manual_seed(1)
    g = torch.Generator().manual_seed(7)
    a = torch.rand(5, generator=g)
    b = torch.rand(5)
    torch.manual_seed(7)
    assert torch.rand(5).tolist() == a.tolist()
    torch.manual_seed(1)
    assert torch.rand(5).tolist() == b.tolist()
    assert g.initial_seed() == 7 and g.device == torch.device("cpu")


def test_states_can_be_kept_and_restored():
    g = torch.Generator()
    g.manual_seed(3)
    torch.rand(10, generator=g)
    state, copy, pickled = g.get_state(), g.clone_state(), pickle.loads(pickle.dumps(g))
    a = torch.rand(4, generator=g).tolist()
    assert torch.rand(4, generator=copy).tolist() == a == torch.rand(4, generator=pickled).tolist()
    assert torch.rand(4, generator=g.set_state(state)).tolist() == a
    before = torch.get_rng_state()
    b = torch.rand(3).tolist()
    torch.set_rng_state(before)
    assert torch.rand(3).tolist() == b
    with torch.random.fork_rng():
        c = torch.rand(3).tolist()
    assert torch.rand(3).tolist() == c


def test_a_fresh_seed_is_returned_and_used():
    seed = torch.seed()
    assert torch.initial_seed() == seed
    a = torch.rand(3).tolist()
    torch.manual_seed(seed)
    assert torch.rand(3).tolist() == a


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_uniform_numbers_stay_below_the_end(dtype):
    torch.manual_seed(0)
    x = values(torch.rand(N, dtype=getattr(torch, dtype)))
    assert x.min() >= 0 and x.max() < 1
    assert abs(x.mean() - 0.5) < 0.01 and abs(x.var() - 1 / 12) < 0.01


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_moments_of_the_distributions(dtype):
    torch.manual_seed(0)
    t = torch.empty(N, dtype=getattr(torch, dtype))
    x = values(t.normal_(2, 3))
    assert abs(x.mean() - 2) < 0.1 and abs(x.std() - 3) < 0.1
    x = values(t.exponential_(2))
    assert abs(x.mean() - 0.5) < 0.02 and x.min() >= 0
    x = values(t.geometric_(0.25))
    assert abs(x.mean() - 4) < 0.2 and x.min() == 1
    x = values(t.log_normal_(0, 0.5))
    assert abs(x.mean() - np.exp(0.125)) < 0.05
    assert abs(np.median(values(t.cauchy_(3, 1))) - 3) < 0.1
    assert abs(values(t.bernoulli_(0.3)).mean() - 0.3) < 0.02


def test_complex_normal_numbers_have_unit_variance():
    torch.manual_seed(0)
    z = values(torch.randn(N, dtype=torch.complex128))
    assert abs((abs(z) ** 2).mean() - 1) < 0.03 and abs(z.mean()) < 0.03


def test_integers_cover_their_range_evenly():
    torch.manual_seed(0)
    x = values(torch.randint(-3, 4, (N,)))
    assert sorted(set(x)) == [-3, -2, -1, 0, 1, 2, 3]
    assert (abs(np.bincount(x + 3) - N / 7) < 400).all()
    assert torch.randint(5, (2, 3), dtype=torch.int8).dtype == torch.int8
    assert values(torch.empty(1000, dtype=torch.uint8).random_()).max() > 240
    assert set(values(torch.empty(100, dtype=torch.bool).random_())) == {False, True}


@pytest.mark.parametrize("n", [0, 1, 2, 100, 40_000])
def test_permutations_hold_every_number_once(n):
    p = torch.randperm(n)
    assert p.dtype == torch.int64 and sorted(p.tolist()) == list(range(n))


def test_every_permutation_is_equally_likely():
    torch.manual_seed(0)
    counts = {}
    for _ in range(6000):
        p = tuple(torch.randperm(3).tolist())
        counts[p] = counts.get(p, 0) + 1
    assert len(counts) == 6 and all(abs(c - 1000) < 150 for c in counts.values())


def test_multinomial_follows_the_weights():
    torch.manual_seed(0)
    weights = torch.tensor([0.0, 1.0, 2.0, 0.0, 5.0])
    counts = np.bincount(values(torch.multinomial(weights, N, replacement=True)), minlength=5) / N
    assert np.abs(counts - np.array([0, 1, 2, 0, 5]) / 8).max() < 0.015
    rows = torch.multinomial(weights.expand(500, 5), 3)
    assert rows.shape == (500, 3)
    for row in rows.tolist():
        assert sorted(row) == [1, 2, 4]
    first = np.bincount(values(torch.multinomial(weights.expand(8000, 5), 1)[:, 0]), minlength=5) / 8000
    assert np.abs(first - np.array([0, 1, 2, 0, 5]) / 8).max() < 0.03


def test_poisson_has_the_mean_and_variance_of_its_rate():
    torch.manual_seed(0)
    for rate in (0.0, 0.5, 4.0, 12.0, 300.0):
        x = values(torch.poisson(torch.full((20_000,), rate)))
        assert abs(x.mean() - rate) < 0.02 + rate * 0.03 and abs(x.var() - rate) < 0.05 + rate * 0.06
        assert (x == np.floor(x)).all() and x.min() >= 0


def test_normal_takes_parameters_for_each_element():
    torch.manual_seed(0)
    mean, std = torch.tensor([[0.0], [100.0]]), torch.tensor([0.0, 1.0])
    x = values(torch.normal(mean, std))
    assert x[0, 0] == 0 and x[1, 0] == 100 and abs(x[1, 1] - 100) < 6
    assert values(torch.normal(torch.tensor([5.0, 6.0]), 0.0)).tolist() == [5, 6]
    assert values(torch.normal(5.0, torch.tensor([0.0, 0.0]))).tolist() == [5, 5]


def test_dropout_zeroes_and_scales():
    torch.manual_seed(0)
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        y = values(torch.dropout(torch.ones(N, dtype=dtype), 0.75, True))
        assert set(y) == {0, 4} and abs((y == 0).mean() - 0.75) < 0.01
    x = torch.ones(4)
    assert torch.dropout(x, 0.5, False).tolist() == [1] * 4
    assert torch.dropout(x, 1.0, True).tolist() == [0] * 4
    y, mask = torch.native_dropout(torch.arange(100.0), 0.5, True)
    assert mask.dtype == torch.bool and (values(y) == values(mask) * np.arange(100) * 2).all()
    z = torch.ones(1000)
    assert torch.dropout_(z, 0.5, True) is z and set(values(z)) == {0, 2}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.complex64])
def test_what_is_dropped_keeps_its_nan(dtype):
    x = torch.full((100,), float("nan"), dtype=dtype)
    for p in (0.5, 1.0):
        assert torch.dropout(x, p, True).isnan().all() and torch.native_dropout(x, p, True)[0].isnan().all()


def test_empty_and_zero_dim_tensors():
    assert torch.rand(0, 3).shape == (0, 3) and torch.randn(()).shape == ()
    assert torch.empty(0).normal_().shape == (0,)
    assert torch.bernoulli(torch.empty(0)).shape == (0,)
    assert torch.multinomial(torch.empty(0, 4), 2).shape == (0, 2)


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: torch.empty(3).normal_(0, -1), "normal_: expected std >= 0, got std=-1"),
        (lambda: torch.empty(3).uniform_(2, 1), "uniform_: expected from <= to, got from=2 and to=1"),
        (lambda: torch.empty(3).exponential_(0), "exponential_: expected lambd > 0"),
        (lambda: torch.empty(3).geometric_(1.5), "geometric_: expected p in (0, 1), got p=1.5"),
        (lambda: torch.empty(3).cauchy_(0, 0), "cauchy_: expected sigma > 0"),
        (lambda: torch.empty(3).bernoulli_(2), "bernoulli_: expected a probability from 0 to 1, got p=2"),
        (lambda: torch.bernoulli(torch.tensor([0.5, 1.5])), "bernoulli: expected probabilities from 0 to 1"),
        (lambda: torch.randint(5, 5, (2,)), "randint: expected low < high, got 5 and 5"),
        (lambda: torch.randint(0, 300, (2,), dtype=torch.uint8), "randint: [0, 300) goes beyond what torch.uint8 holds, 0 to 255"),
        (lambda: torch.randperm(-1), "randperm: n must be non-negative, got -1"),
        (lambda: torch.randperm(500, dtype=torch.int8), "randperm: 500 numbers do not fit into torch.int8"),
        (lambda: torch.multinomial(torch.ones(3), 4), "multinomial: cannot draw num_samples=4 from 3 without replacement"),
        (lambda: torch.multinomial(torch.tensor([1.0, -1.0]), 1), "multinomial: the probabilities contain inf, nan or a negative"),
        (lambda: torch.multinomial(torch.zeros(3), 1), "multinomial: the probabilities of a row sum to 0"),
        (lambda: torch.multinomial(torch.tensor([1.0, 0.0]), 2), "multinomial: a row has fewer than 2 elements that are not 0"),
        (lambda: torch.poisson(torch.tensor([-1.0])), "poisson: expected rates >= 0"),
        (lambda: torch.dropout(torch.ones(2), 1.5, True), "dropout: expected a probability from 0 to 1, got p=1.5"),
        (lambda: torch.normal(torch.zeros(2), torch.tensor([1.0, -1.0])), "normal: expected all elements of std >= 0"),
        (lambda: torch.set_rng_state(torch.zeros(3, dtype=torch.uint8)), "set_rng_state: expected a state of 16 bytes"),
        (lambda: torch.manual_seed(2**64), "manual_seed: seed must lie in"),
        (lambda: torch.ones(3).expand(2, 3).normal_(), "normal_"),
    ],
)  # fmt: skip
def test_bad_parameters_are_named(call, text):
    with pytest.raises(ValueError if "seed" in text else RuntimeError) as error:
        call()
    assert text in str(error.value)


def test_integer_tensors_have_no_normal_numbers():
    with pytest.raises(NotImplementedError, match="normal_: not implemented for torch.int64"):
        torch.empty(3, dtype=torch.int64).normal_()
    with pytest.raises(NotImplementedError, match="rand: not implemented for torch.int32"):
        torch.rand(3, dtype=torch.int32)


def test_generators_are_told_from_other_objects():
    with pytest.raises(TypeError):
        torch.rand(3, generator=5)
    with pytest.raises(TypeError, match="manual_seed: seed must be an int, not str"):
        torch.manual_seed("x")


@pytest.mark.parametrize(
    "call",
    [
        lambda z: z.random_(),
        lambda z: z.random_(3),
        lambda z: z.random_(0, 3),
        lambda z: torch.randint(3, (2,), dtype=z.dtype),
        lambda z: torch.randint_like(z, 3),
    ],
)
def test_complex_tensors_hold_no_random_integers(call):
    with pytest.raises(
        NotImplementedError, match=r"ran\w+: not implemented for torch.complex64; expected a real dtype"
    ):
        call(torch.zeros(2, dtype=torch.complex64))


def test_generators_have_no_offset():
    g = torch.Generator()
    for call in (g.get_offset, lambda: g.set_offset(3)):
        with pytest.raises(RuntimeError, match="CPU Generator does not use offset"):
            call()


def test_the_seed_and_the_state_may_go_by_name():
    assert torch.manual_seed(seed=3) is torch.default_generator
    state, first = torch.get_rng_state(), torch.rand(3)
    torch.set_rng_state(new_state=state)
    assert torch.equal(torch.rand(3), first)
    torch.manual_seed(3)
    assert torch.equal(torch.rand(3), first)
    with pytest.raises(TypeError, match="manual_seed"):
        torch.manual_seed(number=3)
