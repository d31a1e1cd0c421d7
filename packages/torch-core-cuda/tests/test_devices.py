"""Devices: several of them, none, and after a fork. Each case is a process of its own, whose layer has other settings."""

import os
import subprocess
import sys
import textwrap

import pytest
import torch
from torch import cuda


def run(program, settings="", **environment):
    """What a program prints."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(program)],
        env=os.environ | {"TORCH_CUDA_HOST": settings} | environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_questions():
    assert cuda.is_available() and cuda.device_count() == 1 and cuda.current_device() == 0
    assert cuda.get_device_capability() == (9, 0) and "execution model" in cuda.get_device_name()
    assert cuda.get_device_properties(0).total_memory == 4 << 30
    assert "multi_processor_count=4" in repr(cuda.get_device_properties("cuda"))
    assert cuda.get_arch_list() == [] and cuda.is_bf16_supported() and cuda.is_initialized()
    with pytest.raises(RuntimeError, match="there is no cuda:5; there is only cuda:0"):
        torch.empty(2, device="cuda:5")
    with pytest.raises(RuntimeError, match="there is no cuda:1"):
        cuda.set_device(1)
    with pytest.raises(ValueError, match="expected a CUDA device, got cpu"):
        cuda.get_device_name("cpu")
    for pair, said in (
        ((0, -2), "invalid peer device id -2"),
        ((3, 0), "invalid device id 3; there are cuda:0 to cuda:0"),
    ):
        with pytest.raises(AssertionError, match=said):
            cuda.can_device_access_peer(*pair)


def test_several_devices():
    said = run(
        """
        import torch
        x = torch.arange(3.0, device="cuda:1")
        print(torch.cuda.device_count(), x.device, torch.cuda.current_device())
        with torch.cuda.device(1):
            print(torch.zeros(1, device="cuda").device, torch.cuda.current_device())
        with torch.cuda.device_of(x):
            print(torch.cuda.current_device())
        y = x.to("cuda:0")
        print(y.device, y.tolist(), (y * 2).to("cuda:1").t().tolist())
        print(torch.arange(4, device="cuda:1").reshape(2, 2).t().to("cuda:0", torch.int8).tolist())
        print(torch.cuda.memory_allocated(0), torch.cuda.memory_allocated(1))
        try:
            x + y
        except RuntimeError as error:
            print(error)
        s = torch.cuda.Stream(1)
        with torch.cuda.stream(s):
            print(torch.cuda.current_device(), torch.cuda.current_stream() == s, torch.cuda.current_stream(0) == s)
        """,
        "devices=2,lazy,guard",
    ).splitlines()
    assert said == [
        "2 cuda:1 0",
        "cuda:1 1",
        "1",
        "cuda:0 [0.0, 1.0, 2.0] [0.0, 2.0, 4.0]",
        "[[0, 2], [1, 3]]",
        "512 512",
        "add: Expected all tensors to be on the same device, but found at least two devices, cuda:1 and cuda:0! "
        'Move one of them with .to("cuda:1")',
        "1 True False",
    ]


def test_without_a_device_every_face_gives_the_reason():
    said = run(
        """
        import torch
        print(torch.cuda.is_available(), torch.cuda.device_count(), torch.cuda.memory_allocated())
        for ask in (torch.cuda.current_device, torch.cuda.synchronize, lambda: torch.ones(2, device="cuda"),
                    lambda: torch.ones(2, device="cuda:0"), lambda: torch.ones(2).cuda(), torch.cuda.Stream):
            try:
                ask()
            except RuntimeError as error:
                print(error)
        """,
        "devices=0",
    ).splitlines()
    assert said[0] == "False 0 0" and len(said) == 7
    assert all(
        "CUDA cannot be used: CUDA finds no device: no CUDA-capable device is detected" in line for line in said[1:]
    )


def test_a_driver_that_is_too_old_is_named_with_the_one_to_install():
    said = run(
        """
        import torch
        print(torch.cuda.is_available())
        try:
            torch.ones(2, device="cuda")
        except RuntimeError as error:
            print(error)
        """,
        "driver=12040",
    ).splitlines()
    why = "NVIDIA's driver is for CUDA 12.4, older than CUDA 13.0 needs: install 580 or later"
    assert said == ["False", f"CUDA cannot be used: {why}"]


def test_what_was_made_before_a_reset_of_the_device_is_gone_and_that_is_said():
    said = run(
        """
        import torch
        from torch._cuda import _native

        def told(f):
            try:
                return f()
            except RuntimeError as error:
                return str(error).partition("; ")[2]

        x, stream, event = torch.ones(4, device="cuda"), torch.cuda.Stream(), torch.cuda.Event()
        event.record()
        _native.device_reset()
        print(told(stream.synchronize))
        print(told(event.query))
        print(told(lambda: (x + 1).tolist()))
        """,
        "guard",
    ).splitlines()
    assert len(said) == 3
    assert all("destroyed, by its owner or by a reset of the device" in line for line in said[:2])
    assert "made before the device was reset: begin a new process" in said[2]


def test_a_stream_that_is_gone_and_memory_that_is_no_allocation_are_named():
    stream = cuda.ExternalStream(0x12345678)
    with pytest.raises(RuntimeError, match="invalid resource handle .*; the stream or event was destroyed"):
        stream.synchronize()
    with pytest.raises(RuntimeError, match=r"caching_allocator_delete: there is no memory at \d+ that"):
        cuda.caching_allocator_delete(torch.ones(3).data_ptr())


def test_a_child_of_a_fork_is_told():
    said = run(
        """
        import os, torch
        x = torch.ones(2, device="cuda")
        if os.fork() == 0:
            try:
                torch.ones(2, device="cuda")
            except RuntimeError as error:
                print(error, flush=True)
            os._exit(0)
        os.wait()
        print(x.tolist())
        """
    )
    assert (
        "Cannot re-initialize CUDA in forked subprocess" in said
        and "'spawn' start method" in said
        and "[1.0, 1.0]" in said
    )


def test_generators():
    cuda.manual_seed_all(5)
    assert cuda.initial_seed() == 5
    state = cuda.get_rng_state()
    cuda.seed()
    assert cuda.initial_seed() != 5
    cuda.set_rng_state(state)
    assert cuda.initial_seed() == 5 and len(cuda.get_rng_state_all()) == 1
    cuda.set_rng_state_all([state])
    with pytest.raises(ValueError, match="2 states for 1 devices"):
        cuda.set_rng_state_all([state, state])
    assert torch.Generator(device="cuda").device == torch.device("cuda", 0)
