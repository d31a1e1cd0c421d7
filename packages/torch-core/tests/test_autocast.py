"""torch.autocast: which operators compute in which dtype, and that regions leave no trace."""

import threading
from types import SimpleNamespace

import pytest
import torch

LOW = (torch.bfloat16, torch.float16)


def rand(*sizes):
    return torch.rand(*sizes) + 0.5


def positive(n):
    a = torch.rand(n, n)
    return a @ a.mT + n * torch.eye(n)


# PyTorch's documentation of autocast lists these ("CPU Op-Specific Behavior"): in the lower precision,
LOWER = {
    "mm": lambda: torch.mm(rand(3, 3), rand(3, 3)),
    "bmm": lambda: torch.bmm(rand(2, 3, 3), rand(2, 3, 3)),
    "matmul": lambda: rand(3, 3) @ rand(3),
    "addmm": lambda: torch.addmm(rand(3, 3), rand(3, 3), rand(3, 3)),
    "addbmm": lambda: torch.addbmm(rand(3, 3), rand(2, 3, 3), rand(2, 3, 3)),
    "baddbmm": lambda: torch.baddbmm(rand(2, 3, 3), rand(2, 3, 3), rand(2, 3, 3)),
    "vecdot": lambda: torch.linalg.vecdot(rand(3), rand(3)),
    "multi_dot": lambda: torch.linalg.multi_dot([rand(3, 3), rand(3, 3), rand(3, 3)]),
    "einsum": lambda: torch.einsum("ij,jk->ik", rand(3, 3), rand(3, 3)),
    "conv1d": lambda: torch.conv1d(rand(1, 2, 5), rand(3, 2, 3), rand(3)),
    "conv2d": lambda: torch.conv2d(rand(1, 2, 5, 5), rand(3, 2, 3, 3)),
    "conv_transpose2d": lambda: torch.conv_transpose2d(rand(1, 2, 5, 5), rand(2, 3, 3, 3)),
    "prelu": lambda: torch.prelu(rand(3), rand(1)),
    "inner": lambda: torch.inner(rand(2, 3), rand(3)),
    "tensordot": lambda: torch.tensordot(rand(2, 3), rand(3, 2), 1),
}
# in float32, whatever they are given,
FULL = {
    "prod": lambda x: torch.prod(x(rand(3))),
    "trace": lambda x: torch.trace(x(rand(3, 3))),
    "quantile": lambda x: torch.quantile(x(rand(3)), 0.5),
    "cholesky": lambda x: torch.linalg.cholesky(x(positive(3))),
    "inverse": lambda x: torch.inverse(x(positive(3))),
    "solve": lambda x: torch.linalg.solve(x(positive(3)), x(rand(3))),
    "qr": lambda x: torch.linalg.qr(x(positive(3))).R,
    "svdvals": lambda x: torch.linalg.svdvals(x(positive(3))),
    "eigvalsh": lambda x: torch.linalg.eigvalsh(x(positive(3))),
    "irfft": lambda x: torch.fft.irfft(torch.fft.rfft(x(rand(8)))),
    "max_unpool1d": lambda x: torch._C._operator("max_unpool1d")(x(rand(1, 1, 2)), torch.tensor([[[0, 3]]]), [4]),
    "cdist": lambda x: torch.cdist(x(rand(2, 3)), x(rand(2, 3))),
}
# in the widest dtype of their arguments,
WIDEST = {
    "cat": lambda x: torch.cat([x(rand(2)), rand(2)]),
    "stack": lambda x: torch.stack([rand(2), x(rand(2))]),
    "index_copy": lambda x: torch.index_copy(x(rand(3)), 0, torch.tensor([0]), rand(1)),
}
# and all others in what they are given.
AS_GIVEN = {
    "exp": lambda x: torch.exp(x(rand(3))),
    "sum": lambda x: x(rand(3)).sum(),
    "softmax": lambda x: torch.softmax(x(rand(3)), 0),
    "add": lambda x: x(rand(3)) + x(rand(3)),
    "mv": lambda x: torch.mv(x(rand(3, 3)), x(rand(3))),
    "inner": lambda x: torch.inner(x(rand(3)), x(rand(3))),
    "tensordot": lambda x: torch.tensordot(x(rand(2, 3)), x(rand(2, 3)), 2),
    "bilinear": lambda x: torch.bilinear(x(rand(2, 3)), x(rand(2, 3)), x(rand(4, 3, 3)), x(rand(4))),
    "dot": lambda x: torch.dot(x(rand(3)), x(rand(3))),
    "cat": lambda x: torch.cat([x(rand(3)), x(rand(3))]),
    "outer": lambda x: torch.outer(x(rand(3)), x(rand(3))),
    "addmm_": lambda x: x(rand(3, 3)).addmm_(x(rand(3, 3)), x(rand(3, 3))),
}


@pytest.mark.parametrize("low", LOW)
@pytest.mark.parametrize("name", LOWER)
def test_products_compute_in_the_lower_precision(name, low):
    with torch.autocast("cpu", low):
        assert LOWER[name]().dtype == low
    assert LOWER[name]().dtype == torch.float32


@pytest.mark.parametrize("given", (torch.float32, *LOW))
@pytest.mark.parametrize("name", FULL)
def test_what_needs_digits_computes_in_float32(name, given):
    with torch.autocast("cpu", torch.bfloat16):
        assert FULL[name](lambda t: t.to(given)).dtype == torch.float32


@pytest.mark.parametrize("name", WIDEST)
def test_what_joins_tensors_takes_the_widest_dtype(name):
    with torch.autocast("cpu", torch.bfloat16):
        assert WIDEST[name](lambda t: t.bfloat16()).dtype == torch.float32


@pytest.mark.parametrize("given", (torch.float32, *LOW))
@pytest.mark.parametrize("name", AS_GIVEN)
def test_everything_else_computes_in_what_it_is_given(name, given):
    with torch.autocast("cpu", torch.bfloat16):
        assert AS_GIVEN[name](lambda t: t.to(given)).dtype == given


@pytest.mark.parametrize("low", LOW)
def test_a_product_is_that_of_the_converted_matrices(low):
    a, b = torch.randn(5, 7), torch.randn(7, 3)
    with torch.autocast("cpu", low):
        product = a @ b
    assert torch.equal(product, a.to(low) @ b.to(low))
    exact = a.to(low).double() @ b.to(low).double()
    assert torch.allclose(product.double(), exact, atol=1e-6, rtol=torch.finfo(low).eps)


@pytest.mark.parametrize("low", LOW)
def test_bilinear_multiplies_in_the_lower_precision_and_keeps_the_dtype_of_its_input(low):
    a, b, w = torch.randn(5, 3), torch.randn(5, 4), torch.randn(2, 3, 4)
    with torch.autocast("cpu", low):
        form = torch.bilinear(a, b, w)
    exact = torch.einsum("ni,kij,nj->nk", a.double(), w.double(), b.double())
    bound = torch.einsum("ni,kij,nj->nk", a.double().abs(), w.double().abs(), b.double().abs())
    assert form.dtype == torch.float32
    assert ((form - exact).abs() <= 6 * torch.finfo(low).eps * bound).all() and not torch.allclose(
        form.double(), exact, rtol=1e-6
    )


def test_float64_integers_complex_numbers_and_sparse_tensors_stay_what_they_are():
    with torch.autocast("cpu"):
        for dtype in (torch.float64, torch.int64, torch.complex64):
            a = torch.ones(2, 2, dtype=dtype)
            assert (a @ a).dtype == dtype
        assert torch.sparse.mm(torch.ones(2, 2).to_sparse(), torch.ones(2, 2)).dtype == torch.float32
        assert torch.mm(torch.ones(2, 2, device="meta"), torch.ones(2, 2, device="meta")).dtype == torch.float32
        with pytest.raises(RuntimeError):
            torch.mm(torch.ones(2, 2).double(), torch.ones(2, 2))


def test_out_says_in_which_dtype_to_compute():
    out = torch.empty(2, 2)
    with torch.autocast("cpu"):
        assert torch.mm(torch.ones(2, 2), torch.ones(2, 2), out=out) is out
    assert out.tolist() == [[2, 2], [2, 2]]


def product_dtype():
    return torch.mm(torch.ones(1, 1), torch.ones(1, 1)).dtype


def test_regions_nest_and_leave_the_state_as_it_was():
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.is_autocast_enabled("cpu") and not torch.is_autocast_enabled()
        with torch.autocast("cpu", enabled=False):
            assert product_dtype() == torch.float32 and not torch.is_autocast_enabled("cpu")
            with torch.autocast("cpu", torch.float16):
                assert product_dtype() == torch.float16 and torch.get_autocast_dtype("cpu") == torch.float16
        assert product_dtype() == torch.bfloat16 and torch.get_autocast_dtype("cpu") == torch.bfloat16
    assert product_dtype() == torch.float32 and not torch.is_autocast_enabled("cpu")


def test_an_error_inside_leaves_the_state_as_it_was():
    region = torch.autocast("cpu", torch.float16, cache_enabled=False)
    with pytest.raises(RuntimeError), region:
        torch.mm(torch.ones(2, 3), torch.ones(2, 3))
    assert not torch.is_autocast_enabled("cpu") and torch.is_autocast_cache_enabled()
    assert torch.get_autocast_dtype("cpu") == torch.bfloat16 and product_dtype() == torch.float32
    with region, region:
        assert product_dtype() == torch.float16
    assert product_dtype() == torch.float32


def test_a_decorated_function_and_other_threads():
    other = []

    @torch.autocast("cpu")
    def inside():
        thread = threading.Thread(target=lambda: other.append(product_dtype()))
        thread.start()
        thread.join()
        return product_dtype()

    assert inside() == torch.bfloat16 and other == [torch.float32] and inside.__name__ == "inside"


def test_the_state_without_regions():
    torch.set_autocast_enabled("cpu", True)
    torch.set_autocast_dtype("cpu", torch.float16)
    try:
        assert product_dtype() == torch.float16 and torch.is_autocast_cpu_enabled()
    finally:
        torch.set_autocast_enabled("cpu", False)
        torch.set_autocast_dtype("cpu", torch.bfloat16)
    assert torch.autocast_increment_nesting() == 1 and torch.autocast_decrement_nesting() == 0
    assert torch.autocast_decrement_nesting() == 0 and product_dtype() == torch.float32
    assert torch.get_autocast_gpu_dtype() == torch.float16 and torch.get_autocast_cpu_dtype() == torch.bfloat16


def test_bad_arguments():
    with pytest.raises(ValueError, match="device_type as a str, got device"):
        torch.autocast(torch.device("cpu"))
    with pytest.raises(RuntimeError, match="device_type 'cpu' or 'cuda', got 'meta'"):
        torch.autocast("meta")
    with pytest.raises(RuntimeError, match="tpu"):
        torch.is_autocast_enabled("tpu")
    with pytest.raises(RuntimeError, match="floating-point dtype, not torch.int8"):
        torch.set_autocast_dtype("cpu", torch.int8)
    with pytest.warns(UserWarning, match="torch.bfloat16 or torch.float16, not torch.float32"):
        region = torch.autocast("cpu", torch.float32)
    with region:
        assert product_dtype() == torch.float32 and torch.get_autocast_dtype("cpu") == torch.float32
    with pytest.warns(UserWarning, match="CUDA, which is not available"), torch.autocast("cuda"):
        assert not torch.is_autocast_enabled("cuda") and product_dtype() == torch.float32


def test_names_of_devices_are_older_names_that_warn():
    with pytest.warns(FutureWarning, match=r"`torch.cpu.amp.autocast\(args...\)` is deprecated.*autocast\('cpu'"):
        region = torch.cpu.amp.autocast(dtype=torch.float16)
    with region:
        assert product_dtype() == torch.float16
    with pytest.warns(FutureWarning, match="Please use `torch.amp.autocast"):
        assert torch.cuda.amp.autocast(enabled=False).device == "cuda"
    with pytest.warns(FutureWarning, match="Please use `torch.amp.GradScaler"):
        assert not torch.cuda.amp.GradScaler(enabled=False).is_enabled()
    with pytest.warns(FutureWarning, match="device_type='cuda'"):
        assert torch.cuda.amp.custom_fwd(lambda ctx, x: x)(SimpleNamespace(), 3) == 3
    assert torch.amp.is_autocast_available("cpu") and not torch.amp.is_autocast_available("meta")


def test_other_devices_are_never_in_a_block():
    assert not torch.is_autocast_enabled("mps") and not torch.is_autocast_enabled("xpu")
    with pytest.raises(RuntimeError):
        torch.is_autocast_enabled("nonsense")


@pytest.mark.parametrize("low", [torch.bfloat16, torch.float16])
def test_the_exponential_of_a_matrix_keeps_the_digits_of_its_products(low):
    a = torch.tensor([[1.0, 5.0, -3.0], [2.0, -7.0, 4.0], [1.0, 3.0, 2.0]])
    with torch.autocast("cpu", dtype=low):
        assert torch.equal(torch.linalg.matrix_exp(a), exponential := torch.matrix_exp(a))
    assert torch.equal(exponential, torch.linalg.matrix_exp(a))
