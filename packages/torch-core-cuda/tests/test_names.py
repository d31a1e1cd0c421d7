"""Names of ``torch.cuda``, of 2018 and of today: they are there with a device, without one, and without the plug-in."""

import inspect
import os
import subprocess
import sys

import pytest
import torch

NAMES = """
ByteTensor CharTensor DoubleTensor Event.BLOCKING_SYNC Event.DEFAULT Event.DISABLE_TIMING Event.INTERPROCESS
FloatTensor HalfTensor IntTensor LongTensor ShortTensor sparse.DoubleTensor Stream.priority ByteStorage CharStorage
DoubleStorage EventHandle FloatStorage HalfStorage IntStorage LongStorage nccl.NcclComm profiler.cudaOutputMode
ShortStorage sparse.ByteTensor sparse.CharTensor sparse.FloatTensor sparse.HalfTensor sparse.IntTensor
sparse.LongTensor sparse.ShortTensor BFloat16Tensor BoolTensor OutOfMemoryError nccl.NcclError
nvtx.windows_nvToolsExt_lib nvtx.windows_nvToolsExt_path
"""
CALLED = """
comm.broadcast(tensor, devices, *, out)
comm.broadcast_coalesced(tensors, devices, buffer_size)
comm.gather(tensors, dim, destination, *, out)
comm.reduce_add(inputs, destination)
comm.scatter(tensor, devices, chunk_sizes, dim, streams, *, out)
current_device()
empty_cache()
Event(enable_timing, blocking, interprocess, external)
Event.elapsed_time(end_event)
Event.ipc_handle()
Event.query()
Event.record(stream)
Event.synchronize()
Event.wait(stream)
get_rng_state(device)
initial_seed()
is_available()
manual_seed(seed)
manual_seed_all(seed)
max_memory_allocated(device)
max_memory_cached(device)
memory_allocated(device)
memory_cached(device)
nvtx.mark(msg)
nvtx.range_pop()
nvtx.range_push(msg)
seed()
seed_all()
set_rng_state(new_state, device)
Stream(device, priority, **kwargs)
Stream.priority_range()
Stream.query()
Stream.record_event(event)
Stream.synchronize()
Stream.wait_event(event)
Stream.wait_stream(stream)
check_error(res)
comm.reduce_add_coalesced(inputs, destination, buffer_size)
CudaError(code)
cudart()
current_blas_handle()
current_stream(device)
device(device)
device_count()
device_of(obj)
get_device_capability(device)
get_device_name(device)
get_device_properties(device)
get_rng_state_all()
init()
nccl.all_gather(inputs, outputs, streams, comms)
nccl.all_reduce(inputs, outputs, op, streams, comms)
nccl.broadcast(inputs, root, streams, comms)
nccl.check_error(status)
nccl.communicator(inputs, outputs)
nccl.cudaStream()
nccl.init_rank(num_ranks, uid, rank)
nccl.is_available(tensors)
nccl.NcclCommList(devices)
nccl.reduce(inputs, output, root, op, streams, comms, *, outputs)
nccl.reduce_scatter(inputs, outputs, op, streams, comms)
nccl.unique_id()
nccl.version()
profiler.init(output_file, flags, output_mode)
profiler.profile()
profiler.start()
profiler.stop()
set_device(device)
set_rng_state_all(new_states)
stream(stream)
synchronize(device)
amp.autocast(enabled, dtype, cache_enabled)
amp.custom_bwd(bwd)
amp.custom_fwd(fwd, *, cast_inputs)
amp.GradScaler(init_scale, growth_factor, backoff_factor, growth_interval, enabled)
can_device_access_peer(device, peer_device)
CUDAGraph(keep_graph)
CUDAGraph.capture_begin(pool, capture_error_mode, check_input_liveness)
CUDAGraph.capture_end()
CUDAGraph.pool()
CUDAGraph.replay()
CUDAGraph.reset()
default_stream(device)
graph(cuda_graph, pool, stream, capture_error_mode, enable_annotations, check_input_liveness)
ipc_collect()
is_bf16_supported(including_emulation)
is_initialized()
make_graphed_callables(callables, sample_args, num_warmup_iters, allow_unused_input, pool)
max_memory_reserved(device)
mem_get_info(device)
memory_reserved(device)
memory_snapshot(mempool_id, include_traces)
memory_stats(device)
memory_summary(device, abbreviated)
nvtx.range(msg, *args, **kwargs)
reset_peak_memory_stats(device)
set_per_process_memory_fraction(fraction, device)
set_stream(stream)
utilization(device)
"""


def found(name):
    value = torch.cuda
    for part in name.split("."):
        value = getattr(value, part)
    return value


def differences():
    """What is missing, and calls that have other arguments."""
    wrong = []
    for name in NAMES.split():
        try:
            found(name)
        except AttributeError:
            wrong.append(f"there is no {name}")
    for line in CALLED.strip().splitlines():
        name, _, rest = line[:-1].partition("(")
        try:
            have = dict(inspect.signature(found(name)).parameters)
        except AttributeError:
            wrong.append(f"there is no {name}")
            continue
        have.pop("self", None)
        kinds = {p.kind for p in have.values()}
        anywhere = inspect.Parameter.VAR_POSITIONAL in kinds, inspect.Parameter.VAR_KEYWORD in kinds
        before, _, by_name = rest.partition("*, ")
        places = [n for n, p in have.items() if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
        wanted = [n for n in before.rstrip(", ").split(", ") if n and not n.startswith("*")]
        if wanted[: len(places)] != places[: len(wanted)] or (len(wanted) > len(places) and not anywhere[0]):
            wrong.append(f"{name}: {places} for {wanted}")
        wrong += [
            f"{name}: no {n}"
            for n in by_name.split(", ")
            if n and n not in have and n != "**kwargs" and not anywhere[1]
        ]
    return wrong


def test_names_and_arguments_are_there():
    assert len(NAMES.split()) + len(CALLED.strip().splitlines()) == 137
    assert differences() == []


@pytest.mark.parametrize("installed", [True, False])
def test_they_are_there_without_a_device(installed):
    settings = os.environ | {"TORCH_CUDA_HOST": "devices=0"}
    if not installed:
        del settings["TORCH_CUDA_HOST_FORM"]
        settings["PYTHONPATH"] = os.pathsep.join(
            p for p in settings.get("PYTHONPATH", "").split(os.pathsep) if "torch-core-cuda" not in p
        )
    program = "import test_names, torch; print(torch.cuda.is_available(), test_names.differences())"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        env=settings,
        cwd=os.path.dirname(__file__),
        capture_output=True,
        text=True,
    )
    assert done.stdout == "False []\n", done.stdout + done.stderr
