"""The caching allocator: what is freed is given out again, by device and stream, and running out says how things stand."""

import re

import pytest
import torch
from test_devices import run
from torch import cuda
from torch._cuda import _native


@pytest.fixture(autouse=True)
def empty():
    cuda.synchronize()
    cuda.empty_cache()
    cuda.reset_peak_memory_stats()


def test_sizes_are_rounded_and_memory_is_given_out_again():
    before = cuda.memory_allocated()
    x = torch.empty(1, device="cuda")
    assert cuda.memory_allocated() - before == 512
    place, reserved = x.data_ptr(), cuda.memory_reserved()
    del x
    assert cuda.memory_allocated() == before and cuda.memory_reserved() == reserved
    launches = _native.counts()["allocations"]
    assert torch.empty(100, device="cuda").data_ptr() == place
    assert _native.counts()["allocations"] == launches


def test_small_blocks_share_a_segment_and_join_when_they_are_freed():
    held = [torch.empty(1000, device="cuda") for _ in range(8)]
    assert cuda.memory_reserved() == 2 << 20
    (segment,) = [s for s in cuda.memory_snapshot() if s["total_size"] == 2 << 20]
    assert sum(b["state"] == "active_allocated" for b in segment["blocks"]) == 8
    del held[::2]
    assert len(cuda.memory_snapshot()[0]["blocks"]) >= 8
    held.clear()
    (segment,) = cuda.memory_snapshot()
    assert [b["size"] for b in segment["blocks"]] == [2 << 20]
    cuda.empty_cache()
    assert cuda.memory_reserved() == 0 and cuda.memory_snapshot() == []


def test_large_blocks_are_split_only_where_the_rest_is_of_use():
    x = torch.empty(3 << 20, dtype=torch.uint8, device="cuda")
    assert cuda.memory_reserved() == 20 << 20
    y = torch.empty(11 << 20, dtype=torch.uint8, device="cuda")
    assert cuda.memory_reserved() == 20 << 20 and y.data_ptr() == x.data_ptr() + (3 << 20)
    z = torch.empty(30 << 20, dtype=torch.uint8, device="cuda")
    assert cuda.memory_reserved() == 50 << 20
    del x, y, z


def test_peaks_and_totals():
    x = torch.empty(1 << 18, device="cuda")
    del x
    assert cuda.max_memory_allocated() >= 1 << 20 and cuda.memory_allocated() < 1 << 20
    cuda.reset_peak_memory_stats()
    assert cuda.max_memory_allocated() == cuda.memory_allocated()
    stats = cuda.memory_stats()
    assert stats["allocation.all.allocated"] - stats["allocation.all.freed"] == stats["allocation.all.current"]
    assert cuda.memory.memory_stats_as_nested_dict()["segment"]["all"]["peak"] >= 0
    assert "Allocated memory" in cuda.memory_summary()


def test_out_of_memory_says_what_was_asked_held_and_free():
    held = torch.empty(1 << 20, dtype=torch.uint8, device="cuda")
    with pytest.raises(torch.OutOfMemoryError) as caught:
        torch.empty(1 << 40, dtype=torch.uint8, device="cuda")
    text = str(caught.value)
    assert re.search(
        r"Tried to allocate 1024.00 GiB on cuda:0, which has 4.00 GiB, of which 4.00 GiB are free", text
    ), text
    assert "hold 1.00 MiB" in text and isinstance(caught.value, cuda.OutOfMemoryError)
    assert cuda.memory_stats()["num_ooms"] >= 1 and held.numel()


def test_the_cache_is_given_back_before_memory_runs_out():
    x = torch.empty(100 << 20, dtype=torch.uint8, device="cuda")
    del x
    _native.configure(allocations_to_fail=0)
    with pytest.raises(torch.OutOfMemoryError):
        torch.empty(200 << 20, dtype=torch.uint8, device="cuda")
    assert cuda.memory_reserved() < 100 << 20
    _native.configure()
    assert torch.empty(200 << 20, dtype=torch.uint8, device="cuda").numel()


def test_a_limit_of_the_process():
    cuda.set_per_process_memory_fraction(0.01)
    try:
        with pytest.raises(torch.OutOfMemoryError, match="set_per_process_memory_fraction"):
            torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
    finally:
        cuda.set_per_process_memory_fraction(1.0)
    with pytest.raises(ValueError, match=r"must lie in \[0, 1\], got 2.0"):
        cuda.set_per_process_memory_fraction(2.0)
    with pytest.raises(TypeError, match="must be a float"):
        cuda.set_per_process_memory_fraction("half")


@pytest.fixture
def settings():
    yield cuda.memory._set_allocator_settings
    cuda.memory._set_allocator_settings("")


def bytes_of(n):
    before = cuda.memory_allocated()
    x = torch.empty(n, dtype=torch.uint8, device="cuda")
    return cuda.memory_allocated() - before + 0 * x.numel()


def test_sizes_are_rounded_to_parts_of_powers_of_two_on_request(settings):
    assert bytes_of(4200) == 4608
    settings("roundup_power2_divisions:4")
    assert bytes_of(4200) == 5120 and bytes_of(8192) == 8192 and bytes_of(100) == 512
    settings("roundup_power2_divisions:[1:2,2:1,>:8]")
    assert (
        bytes_of(1100 << 10) == 1536 << 10 and bytes_of(2100 << 10) == 2100 << 10 and bytes_of(4100 << 10) == 4608 << 10
    )


def test_large_blocks_are_not_split_where_that_is_the_setting(settings):
    settings("max_split_size_mb:30")
    whole = torch.empty(40 << 20, dtype=torch.uint8, device="cuda")
    stats, place = cuda.memory_stats(), whole.data_ptr()
    assert stats["oversize_allocations.current"] == 1 and stats["max_split_size"] == 30 << 20
    del whole
    small = torch.empty(25 << 20, dtype=torch.uint8, device="cuda")
    assert small.data_ptr() != place  # which would have to be split
    assert torch.empty(35 << 20, dtype=torch.uint8, device="cuda").data_ptr() == place
    assert cuda.memory_stats()["oversize_allocations.current"] == 0
    assert cuda.memory_stats()["oversize_segments.current"] == 1


def test_idle_segments_are_given_back_above_a_threshold(settings):
    def idle(megabytes):
        torch.empty(megabytes << 20, dtype=torch.uint8, device="cuda")

    settings("garbage_collection_threshold:0.5,per_process_memory_fraction:0.05")  # 102 of 205 MB
    try:
        idle(40), idle(50)
        assert cuda.memory_reserved() >= 90 << 20
        idle(60)
        assert 60 << 20 <= cuda.memory_reserved() < 90 << 20
    finally:
        cuda.set_per_process_memory_fraction(1.0)


@pytest.mark.parametrize(
    "text, error, match",
    [
        ("max_split_size_mb:20", ValueError, "max_split_size_mb must be a number of MB above 20, got '20'"),
        ("garbage_collection_threshold:1.5", ValueError, "must be a number between 0 and 1, got '1.5'"),
        ("roundup_power2_divisions:3", ValueError, "must be powers of 2, got '3'"),
        ("largest:1", ValueError, "there is no 'largest'"),
        ("backend:cudaMallocAsync", NotImplementedError, "has only the backend 'native', got 'cudaMallocAsync'"),
    ],
)
def test_settings_that_are_none_are_named(settings, text, error, match):
    with pytest.raises(error, match=match):
        settings(text)


def test_settings_come_from_the_environment():
    program = "import torch; torch.cuda.init(); print(torch.cuda.memory_stats()['max_split_size'])"
    assert run(program, "", PYTORCH_CUDA_ALLOC_CONF="max_split_size_mb:64") == f"{64 << 20}\n"
    program = "import torch\ntry: torch.cuda.init()\nexcept ValueError as e: print(e)"
    assert "PYTORCH_CUDA_ALLOC_CONF: allocator settings: there is no 'nothing'" in run(
        program, "", PYTORCH_CUDA_ALLOC_CONF="nothing"
    )


def test_what_has_no_effect_is_said(settings):
    with pytest.warns(UserWarning, match="expandable_segments has no effect"):
        settings("expandable_segments:True")
    assert cuda.get_allocator_backend() == "native"


def test_memory_of_one_stream_is_not_given_to_another():
    x = torch.empty(1000, device="cuda")
    place = x.data_ptr()
    del x
    with cuda.stream(cuda.Stream()):
        assert torch.empty(1000, device="cuda").data_ptr() != place
    assert torch.empty(1000, device="cuda").data_ptr() == place


def test_memory_that_another_stream_uses_waits_for_it():
    _native.configure(lazy=True)
    other = cuda.Stream()
    x = torch.ones(1000, device="cuda")
    cuda.synchronize()
    with cuda.stream(other):
        y = x + 1
    _native.record_stream(x.data_ptr(), 0, other.priority, other.cuda_stream)
    place = x.data_ptr()
    del x
    z = torch.zeros(1000, device="cuda")
    assert z.data_ptr() != place  # `other` has not read it yet
    other.synchronize()
    assert y.cpu().tolist() == [2.0] * 1000
    assert torch.empty(1000, device="cuda").data_ptr() == place


def test_memory_for_other_libraries():
    before = cuda.memory_allocated()
    place = cuda.caching_allocator_alloc(1000)
    assert place and cuda.memory_allocated() - before == 1024
    cuda.caching_allocator_delete(place)
    assert cuda.memory_allocated() == before
    free, total = cuda.mem_get_info()
    assert 0 < free <= total
