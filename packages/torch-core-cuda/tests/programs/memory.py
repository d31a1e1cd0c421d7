"""Counters of memory, and what they follow."""

import gc

import torch
from programs.checks import devices, raises, two_devices
from torch import cuda


def counters_follow_what_is_held():
    for i in devices():
        gc.collect()
        cuda.synchronize(i)
        cuda.empty_cache()
        cuda.reset_peak_memory_stats(i)
        start, held, most = cuda.memory_allocated(i), [], 0
        for n in (1, 100, 3000, 20_000, 300_000):
            held.append(cuda.FloatTensor(n) if i == 0 else torch.empty(n, device=f"cuda:{i}"))
            now = cuda.memory_allocated(i)
            assert now - start >= 4 * sum(x.numel() for x in held) and now % 512 == 0
            most = max(most, now)
            assert cuda.max_memory_allocated(i) == most <= cuda.memory_cached(i) <= cuda.max_memory_cached(i)
        cached = cuda.memory_cached(i)
        del held[1::2]
        assert cuda.memory_allocated(i) < most == cuda.max_memory_allocated(i) and cuda.memory_cached(i) == cached
        held.clear()
        assert cuda.memory_allocated(i) == start
        cuda.empty_cache()
        assert cuda.memory_cached(i) < cached and cuda.max_memory_cached(i) >= cached
        cuda.reset_max_memory_allocated(i)
        cuda.reset_max_memory_cached(i)
        assert cuda.max_memory_allocated(i) == start


def counters_of_devices_are_their_own():
    two_devices()
    before = cuda.memory_allocated(0), cuda.memory_allocated(1)
    x = torch.empty(5000, device="cuda:1")
    assert cuda.memory_allocated(0) == before[0] and cuda.memory_allocated("cuda:1") - before[1] == 20_480
    with cuda.device(1):
        assert cuda.memory_allocated() == cuda.memory_allocated(1)
        y = torch.empty(10, device="cuda:0")
    assert cuda.memory_allocated(torch.device("cuda", 0)) - before[0] == 512
    del x, y
    assert (cuda.memory_allocated(0), cuda.memory_allocated(1)) == before


def statistics_have_their_names():
    torch.ones(10, device="cuda").sum().item()
    stats = cuda.memory_stats()
    for name in ("allocated_bytes", "reserved_bytes", "active_bytes", "inactive_split_bytes", "requested_bytes"):
        for pool in ("all", "small_pool", "large_pool"):
            for kind in ("current", "peak", "allocated", "freed"):
                assert stats[f"{name}.{pool}.{kind}"] >= 0
    for name in ("allocation", "segment", "active", "inactive_split"):
        assert stats[f"{name}.all.allocated"] - stats[f"{name}.all.freed"] == stats[f"{name}.all.current"]
    for name in ("num_alloc_retries", "num_ooms", "num_sync_all_streams", "num_device_alloc", "num_device_free"):
        assert isinstance(stats[name], int), name
    assert stats["num_device_alloc"] >= 1
    made = stats["num_device_alloc"]
    x = torch.empty(60 << 20, dtype=torch.uint8, device="cuda")
    assert cuda.memory_stats()["num_device_alloc"] == made + 1
    del x
    cuda.empty_cache()
    after = cuda.memory_stats()
    assert after["num_device_free"] >= 1 and after["num_sync_all_streams"] >= stats["num_sync_all_streams"]
    assert "cuda" in cuda.memory_summary().lower() and cuda.memory_snapshot() is not None


def memory_is_given_out_again_in_a_stream():
    x = torch.randn(30_000, device="cuda")
    place = x.data_ptr()
    del x
    y = torch.empty(30_000, device="cuda")
    assert y.data_ptr() == place
    side = cuda.Stream()
    del y
    with cuda.stream(side):
        assert torch.empty(30_000, device="cuda").data_ptr() != place


def too_much_memory_is_refused_and_work_goes_on():
    raises(RuntimeError, "out of memory", lambda: torch.empty(1 << 50, dtype=torch.uint8, device="cuda"))
    assert torch.ones(3, device="cuda").sum().item() == 3
    raises(RuntimeError, "negative", lambda: torch.empty(-1, device="cuda"))


def tensors_that_are_gone_hold_nothing():
    gc.collect()
    cuda.synchronize()
    before = cuda.memory_allocated()
    for _ in range(3):
        x = torch.randn(100, 100, device="cuda")
        y = (x @ x).relu().sum(0).cpu()
    x = [x, x.view(-1), x[3]]
    del x, y
    assert cuda.memory_allocated() == before
