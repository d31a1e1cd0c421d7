"""What the allocator counts and shows, pools of one's own, and the record of what it did."""

import gc
import pickle
import shutil
import subprocess

import pytest
import torch
from test_devices import run
from torch import cuda
from torch._cuda import _native


def test_statistics_have_the_names_that_programs_ask_for():
    gc.collect()
    x, y = torch.empty(1000, device="cuda"), torch.empty(3 << 20, dtype=torch.uint8, device="cuda")
    stats = cuda.memory_stats()
    for name in ("active", "allocation", "segment", "inactive_split"):
        for kind in ("", "_bytes") if name != "segment" else ("",):
            for pool in ("all", "small_pool", "large_pool"):
                for what in ("current", "peak", "allocated", "freed"):
                    key = {"allocation_bytes": "allocated_bytes"}.get(name + kind, name + kind)
                    assert f"{key}.{pool}.{what}" in stats
    assert stats["allocated_bytes.all.current"] == sum(
        stats[f"allocated_bytes.{pool}.current"] for pool in ("small_pool", "large_pool")
    )
    assert stats["allocated_bytes.large_pool.current"] >= 3 << 20 and stats["allocation.small_pool.current"] >= 1
    assert stats["num_device_alloc"] >= 2 and "num_ooms" in stats and x.numel() and y.numel()


def test_a_block_that_another_stream_may_use_is_active():
    _native.configure(lazy=True)
    side, x = cuda.Stream(), torch.ones(1000, device="cuda")
    with cuda.stream(side):
        x + 1
    x.record_stream(side)
    before = cuda.memory_stats()
    place = x.data_ptr()
    del x
    after = cuda.memory_stats()
    assert before["allocation.all.current"] - after["allocation.all.current"] == 1
    assert before["active.all.current"] == after["active.all.current"]
    (block,) = [b for s in cuda.memory_snapshot() for b in s["blocks"] if b["address"] == place]
    assert block["state"] == "active_awaiting_free"
    cuda.synchronize()
    torch.ones(1, device="cuda")
    assert cuda.memory_stats()["active.all.current"] == after["active.all.current"] - 1


def test_a_pool_keeps_its_allocations_apart():
    gc.collect()
    pool = cuda.MemPool()
    with cuda.use_mem_pool(pool):
        x = torch.ones(1000, device="cuda")
    y = torch.ones(1000, device="cuda")
    (segment,) = pool.snapshot()
    places = [b["address"] for b in segment["blocks"] if b["state"] == "active_allocated"]
    assert places == [x.data_ptr()] and segment["segment_pool_id"] == pool.id and pool.allocator is None
    assert not segment["address"] <= y.data_ptr() < segment["address"] + segment["total_size"]
    del x
    cuda.empty_cache()
    assert len(pool.snapshot()) == 1  # kept for what comes next
    del pool
    gc.collect()
    cuda.empty_cache()
    assert {s["segment_pool_id"] for s in cuda.memory_snapshot()} <= {(0, 0)}


def test_what_does_not_exist_says_what_does():
    with pytest.raises(OSError, match="alloc.so"):
        cuda.CUDAPluggableAllocator("alloc.so", "alloc", "free")
    with pytest.raises(TypeError, match="expected a CUDAPluggableAllocator, got NoneType"):
        cuda.memory.change_current_allocator(None)
    with pytest.raises(TypeError, match="expected a torch.cuda.MemPool, got int"):
        cuda.use_mem_pool(3)
    with pytest.raises(NotImplementedError, match="opens no cuBLAS"):
        cuda.current_blas_handle()


def test_allocations_are_recorded(tmp_path):
    cuda.memory._record_memory_history(max_entries=100)
    x = torch.empty(77, device="cuda")
    place = x.data_ptr()
    del x
    cuda.memory._dump_snapshot(tmp_path / "memory.pickle")
    cuda.memory._record_memory_history(None)
    seen = pickle.loads((tmp_path / "memory.pickle").read_bytes())
    actions = [(e["action"], e["size"]) for e in seen["device_traces"][0] if e["addr"] == place]
    assert actions[-3:] == [("alloc", 308), ("free_requested", 308), ("free_completed", 308)]
    assert seen["segments"] and not cuda.memory._snapshot()["device_traces"][0]


def test_waits_are_told_of_on_request():
    x = torch.ones(3, device="cuda")
    cuda.set_sync_debug_mode("error")
    try:
        assert cuda.get_sync_debug_mode() == 2
        with pytest.raises(RuntimeError, match="called a synchronizing CUDA operation"):
            x.sum().item()
        cuda.set_sync_debug_mode("warn")
        with pytest.warns(UserWarning, match="called a synchronizing CUDA operation"):
            assert x.sum().item() == 3
        with pytest.raises(RuntimeError, match="expected one of 'default', 'warn', 'error', got 'loud'"):
            cuda.set_sync_debug_mode("loud")
    finally:
        cuda.set_sync_debug_mode(0)
    assert x.sum().item() == 3


ALLOCATOR = r"""
#include <stddef.h>
#include <sys/types.h>
static long held, most;
static int (*of_cuda)(void**, size_t);
static int (*to_cuda)(void*);
extern "C" void begin(int (*take)(void**, size_t), int (*give)(void*)) { of_cuda = take, to_cuda = give; }
extern "C" void* take(ssize_t size, int device, void* stream) {
  held += size;
  if (held > most) most = held;
  void* data = nullptr;
  return size > 1 << 20 || of_cuda(&data, size_t(size)) ? nullptr : data;
}
extern "C" void give(void* data, ssize_t size, int device, void* stream) { held -= size; to_cuda(data); }
extern "C" long held_now() { return held; }
extern "C" long held_most() { return most; }
"""


def test_a_library_of_the_program_gives_all_memory(tmp_path):
    compiler = shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    (tmp_path / "allocator.cpp").write_text(ALLOCATOR)
    library = tmp_path / "allocator.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, tmp_path / "allocator.cpp"], check=True)
    said = run(
        f"""
        import ctypes, os, torch
        library, cuda = ctypes.CDLL({str(library)!r}), ctypes.CDLL(os.environ["TORCH_CUDA_HOST_FORM"])
        library.begin(cuda.cudaMalloc, cuda.cudaFree)
        own = torch.cuda.memory.CUDAPluggableAllocator({str(library)!r}, "take", "give")
        try:
            torch.cuda.CUDAPluggableAllocator({str(library)!r}, "nothing", "give")
        except AttributeError as error:
            print("nothing" in str(error))
        torch.cuda.memory.change_current_allocator(own)
        x = torch.ones(1000, device="cuda")
        s = torch.cuda.Stream()
        with torch.cuda.stream(s):
            y = x @ x
        x.record_stream(s)
        print(library.held_now(), y.item(), torch.sort(x)[0].sum().item(), torch.cuda.memory_allocated())
        del x, y
        print(library.held_now(), library.held_most() > 4000)
        try:
            torch.ones(1 << 20, device="cuda")
        except torch.OutOfMemoryError as error:
            print(error)
        try:
            torch.cuda.memory.change_current_allocator(own)
        except RuntimeError as error:
            print(error)
        """
    ).splitlines()
    assert said[0] == "True" and said[1] == "4004 1000.0 1000.0 0" and said[2] == "0 True"
    assert said[3].startswith("CUDA out of memory. Tried to allocate 4194304 bytes on cuda:0")
    assert "Can't swap an already initialized allocator" in said[4]


def test_an_allocator_comes_before_the_first_tensor():
    said = run(
        """
        import torch
        torch.ones(1, device="cuda")
        own = torch.cuda.CUDAPluggableAllocator("libc.so.6", "malloc", "free")
        try:
            torch.cuda.memory.change_current_allocator(own)
        except RuntimeError as error:
            print(error)
        """
    )
    assert "call it before the first tensor of CUDA is made" in said
