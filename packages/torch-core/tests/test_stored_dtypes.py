"""Dtypes that only store numbers: complex32 and the floats of 8 bits. They move, convert and print; those of 8 bits
hardly compute, and complex32 is complex64, rounded."""

import copy
import pickle

import numpy as np
import pytest
import torch

FLOATS = {  # bits of the significand, bias of the exponent, largest number; OFP8 1.0, MX 1.0, arXiv:2206.02915
    torch.float8_e4m3fn: (3, 7, 448.0),
    torch.float8_e5m2: (2, 15, 57344.0),
    torch.float8_e4m3fnuz: (3, 8, 240.0),
    torch.float8_e5m2fnuz: (2, 16, 57344.0),
    torch.float8_e8m0fnu: (0, 127, 2.0**127),
}
STORED = [*FLOATS, torch.complex32]


def values_of(dtype):
    """All 256 values by the format's definition, as float64."""
    bits, bias, largest = FLOATS[dtype]
    codes = np.arange(256)
    if dtype == torch.float8_e8m0fnu:
        return np.where(codes == 255, np.nan, 2.0 ** (codes - 127.0))
    magnitude = codes & 127
    exponent, rest = magnitude >> bits, magnitude & (1 << bits) - 1
    x = np.where(exponent > 0, (rest + (1 << bits)) * 2.0 ** (exponent - bias - bits), rest * 2.0 ** (1 - bias - bits))
    x = np.where(x > largest, np.inf if dtype == torch.float8_e5m2 else np.nan, x)
    if dtype == torch.float8_e5m2:
        x = np.where(magnitude > 0x7C, np.nan, x)
    x = np.where(codes & 128, -x, x)
    return np.where(codes == 128, np.nan, x) if str(dtype).endswith("uz") else x


def code_of(t):
    return t.view(torch.uint8).numpy()


@pytest.mark.parametrize("dtype", FLOATS)
def test_all_256_codes_are_the_numbers_of_the_format(dtype):
    codes = torch.arange(256).to(torch.uint8).view(dtype)
    assert codes.dtype == dtype and np.array_equal(codes.to(torch.float64).numpy(), values_of(dtype), equal_nan=True)
    for wide in (torch.float32, torch.bfloat16, torch.float16):
        if wide != torch.float16 or dtype != torch.float8_e8m0fnu:
            assert np.array_equal(codes.to(wide).double().numpy(), values_of(dtype), equal_nan=True)
            there = codes.to(wide).to(dtype)
            assert np.array_equal(there.float().numpy(), codes.float().numpy(), equal_nan=True)


@pytest.mark.parametrize("dtype", FLOATS)
def test_numbers_are_rounded_to_the_nearest_and_to_even_between_two(dtype):
    values = values_of(dtype)
    finite = np.unique(np.abs(values[np.isfinite(values)]))
    between = (finite[:-1] + finite[1:]) / 2
    drawn = np.exp2(np.random.default_rng(0).uniform(np.log2(finite[finite > 0][0]), np.log2(finite[-1]), 5000))
    for x in (
        finite,
        between,
        np.nextafter(np.float32(between), np.float32(0)),
        np.nextafter(np.float32(between), np.float32(1e9)),
        drawn,
    ):
        x = np.float32(x)
        x = x[x >= finite[1]] if dtype == torch.float8_e8m0fnu else x  # below, any excess is rounded up
        got = torch.from_numpy(x).to(dtype).double().numpy()
        distance = np.abs(finite[None] - np.float64(x)[:, None])
        nearest = distance == distance.min(1)[:, None]
        places = np.arange(len(finite))
        even = np.where(nearest.sum(1) == 1, nearest.argmax(1), (nearest * (places % 2 == 0)).argmax(1))
        if dtype == torch.float8_e8m0fnu:  # codes count from 2 ** -127, whose place is 0
            even = np.where((nearest.sum(1) == 2) & (x > finite[1]), np.where(nearest, places, -1).max(1), even)
        assert np.array_equal(got, finite[even])


def test_what_lies_beyond_the_largest_number():
    beyond = torch.tensor([1e6, -1e6, torch.inf, -torch.inf, torch.nan])
    assert beyond.to(torch.float8_e4m3fn).tolist()[:4] == [448, -448, 448, -448]
    assert beyond.to(torch.float8_e5m2).tolist()[:4] == [torch.inf, -torch.inf, torch.inf, -torch.inf]
    for dtype in (torch.float8_e4m3fnuz, torch.float8_e5m2fnuz):
        assert code_of(beyond.to(dtype)).tolist() == [128] * 5 and code_of(torch.tensor([-0.0]).to(dtype)) == 0
    assert code_of(torch.tensor([torch.inf, torch.nan]).to(torch.float8_e8m0fnu)).tolist() == [255, 255]


@pytest.mark.parametrize("dtype", STORED)
def test_conversions_go_through_what_holds_the_numbers(dtype):
    for source in (torch.tensor([True, False]), torch.tensor([1, 2, 4]), torch.tensor([1.5, -2.0], dtype=torch.float64),
                   torch.tensor([1.0, 2.0], dtype=torch.float16), torch.tensor([1 + 2j, 4j])):  # fmt: skip
        made = source.to(dtype)
        assert made.dtype == dtype and made.shape == source.shape
        wide = torch.complex64 if dtype == torch.complex32 else torch.float32
        again = made.to(wide).to(dtype)
        assert torch.equal(again.view(torch.uint8), made.view(torch.uint8))
    assert torch.tensor([1 + 2j]).to(torch.complex32).to(torch.complex128).tolist() == [1 + 2j]
    assert torch.ones(2, dtype=dtype).to(torch.int64).tolist() == [1, 1]
    strided = torch.arange(6.0).view(2, 3).t().to(dtype)
    assert torch.equal(strided.to(torch.float32), torch.arange(6.0).view(2, 3).t().to(dtype).float())


@pytest.mark.parametrize("dtype", STORED)
def test_tensors_are_made_filled_and_printed(dtype):
    name = f"dtype={dtype}"
    for made in (torch.zeros(2, dtype=dtype), torch.ones(2, dtype=dtype), torch.full((2,), 2.0, dtype=dtype),
                 torch.tensor([1.0, 2.0], dtype=dtype), torch.empty(2, dtype=dtype), torch.eye(2, dtype=dtype),
                 torch.empty(2, dtype=dtype).fill_(4), torch.ones(2).new_zeros(2, dtype=dtype)):  # fmt: skip
        assert made.dtype == dtype and name in repr(made)
        for like in (torch.zeros_like(made), torch.ones_like(made), torch.empty_like(made), made.new_ones(3)):
            assert like.dtype == dtype
    x = torch.tensor([1.0, 2.0], dtype=dtype)
    assert x.tolist() == [1, 2] and x[1].item() == 2 and torch.full_like(x, 4).tolist() == [4, 4]
    assert x.fill_(0.5).tolist() == [0.5, 0.5] and torch.count_nonzero(x.zero_().view(torch.uint8)) == 0
    assert x.copy_(torch.tensor([4.0, 8.0])).tolist() == [4, 8] and torch.zeros(2).copy_(
        x.real if x.is_complex() else x
    ).tolist() == [4, 8]
    assert torch.zeros(3, dtype=dtype, device="meta").to(torch.float32).dtype == torch.float32
    assert repr(torch.ones(2, dtype=torch.float8_e5m2)) == "tensor([1., 1.], dtype=torch.float8_e5m2)"


@pytest.mark.parametrize("dtype", STORED)
def test_elements_move_as_they_are(dtype):
    codes = torch.arange(6).add(60).to(torch.uint8)
    x = (torch.arange(6.0) if dtype == torch.complex32 else codes.view(dtype)).to(dtype).view(2, 3)
    numbers = x.to(torch.complex64)

    def same(made, wanted):
        assert made.dtype == dtype and torch.equal(made.to(torch.complex64), wanted)

    same(x.t(), numbers.t())
    same(x.t().contiguous(), numbers.t())
    same(x[1], numbers[1])
    same(x[:, 1:], numbers[:, 1:])
    same(x[torch.tensor([1, 0])], numbers[[1, 0]])
    same(x[torch.tensor([[True, False, True]] * 2)], numbers[torch.tensor([[True, False, True]] * 2)])
    same(torch.cat([x, x]), torch.cat([numbers, numbers]))
    same(torch.stack([x, x], 1), torch.stack([numbers, numbers], 1))
    same(x.reshape(3, 2).flip(0).repeat(2, 1), numbers.reshape(3, 2).flip(0).repeat(2, 1))
    same(x.index_select(1, torch.tensor([2])), numbers[:, 2:])
    same(
        torch.where(torch.tensor([True, False, True]), x, x.flip(1)),
        torch.where(torch.tensor([True, False, True]), numbers, numbers.flip(1)),
    )
    same(x.clone().index_put_((torch.tensor([0]),), x[1]), torch.stack([numbers[1], numbers[1]]))
    padded = torch.zeros(3, 3).to(dtype).to(torch.complex64)  # float8_e8m0fnu has no zero
    padded[:2, :2] = numbers[:, 1:]
    same(torch.constant_pad_nd(x, (-1, 1, 0, 1)), padded)
    y = x.clone()
    y[0] = x[1]
    y[:, 2] = 1.0
    same(y, torch.stack([numbers[1], numbers[1]]).index_fill(1, torch.tensor([2]), 1))
    assert torch.equal(x, x.clone()) and (x == x).all() and not (x != x).any()
    for made in (copy.deepcopy(x), copy.copy(x), pickle.loads(pickle.dumps(x))):
        same(made, numbers)
    if dtype == torch.complex32:
        assert torch.cat([x, torch.ones(2, 3)]).dtype == torch.complex64
    else:
        with pytest.raises(RuntimeError, match="all tensors of elements must have dtype"):
            torch.cat([x, torch.ones(2, 3)])


def test_complex32_is_a_pair_of_halves():
    h = torch.tensor([1 + 2j, 3 - 1j], dtype=torch.chalf)
    assert torch.equal(torch.view_as_real(h), torch.tensor([[1, 2], [3, -1]], dtype=torch.float16))
    assert h.real.dtype == torch.float16 and h.imag.tolist() == [2, -1]
    assert torch.view_as_complex(torch.ones(2, 2, dtype=torch.float16)).dtype == torch.complex32
    assert torch.equal(h + h, h * 2) and (h * h).tolist() == [-3 + 4j, 8 - 6j] and (h + 1).tolist() == [2 + 2j, 4 - 1j]
    assert (
        (-h).tolist() == [-1 - 2j, -3 + 1j]
        and h.conj().tolist() == [1 - 2j, 3 + 1j]
        and (h - h).dtype == torch.complex32
    )
    assert h.abs().dtype == torch.float16 and (h * torch.ones(2)).dtype == torch.complex64
    assert h.add_(1).tolist() == [2 + 2j, 4 - 1j] and h.is_complex()
    for other in (torch.bfloat16, torch.float32, torch.complex64):  # one without dims weighs beside its like only
        assert (h * torch.tensor(2, dtype=other)).dtype == torch.complex32
        assert (h[0] * torch.tensor(2, dtype=other)).dtype == torch.complex64
    assert (h[0] * 2j).dtype == torch.complex32
    assert torch.promote_types(torch.complex32, torch.float16) == torch.complex32
    assert torch.promote_types(torch.float32, torch.complex32) == torch.complex64
    assert torch.promote_types(torch.complex32, torch.float64) == torch.complex128
    with pytest.raises(RuntimeError, match="Promotion for Float8 Types is not supported"):
        torch.promote_types(torch.float8_e4m3fn, torch.float32)


HALVES = torch.tensor([[1 + 2j, 0.5 - 1j], [-0.25j, 3]])
OF_COMPLEX32 = {
    "tril": torch.tril,
    "masked_fill": lambda x: x.masked_fill(torch.tensor([True, False]), 2j),
    "diag_embed": torch.diag_embed,
    "index_fill": lambda x: x.index_fill(0, torch.tensor([1]), 4),
    "sum": torch.sum,
    "mm": lambda x: x @ x,
    "exp": torch.exp,
    "kron": lambda x: torch.kron(x, x),
    "addcmul": lambda x: torch.addcmul(x, x, x, value=0.5),
    "unbind": lambda x: torch.stack(torch.unbind(x), 1),
    "meshgrid": lambda x: torch.stack(torch.meshgrid(x[0], x[1], indexing="ij")),
    "split with sizes": lambda x: torch.cat(torch.split(x, [1, 1], 1), 0),
    "index_put that adds": lambda x: x.index_put((torch.tensor([0, 0]),), x, accumulate=True),
    "linalg_inv": torch.linalg.inv,
}


@pytest.mark.parametrize("name", OF_COMPLEX32)
def test_complex32_computes_as_complex64_rounded(name):
    result, exact = OF_COMPLEX32[name](HALVES.to(torch.complex32)), OF_COMPLEX32[name](HALVES)
    assert result.dtype == torch.complex32
    torch.testing.assert_close(result.to(torch.complex64), exact, rtol=2**-10, atol=0)


@pytest.mark.parametrize("number", [2j, torch.tensor(2j), torch.tensor(2j, dtype=torch.complex128)])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_a_complex_number_keeps_the_precision_of_real_tensors(dtype, number):
    x, to = torch.tensor([1, -2], dtype=dtype), torch.complex64 if dtype == torch.bfloat16 else dtype.to_complex()
    assert torch.result_type(x, number) == torch.result_type(number, x) == to
    for result, exact in (
        (x * number, [2j, -4j]),
        (number - x, [-1 + 2j, 2 + 2j]),
        (x / number, [-0.5j, 1j]),
        (torch.where(torch.tensor([True, False]), x, number), [1, 2j]),
        (torch.addcmul(x, x, torch.as_tensor(number)), [1 + 2j, -2 - 4j]),
    ):
        assert result.dtype == to and result.tolist() == exact
    assert (x == number).tolist() == [False, False]


def test_complex32_is_written_to_where_it_lies():
    x = HALVES.to(torch.complex32)
    row = x[0]
    assert x.tril_() is x and row.tolist() == [1 + 2j, 0]
    x.masked_fill_(x == 0, 1j).exp_()
    torch.testing.assert_close(row, torch.tensor([1 + 2j, 1j]).exp().to(torch.complex32))
    x.put_(torch.tensor([0]), torch.tensor([5 + 0j], dtype=torch.complex32), accumulate=False)
    assert row[0] == 5 and x.t_() is x and x.resize_(3).shape == (3,)


def test_a_dtype_that_a_call_asks_for_decides_about_complex32():
    x = HALVES.to(torch.complex32)
    assert torch.ones(2).sum(dtype=torch.complex32).dtype == torch.complex32
    assert x.sum(dtype=torch.complex64).dtype == torch.complex64
    assert torch.linspace(0, 1, 3, dtype=torch.complex32).tolist() == [0, 0.5, 1]
    assert x.angle().dtype == torch.float16 and x.nonzero().dtype == torch.int64
    with pytest.raises(RuntimeError, match="sort"):
        x.sort()


@pytest.mark.parametrize("dtype", FLOATS)
def test_what_does_not_compute_says_what_to_do(dtype):
    x, wide = torch.ones(2, 2, dtype=dtype), "float32"
    uses = {
        "sum": x.sum, "exp": x.exp, "mm": lambda: x @ x, "sort": x.sort, "sin": lambda: torch.sin(x), "cumsum": lambda: x.cumsum(0),
        "uniform_": lambda: x.uniform_(), "softmax": lambda: torch.softmax(x, 0), "div": lambda: x / x, "max": x.max,
        "linalg_svd": lambda: torch.linalg.svd(x),
    }  # fmt: skip
    for use in uses.values():
        with pytest.raises(
            NotImplementedError,
            match=rf"not implemented for {dtype}, which only stores numbers; convert with .to\(torch.{wide}\)",
        ):
            use()
    with pytest.raises(NotImplementedError, match="sum: not implemented"):
        torch.ones(2).sum(dtype=dtype)
    with pytest.raises(TypeError, match="unsupported ScalarType"):
        x.numpy()
    with pytest.raises(BufferError, match=f"no format for {dtype}"):
        memoryview(x)
    with pytest.raises(NotImplementedError, match="to_dlpack"):
        torch.utils.dlpack.to_dlpack(x) if hasattr(torch, "utils") else x.__dlpack__()
    with pytest.raises(TypeError):
        torch.set_default_dtype(dtype)
    with pytest.raises(NotImplementedError, match=f"no compressed sparse tensors have values of {dtype}"):
        torch.sparse_csr_tensor([0, 1], [0], torch.ones(1, dtype=dtype), (1, 1))
