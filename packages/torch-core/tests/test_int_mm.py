"""Products of whole numbers of eight bits."""

import os
import subprocess
import sys

import numpy as np
import pytest
import torch


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8])
def test_the_first_matrix_may_be_without_sign(dtype):
    info = torch.iinfo(dtype)
    a = np.array([[info.min, info.max, 3], [1, 2, info.max]])
    b = np.array([[-128, 127], [5, -6], [7, 8]])
    product = torch._int_mm(torch.tensor(a, dtype=dtype), torch.tensor(b, dtype=torch.int8))
    assert product.dtype is torch.int32 and product.tolist() == (a @ b).tolist()


def test_the_second_matrix_has_a_sign():
    with pytest.raises(RuntimeError, match="int8 or uint8 and one of int8, got torch.int8 and torch.uint8"):
        torch._int_mm(torch.ones(2, 2, dtype=torch.int8), torch.ones(2, 2, dtype=torch.uint8))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_floats_times_int8_have_a_scale_for_each_row(dtype):
    x, w, s = torch.randn(5, 8).to(dtype), torch.randint(-127, 128, (3, 8), dtype=torch.int8), torch.rand(3).to(dtype)
    wanted = x.double() @ w.double().T * s.double()
    assert torch._weight_int8pack_mm(x, w, s).dtype == dtype
    torch.testing.assert_close(torch._weight_int8pack_mm(x, w, s), wanted.to(dtype))
    with pytest.raises(RuntimeError, match="expected self of float32, .* got torch.*, torch.float32 and"):
        torch._weight_int8pack_mm(x, w.float(), s)
    with pytest.raises(RuntimeError, match=r"shapes \(M, K\), \(N, K\) and \(N,\), got \(5, 8\), \(3, 8\) and \(2,\)"):
        torch._weight_int8pack_mm(x, w, s[:2])


@pytest.mark.parametrize("rows", [1, 1500])
def test_weights_of_more_rows_than_are_floats_at_one_time(rows):
    columns = 1024
    x, scale = torch.randn(2, columns), torch.rand(rows)
    w = torch.randint(-127, 128, (rows, columns), dtype=torch.int8)
    wanted = (x.double() @ w.double().T * scale.double()).float()
    torch.testing.assert_close(torch._weight_int8pack_mm(x, w, scale), wanted, rtol=1e-5, atol=1e-2)
    assert torch._weight_int8pack_mm(x, w[:0], scale[:0]).shape == (2, 0)
    assert torch._weight_int8pack_mm(x[:, :0], w[:, :0], scale).tolist() == torch.zeros(2, rows).tolist()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize(("rows", "columns", "group"), [(5, 64, 32), (1, 64, 2), (1100, 1024, 128)])
def test_floats_times_integers_of_four_bits_have_a_scale_and_a_zero_for_each_group(dtype, rows, columns, group):
    x, w = torch.randn(3, columns).to(dtype), torch.randint(0, 16, (rows, columns), dtype=torch.int32)
    groups = torch.randn(columns // group, rows, 2).to(dtype)
    scale, zero = groups.double().permute(2, 1, 0).repeat_interleave(group, 2)
    packed = torch._convert_weight_to_int4pack_for_cpu(w, 1)
    assert packed.dtype is torch.uint8 and packed.shape == (rows, columns // 2)
    wanted = x.double() @ ((w - 8).double() * scale + zero).T
    product = torch._weight_int4pack_mm_for_cpu(x, packed, group, groups)
    assert product.dtype is dtype
    error = 2e-6 if dtype is torch.float32 else torch.finfo(dtype).eps
    assert (product.double() - wanted).abs().max() <= error * wanted.abs().max()


@pytest.mark.parametrize("group", [0, 3, 24])
def test_groups_of_four_bits_are_even_and_divide_the_columns(group):
    packed = torch._convert_weight_to_int4pack_for_cpu(torch.zeros(5, 64, dtype=torch.int32), 1)
    with pytest.raises(
        RuntimeError, match=rf"self \(m, 64\), an even qGroupSize that divides 64 .* got \(2, 64\), {group} and"
    ):
        torch._weight_int4pack_mm_for_cpu(torch.ones(2, 64), packed, group, torch.ones(2, 5, 2))


@pytest.mark.parametrize("many", [1, 2, 3, 7, 16, 17])
@pytest.mark.parametrize("level", ["v2", "v3", "v4"])
def test_products_of_few_and_many_rows_agree_on_every_instruction_set(many, level):
    program = f"""
import torch
x = torch.arange({many} * 72.0).view({many}, 72).cos()
w8 = (torch.arange(37 * 72) * 89 % 255 - 127).to(torch.int8).view(37, 72)
scale = torch.arange(1.0, 38).sin()
exact = x.double() @ w8.double().T * scale.double()
assert (torch._weight_int8pack_mm(x, w8, scale).double() - exact).abs().max() < 1e-3
w4 = (torch.arange(37 * 72, dtype=torch.int32) * 7 % 16).view(37, 72)
groups = torch.arange(2 * 37 * 2.0).view(2, 37, 2).sin()
factor, zero = groups.double().permute(2, 1, 0).repeat_interleave(36, 2)
exact = x.double() @ ((w4 - 8) * factor + zero).T
packed = torch._convert_weight_to_int4pack_for_cpu(w4, 1)
assert (torch._weight_int4pack_mm_for_cpu(x, packed, 36, groups).double() - exact).abs().max() < 1e-3
try:
    import torch.autograd
except ImportError:
    raise SystemExit
assert (torch._weight_int4pack_mm_for_cpu(x.requires_grad_(), packed, 36, groups) - exact).abs().max() < 1e-3
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=os.environ | {"TORCH_CPU_LEVEL": level}
    )
    if f"TORCH_CPU_LEVEL={level}: this processor" in done.stderr:
        pytest.skip("the processor lacks these instructions")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((torch.ones(2, 4), torch.ones(3, 4), torch.ones(3), 4), "weight .n, k. of torch.int8"),
        ((torch.ones(2, 5), torch.ones(3, 4, dtype=torch.int8), torch.ones(3), 4), "does not fit input"),
        ((torch.ones(2, 4), torch.ones(3, 4, dtype=torch.int8), torch.ones(2), 4), r"scales \(3\), got 4"),
        ((torch.ones(2, 4), torch.ones(3, 2, dtype=torch.uint8), torch.ones(3), 4), "an even group that divides 4"),
    ],
)
def test_operands_of_a_product_with_weights_of_few_bits_fit_each_other(given, message):
    with pytest.raises(RuntimeError, match=message):
        torch._C._operator("_narrow_linear")(*given)


@pytest.mark.parametrize("rows", [2, 20])
def test_scales_of_integers_have_gradients_whatever_the_number_of_rows(rows):
    pytest.importorskip("torch.autograd")
    x, w = torch.randn(rows, 8), torch.randint(-127, 127, (5, 8), dtype=torch.int8)
    scales = torch.rand(5, requires_grad=True)
    torch._weight_int8pack_mm(x, w, scales).sum().backward()
    torch.testing.assert_close(scales.grad, (x @ w.float().T).sum(0))
    packed = torch._convert_weight_to_int4pack_for_cpu(torch.randint(0, 16, (5, 8), dtype=torch.int32), 1)
    groups = torch.rand(2, 5, 2, requires_grad=True)
    torch._weight_int4pack_mm_for_cpu(x, packed, 4, groups).sum().backward()
    zeros = x.view(rows, 2, 4).sum((0, 2))  # of each group, for every row of the weight
    torch.testing.assert_close(groups.grad[..., 1], zeros[:, None].expand(2, 5))
