"""Element-wise calls for lists: the numbers of one call after the other, in a launch for 64 tensors."""

import pytest
import torch
from test_devices import run
from torch._cuda import _native
from torch._cuda.listed import in_list

SHAPES = [(3,), (5, 7), (129, 65), (), (0, 4), (2, 3, 4), (20_000,)]


def tensors(dtype, seed, low=-2.0):
    generator = torch.Generator().manual_seed(seed)
    all = [torch.rand(s, generator=generator) * (2 - low) + low for s in SHAPES]
    all += [torch.rand(6, 6, generator=generator).add(0.5).t(), torch.rand(9, generator=generator).add(0.5)[1:]]
    return [t.to("cuda", dtype) if t.is_contiguous() else t.to(dtype).cuda() for t in all]


def launches(f):
    torch.cuda.synchronize()
    before = _native.counts()["launches"]
    f()
    return _native.counts()["launches"] - before


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
@pytest.mark.parametrize(
    "name, lists, numbers",
    [
        ("add", 2, ()),
        ("mul", 1, (0.3,)),
        ("div", 2, ()),
        ("pow", 1, (2.5,)),
        ("maximum", 2, ()),
        ("sqrt", 1, ()),
        ("exp", 1, ()),
        ("neg", 1, ()),
        ("lerp", 2, (0.25,)),
        ("addcmul", 3, (0.5,)),
        ("addcdiv", 3, (0.5,)),
    ],
)
def test_numbers_are_those_of_the_operators_to_the_bit(name, lists, numbers, dtype):
    for order, lazy in ((0, False), (7, True)):
        _native.configure(order=order, lazy=lazy)
        columns = [tensors(dtype, seed, low=0.1) for seed in range(lists)]
        options = {"value": numbers[0]} if name.startswith("addc") else {}
        rest = () if options else numbers
        single = [getattr(torch, name)(*row, *rest, **options) for row in zip(*columns, strict=True)]
        plain = getattr(torch, f"_foreach_{name}")(*columns, *numbers)
        assert all(torch.equal(a, b) and a.dtype == b.dtype for a, b in zip(plain, single, strict=True))
        getattr(torch, f"_foreach_{name}_")(*columns, *numbers)
        assert all(torch.equal(a, b) for a, b in zip(columns[0], single, strict=True))


def test_a_list_is_a_launch_for_64_tensors():
    many = [torch.ones(5, device="cuda") for _ in range(130)]
    assert launches(lambda: torch._foreach_mul_(many, 2.0)) == 3
    assert launches(lambda: torch._foreach_add_(many[:60], many[60:120], alpha=3)) == 1
    assert [t.tolist()[0] for t in (many[0], many[59], many[60], many[129])] == [8, 8, 2, 2]
    different = [float(i) for i in range(4)]
    assert launches(lambda: torch._foreach_add_(many[:4], different)) == 4  # the number is the launch's


def test_a_tensor_that_is_named_twice_is_changed_twice_and_in_order():
    x = torch.ones(8, device="cuda")
    torch._foreach_add_([x, x, x[2:5], x[4:]], 1.0)
    assert x.tolist() == [3, 3, 4, 4, 5, 4, 4, 4]
    a, b = torch.full((4,), 2.0, device="cuda"), torch.full((4,), 5.0, device="cuda")
    torch._foreach_mul_([a, b], [b, a])  # b is multiplied by what a has become
    assert a.tolist() == [10] * 4 and b.tolist() == [50] * 4


def test_each_operator_of_a_block_is_one_launch_for_all_tensors():
    params, grads, squares = ([torch.full((6,), 4.0, device="cuda") for _ in range(30)] for _ in range(3))

    def step():
        with in_list():
            for p, g, v in zip(params, grads, squares, strict=True):
                v.mul_(0.5).addcmul_(g, g, value=0.5)
                p.addcdiv_(g, v.sqrt().add_(1.0), value=-1.0)

    assert launches(step) == 5
    v = 0.5 * 4 + 0.5 * 16
    assert torch.allclose(params[29], torch.full((6,), 4 - 4 / (v**0.5 + 1), device="cuda"), rtol=1e-6)


def test_what_is_put_into_a_stream_meanwhile_comes_in_its_place():
    _native.configure(lazy=True)
    x = torch.ones(4, device="cuda")
    with in_list(), in_list():
        x.mul_(2)
        total = x.sum()
        x.mul_(3)
        assert x.tolist() == [6] * 4 and total.item() == 8
        x.mul_(5)
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            x.add_(1)
        torch.cuda.current_stream().wait_stream(side)
        x.mul_(2)
        copy = x.clone()
        x.zero_()
    assert copy.tolist() == [62] * 4 and x.tolist() == [0] * 4


def test_a_block_that_fails_leaves_what_was_asked_before():
    x = torch.ones(3, device="cuda")
    with pytest.raises(RuntimeError, match="size"), in_list():
        x.mul_(2)
        x.add_(torch.ones(2, device="cuda"))
    assert x.tolist() == [2] * 3
    assert launches(lambda: x.mul_(2)) == 1  # nothing waits any more


def test_numbers_on_the_device_and_of_other_types():
    x, scale = [torch.arange(6.0, device="cuda") for _ in range(3)], torch.tensor(0.5, device="cuda")
    assert launches(lambda: torch._foreach_mul_(x, scale)) == 1
    torch._foreach_add_(x, [torch.ones(6, device="cuda", dtype=torch.int32)] * 3)
    assert x[2].tolist() == [1, 1.5, 2, 2.5, 3, 3.5]
    whole = [torch.arange(4, device="cuda") for _ in range(2)]
    torch._foreach_mul_(whole, 3)
    assert whole[1].tolist() == [0, 3, 6, 9]
    wide = [torch.arange(4.0, device="cuda")[:, None].expand(4, 3) for _ in range(2)]
    assert torch._foreach_add(wide, 1.0)[1].tolist() == [[r + 1.0] * 3 for r in range(4)]


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float16, torch.float32, torch.complex128])
def test_copies_and_zeros_of_lists_are_one_launch(dtype):
    to, source = ([torch.full((n,), x, device="cuda").to(dtype) for n in (1, 5, 16, 300)] for x in (0, 3))
    assert launches(lambda: torch._foreach_copy_(to, source)) <= 3  # by how much is moved at a time
    assert all(torch.equal(a, b) for a, b in zip(to, source, strict=True))
    copies = torch._foreach_clone(to)
    assert launches(lambda: torch._foreach_zero_(to)) == 1
    assert [t.sum().item() for t in to] == [0] * 4 and copies[3].sum().item() == 900

    def chosen():
        with in_list():
            return [torch.where(b == 3, b, a) for a, b in zip(to, copies, strict=True)]

    found = []
    if dtype == torch.float32:
        assert launches(lambda: found.extend(chosen())) == 2
        assert all(torch.equal(a, b) for a, b in zip(found, copies, strict=True))


def test_gradients_go_through_lists():
    pytest.importorskip("torch.autograd")
    x = [torch.full((3,), float(i + 1), device="cuda", requires_grad=True) for i in range(3)]
    y = torch._foreach_mul(torch._foreach_exp(x), x)
    torch._foreach_add(y, y)[1].sum().backward()
    e = torch.exp(torch.full((3,), 2.0))
    assert torch.allclose(x[1].grad.cpu(), 2 * (e + 2 * e)) and x[0].grad is None


def test_lists_of_two_devices():
    said = run(
        """
import torch
x = [torch.ones(3, device=f"cuda:{i % 2}") for i in range(6)]
torch._foreach_add_(x, 1.0)
torch._foreach_mul_(x, 3.0)
print({t.tolist()[0] for t in x}, torch.cuda.current_device())
""",
        "devices=2,guard,order=3,lazy",
    )
    assert said.startswith("{6.0} 0")


@pytest.mark.parametrize("ord", [1, 2, float("inf"), 2.0, 3])
@pytest.mark.parametrize("dtype, near", [(torch.float32, 1e-6), (torch.float64, 1e-13), (torch.float16, 1e-3)])
def test_norms_of_a_list_are_those_of_its_tensors(dtype, near, ord):
    _native.configure(order=5, lazy=True)
    many = [t * 0.01 for t in tensors(dtype, 1) if t.is_contiguous()]
    many.append(torch.rand(70_001, device="cuda").to(dtype) * 0.01)
    if ord == float("inf"):
        with pytest.raises(RuntimeError, match="inf norm on an empty tensor"):
            torch._foreach_norm(many, ord)
        many = [t for t in many if t.numel()]
    gaps = torch.rand(4, 6, device="cuda").to(dtype)[:, ::2]
    for given in (many, [*many, gaps]):  # a list with gaps goes one by one
        before = _native.counts()["launches"]
        found = torch._foreach_norm(given, ord)
        assert (_native.counts()["launches"] - before <= 2) == (given is many and ord != 3)
        for a, t in zip(found, given, strict=True):
            wanted = torch.linalg.vector_norm(t.cpu().double(), ord).item()
            assert a.dtype == dtype and a.shape == () and a.is_cuda
            assert abs(a.item() - wanted) <= near * max(1.0, wanted)


def test_norms_of_a_list_are_two_launches_for_64_tensors():
    many = [torch.ones(5, device="cuda") for _ in range(130)]
    assert launches(lambda: torch._foreach_norm(many)) == 6
    found = torch._foreach_norm([torch.tensor([1.0, float("nan"), 2.0], device="cuda")] * 2, float("inf"))
    assert found[1].isnan().item()
    with pytest.raises(RuntimeError, match="order 1, 2 or inf, got 1 tensors and the order 3"):
        _native.norms(many[:1], 3.0)
    with pytest.raises(RuntimeError, match="of one dtype and on one CUDA device"):
        _native.norms([many[0], many[1].half()], 2.0)


def test_gradients_of_norms_go_through_lists():
    pytest.importorskip("torch.autograd")
    x = torch.tensor([3.0, 4.0], device="cuda", requires_grad=True)
    torch._foreach_norm([x, x * 2])[1].backward()
    assert torch.allclose(x.grad.cpu(), torch.tensor([1.2, 1.6]))


def test_gradients_of_many_parameters_are_clipped_in_a_few_launches():
    nn = pytest.importorskip("torch.nn")

    def parameters(device):
        all = [nn.Parameter(torch.zeros(3, 5, device=device)) for _ in range(130)]
        for i, p in enumerate(all):
            p.grad = torch.full((3, 5), i / 50, device=device)
        return all

    here, there = parameters("cpu"), parameters("cuda")
    expected = nn.utils.clip_grad_norm_(here, 2.0)
    assert launches(lambda: nn.utils.clip_grad_norm_(there, 2.0)) <= 20
    assert torch.allclose(nn.utils.get_total_norm([p.grad for p in there]).cpu(), torch.tensor(2.0), rtol=1e-5)
    assert expected > 2 and all(
        torch.allclose(a.grad, b.grad.cpu(), rtol=1e-5) for a, b in zip(here, there, strict=True)
    )
    assert launches(lambda: nn.utils.clip_grad_value_(there, 0.01)) <= 3
    assert max(p.grad.max().item() for p in there) == pytest.approx(0.01)
