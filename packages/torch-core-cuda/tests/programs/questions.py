"""Storages, other libraries, questions about devices."""

import tempfile

import numpy as np
import torch
from programs.checks import devices, part, raises
from torch import cuda


def storages_are_read_written_and_moved():
    s = cuda.FloatStorage(5).fill_(2)
    s[1] = 7
    assert s.tolist() == [2, 7, 2, 2, 2] and s[1] == 7 and len(s) == 5 and s.is_cuda and s.get_device() == 0
    assert s.cpu().tolist() == s.tolist() and s.clone().tolist() == s.tolist() and s.element_size() == 4
    x = cuda.FloatTensor(s)
    assert x.data_ptr() == s.data_ptr() and x.storage().data_ptr() == s.data_ptr()
    s.resize_(7)
    assert len(s) == 7 and s[1] == 7 and x.storage_offset() == 0
    assert torch.ones(3, device="cuda")[1:].storage_offset() == 1
    if len(devices()) > 1:
        assert s.cuda(1).get_device() == 1 and torch.ones(2).cuda(1).storage().get_device() == 1


def a_capsule_hands_memory_over():
    dlpack = part("torch.utils.dlpack")
    for i in devices():
        x = torch.arange(4.0, device=f"cuda:{i}")
        y = dlpack.from_dlpack(dlpack.to_dlpack(x))
        assert y.data_ptr() == x.data_ptr() and y.get_device() == i
        y[0] = 9
        assert x[0].item() == 9


def questions_about_devices():
    count = cuda.device_count()
    assert cuda.is_available() and count in (1, 2) and torch.version.cuda
    for i in range(count):
        p = cuda.get_device_properties(i)
        assert p.total_memory > 0 and p.multi_processor_count > 0 and cuda.get_device_name(i) == p.name
        assert cuda.get_device_capability(i) == (p.major, p.minor) == cuda.get_device_capability(f"cuda:{i}")
    for wrong in (count, 77):
        raises((AssertionError, RuntimeError), "", lambda w=wrong: cuda.get_device_properties(w))
        raises(RuntimeError, "cuda:", lambda w=wrong: torch.ones(1, device=f"cuda:{w}"))
        raises(RuntimeError, "cuda:", lambda w=wrong: torch.ones(1).cuda(w))
    if count > 1:
        assert isinstance(cuda.can_device_access_peer(0, 1), bool)
    x = torch.ones(1, device="cuda")
    with cuda.device_of(x):
        assert cuda.current_device() == x.get_device()
    with cuda.device_of(torch.ones(1)), cuda.device(-1), cuda.device(None):
        assert cuda.current_device() == 0


def switches_of_cudnn_are_there():
    cudnn = torch.backends.cudnn
    flags = cudnn.enabled, cudnn.benchmark, cudnn.deterministic
    with cudnn.flags(enabled=False, benchmark=True, deterministic=True):
        assert (cudnn.enabled, cudnn.benchmark, cudnn.deterministic) == (False, True, True)
        assert (
            torch.nn.functional.conv2d(torch.ones(1, 1, 3, 3).cuda(), torch.ones(1, 1, 2, 2).cuda()).sum().item() == 16
            if _has_nn()
            else True
        )
    assert (cudnn.enabled, cudnn.benchmark, cudnn.deterministic) == flags
    cudnn.benchmark = True
    assert cudnn.benchmark is True
    cudnn.benchmark = False
    assert isinstance(cudnn.is_available(), bool) and (cudnn.version() is None or cudnn.version() > 0)
    assert isinstance(torch.backends.cuda.matmul.allow_tf32, bool)


def _has_nn():
    try:
        import torch.nn  # noqa: F401
    except ImportError:
        return False
    return True


def ranges_for_a_profiler_may_be_named_without_one():
    cuda.nvtx.range_push("foo")
    cuda.nvtx.mark("bar")
    cuda.nvtx.range_pop()


def collectives_without_nccl_say_what_there_is():
    nccl = cuda.nccl
    x = [torch.full((3,), float(i + 1), device=f"cuda:{i}") for i in devices()]
    total = sum(range(1, len(x) + 1))
    nccl.all_reduce(x)
    assert all(t.tolist() == [total] * 3 for t in x)
    nccl.broadcast(x)
    out = torch.zeros(3, device="cuda")
    nccl.reduce(x, out)
    assert out.tolist() == [total * len(x)] * 3
    gathered = [torch.zeros(3 * len(x), device=t.device) for t in x]
    nccl.all_gather(x, gathered)
    assert all(g.tolist() == [total] * 3 * len(x) for g in gathered)
    raises((RuntimeError, TypeError, ValueError), "", lambda: nccl.all_reduce([torch.ones(3)]))


def the_runtime_answers():
    runtime = cuda.cudart()
    assert runtime is not None
    cuda.check_error(0)
    raises(cuda.CudaError, "2", lambda: cuda.check_error(2))
    assert isinstance(cuda.get_arch_list(), list)


def files_of_arrays_are_read_into_device_memory():
    with tempfile.NamedTemporaryFile() as f:
        np.arange(5.0).tofile(f.name)
        assert torch.from_numpy(np.fromfile(f.name)).cuda().sum().item() == 10
