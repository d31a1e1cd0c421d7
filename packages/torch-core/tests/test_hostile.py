"""What no argument may do: crash the interpreter, hang it, or reach beyond a tensor's memory. `python fuzz.py` goes on
for as long as one likes; here is a short run of it, and one test for each way that something once went wrong.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from hostile import FalseBool, Hostile, IntWithTemper, LyingSequence, Mutating
from rows import ROWS
from torch import _C

FUZZ = Path(__file__).with_name("fuzz.py")
RANKS = Path(__file__).with_name("ranks.py")
SANITIZED = "asan" in os.environ.get("LD_PRELOAD", "")


def test_nothing_crashes_hangs_or_reaches_beyond_its_memory():
    calls = os.environ.get("TORCH_FUZZ_CALLS", "4000")
    command = [sys.executable, str(FUZZ), "--calls", calls, "--seed", os.environ.get("TORCH_FUZZ_SEED", "0")]
    done = subprocess.run(command + ["--no-memory"] * SANITIZED, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]


def test_lists_that_hold_themselves_are_refused_by_what_stands_beneath_dispatch():
    endless = [1]
    endless.append(endless)
    with pytest.raises(RecursionError):
        torch.Tensor.__torch_dispatch__(torch.abs, (), (endless,))
    with pytest.raises(RecursionError):
        torch.Tensor.__torch_dispatch__(lambda: endless, ())


@pytest.mark.parametrize("options", [[], ["--grad"]], ids=["values", "gradients"])
def test_operands_of_every_rank_give_a_result_or_an_exception(options):
    if options:
        pytest.importorskip("torch.autograd")
    done = subprocess.run([sys.executable, str(RANKS), *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.parametrize("row", [row for row in ROWS if "(Tensor[] " in row.schema], ids=str)
def test_none_in_a_list_of_tensors_is_named(row):
    parameter = re.search(r"\(Tensor\[\] (\w+)", row.schema)[1]
    with pytest.raises(TypeError, match=f": element 1 of {parameter} must be a Tensor, not None"):
        row.call([torch.ones(2), None])


# --- objects that run code while they are read ---


@pytest.mark.parametrize("grow", [False, True])
def test_a_list_of_sizes_may_be_changed_by_its_own_items(grow):
    sizes = [1, 2, 3]
    sizes[0] = Mutating(sizes, grow)
    assert torch.zeros(sizes).shape == (1, 2, 3)


@pytest.mark.parametrize("grow", [False, True])
def test_data_that_changes_its_length_while_it_is_read_is_refused(grow):
    data = [1, 2, 3]
    data[1] = Mutating(data, grow)
    with pytest.raises((RuntimeError, TypeError, ValueError)):
        torch.tensor([data, [1, 2, 3]])


def test_a_sequence_that_is_shorter_at_the_second_reading_is_refused():
    class Shrinking:
        lengths = [3, 1, 1, 1]

        def __len__(self):
            return self.lengths[0]

        def __getitem__(self, i):
            if i >= self.lengths[0]:
                self.lengths.pop(0)
                raise IndexError
            return i

    with pytest.raises(RuntimeError, match="changed its length while it was read"):
        torch.tensor([Shrinking(), [1, 2, 3]])


def test_a_truth_value_that_raises_is_passed_on():
    for call in (
        lambda: torch.sum(torch.ones(2), 0, FalseBool()),
        lambda: torch.tensor([1.0], requires_grad=FalseBool()),
        lambda: torch.tensor([1.0], pin_memory=FalseBool()),
        lambda: torch.ones(2).to(torch.float64, copy=FalseBool()),
        lambda: torch.ones(2).numpy(force=FalseBool()),
        lambda: torch.sort(torch.ones(2), 0, IntWithTemper(1)),
        lambda: _C._rebuild_tensor(torch.UntypedStorage(8), torch.float32, 0, (2,), (1,), FalseBool()),
    ):
        with pytest.raises(Hostile):
            call()


# --- memory that others hold ---


def test_memory_that_others_hold_does_not_move():
    tensor = torch.arange(3.0)
    for hold in (memoryview, np.asarray, torch.from_dlpack, lambda t: memoryview(t.untyped_storage())):
        held = hold(tensor)
        with pytest.raises(RuntimeError, match="held by an array or a buffer of others"):
            tensor.resize_(100000)
        del held
    assert tensor.resize_(100000)[:3].tolist() == [0, 1, 2]


def test_a_buffer_keeps_its_memory_when_the_tensor_gets_other():
    for change in (
        lambda t: setattr(t, "data", torch.zeros(5000)),
        lambda t: t.set_(torch.zeros(5000)),
        lambda t: t.untyped_storage()._adopt(bytearray(20000)),
    ):
        for size in (3, 5000):
            tensor = torch.arange(float(size))
            array, view = np.asarray(tensor), memoryview(tensor)
            change(tensor)
            junk = [torch.full((size,), -1.0) for _ in range(20)]
            assert array[:3].tolist() == [0, 1, 2] and view[2] == 2 and len(junk) == 20


def test_an_exported_shape_stays_when_the_tensor_gets_another():
    tensor = torch.arange(720.0).reshape(1, 2, 3, 4, 5, 6)
    other = torch.from_dlpack(tensor)
    tensor.resize_(720)
    assert other.shape == (1, 2, 3, 4, 5, 6) and other[0, 1, 2, 3, 4, 5] == 719


def test_elements_at_odd_addresses_are_refused():
    memory = bytearray(64)
    with pytest.raises(ValueError, match="must lie at a multiple of 8 bytes"):
        torch.frombuffer(memory, dtype=torch.float64, offset=1, count=4)
    with pytest.raises(ValueError, match="copy it first"):
        torch.from_numpy(np.frombuffer(memory, np.float32, 4, 3))
    odd = torch.frombuffer(memory, dtype=torch.uint8, offset=1, count=32)
    with pytest.raises(RuntimeError, match="foreign memory does not; clone"):
        odd.view(torch.float32)
    assert odd.clone().view(torch.float32).shape == (8,)


# --- devices ---


def test_a_meta_tensor_is_no_number():
    number = torch.empty((), device="meta", dtype=torch.int64)
    for call in (
        lambda: torch.arange(number),
        lambda: torch.ones(2).clamp(number, None) + torch.full((2,), number),
    ):
        with pytest.raises(RuntimeError, match="meta"):
            call()


# --- sizes ---


def test_empty_tensors_of_huge_sides_cost_nothing():
    flat = torch.empty(0, 2**40)
    assert torch.cumsum(flat, 0).shape == torch.cummax(flat, 0)[0].shape == (0, 2**40)


def test_triangles_of_huge_matrices_are_counted_at_once():
    assert torch.triu_indices(2**62, 3).shape == (2, 6)
    assert torch.tril_indices(2**40, 2, -(2**40) + 1).tolist() == [[2**40 - 1], [0]]
    with pytest.raises(RuntimeError, match="too many indices"):
        torch.tril_indices(2**62, 2**62)
    with pytest.raises(RuntimeError, match="too many indices"):
        torch.tril_indices(2**63 - 1, 3)
    for rows, cols, offset in [
        (3, 4, 0),
        (4, 3, 1),
        (5, 2, -2),
        (2, 5, 3),
        (3, 3, -7),
        (3, 3, 7),
        (0, 3, 0),
        (3, 0, 0),
    ]:
        lower = np.stack(np.tril_indices(rows, offset, cols))
        upper = np.stack(np.triu_indices(rows, offset, cols))
        assert torch.tril_indices(rows, cols, offset).tolist() == lower.tolist()
        assert torch.triu_indices(rows, cols, offset).tolist() == upper.tolist()


def test_a_histogram_of_the_widest_range_stays_within_its_bins():
    counts = torch.histc(torch.tensor([-1.7e308, 0.0, 1.7e308], dtype=torch.float64), 4, -1.7e308, 1.7e308)
    assert counts.sum() == 3


def test_sizes_multiply_without_overflow():
    assert torch.Size([2**40, 2**40]).numel() == 2**80


def test_lying_sequences_are_data_or_an_error():
    import random

    for seed in range(50):
        try:
            torch.tensor([LyingSequence(random.Random(seed))])
        except (RuntimeError, TypeError, ValueError, MemoryError):
            pass


# --- found under the sanitizers ---


@pytest.mark.parametrize("shape", [(0, 2**62), (2**62, 0), (2**40, 0, 2**40)])
def test_sizes_beside_a_zero_are_bounded_like_others(shape):
    with pytest.raises(RuntimeError, match="do(es)? not fit into 64 bits"):
        torch.empty(shape)
    with pytest.raises(RuntimeError, match="further than 64 bits"):
        torch.empty(0).as_strided((0, 2), (1, 2**61))


def test_steps_over_one_element_do_not_overflow():
    x = torch.arange(3.0)[1:2][:: 2**62]
    assert x.tolist() == [1] and x.stride() == (1,)


def test_backward_operators_check_what_they_are_given():
    g = torch.ones(2, 3, dtype=torch.uint8)
    for name in ("softmax_backward", "log_softmax_backward"):
        with pytest.raises(
            NotImplementedError, match=f"{name}: expects floating point tensors, got grad of torch.uint8"
        ):
            _C._operator(name)(g, g, 0)
    with pytest.raises(
        RuntimeError, match=r"select_backward: the gradient must have the shape of the piece, \(3,\), got \(2,\)"
    ):
        _C._operator("select_backward")(torch.ones(2), [2, 3], 0, 1)
    x = torch.ones(2, 3)
    with pytest.raises(RuntimeError, match="needs save_mean and save_invstd"):
        _C._operator("native_batch_norm_backward")(x, x, None, None, None, None, None, True, 1e-5)
    with pytest.raises(RuntimeError, match="save_mean should contain 3 elements"):
        _C._operator("native_batch_norm_backward")(x, x, None, None, None, torch.ones(2), torch.ones(3), True, 1e-5)


def test_any_byte_but_zero_is_true_to_unique():
    x = torch.tensor([0, 31, 1, 0], dtype=torch.uint8).view(torch.bool)
    assert x.unique().tolist() == [False, True]


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.tensor_split(2**40),
        lambda x: x[:0].chunk(2**31),
        lambda x: x[:1].expand(2**40).unbind(),
        lambda x: x[:1].expand(2**40).split(1),
    ],
)
def test_more_pieces_than_memory_holds_are_refused(call):
    with pytest.raises(RuntimeError, match="at most 16777216 pieces"):
        call(torch.arange(3.0))


def test_mvlgamma_counts_its_terms_first():
    with pytest.raises(RuntimeError, match="at most 2"):
        torch.mvlgamma(torch.ones(2), 2**35)
