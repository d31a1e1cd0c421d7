"""Memory and events of a device in several processes: sent by handles, kept as long as the receiver uses them."""

import gc
import tempfile
import textwrap
from pathlib import Path

import pytest
import torch
from test_devices import run
from torch import cuda

HEAD = """
import torch, torch.multiprocessing as mp
from torch import cuda
"""


def program(text: str, settings="", **environment) -> list[str]:
    """What a program prints that starts processes; they import it as a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "program.py")
        path.write_text(HEAD + textwrap.dedent(text))
        start = f"import subprocess, sys; sys.exit(subprocess.run([sys.executable, {str(path)!r}]).returncode)"
        return run(start, settings, **environment).splitlines()


def test_a_tensor_is_the_same_memory_in_another_process():
    pytest.importorskip("torch.multiprocessing")
    said = program(
        """
        def work(queue, back):
            x, y = queue.get(), queue.get()
            x += y.sum()
            cuda.synchronize()
            back.put((x.device, y.stride(), x.requires_grad))
            del x, y

        if __name__ == "__main__":
            mp.set_start_method("spawn")
            queue, back = mp.Queue(), mp.Queue()
            x = torch.arange(4.0, device="cuda")
            y = torch.ones(6, device="cuda").view(2, 3).t()[1:]
            process = mp.Process(target=work, args=(queue, back))
            process.start()
            queue.put(x), queue.put(y)
            print(back.get(timeout=100))
            process.join()
            print(x.tolist(), process.exitcode)
            from torch._cuda import sharing
            cuda.ipc_collect()
            print(len(sharing._sender.kept))
        """
    )
    assert said == ["(device(type='cuda', index=0), (1, 3), False)", "[4.0, 5.0, 6.0, 7.0] 0", "0"]


def test_a_receiver_waits_for_the_senders_work_and_events_cross():
    pytest.importorskip("torch.multiprocessing")
    said = program(
        """
        def work(connection, event):
            x = connection.recv()
            event.wait()
            print(x.tolist(), event.query(), flush=True)
            connection.send(x * 0 + 3)
            connection.recv()

        if __name__ == "__main__":
            context = mp.get_context("spawn")
            ours, theirs = context.Pipe()
            event = cuda.Event(interprocess=True)
            x = torch.full((3,), 2.0, device="cuda")
            event.record()
            process = context.Process(target=work, args=(theirs, event))
            process.start()
            ours.send(x)
            print(ours.recv().tolist(), flush=True)
            ours.send("done")
            process.join()
        """
    )
    assert said == ["[2.0, 2.0, 2.0] True", "[3.0, 3.0, 3.0]"]


def test_the_sender_keeps_what_it_sent():
    pytest.importorskip("torch.multiprocessing")
    said = program(
        """
        def work(queue, back):
            x = queue.get()
            back.put("here")
            queue.get()
            back.put(x.tolist())

        if __name__ == "__main__":
            context = mp.get_context("spawn")
            queue, back = context.Queue(), context.Queue()
            process = context.Process(target=work, args=(queue, back))
            process.start()
            queue.put(torch.full((2,), 5.0, device="cuda"))
            back.get(timeout=100)
            fill = [torch.zeros(2, device="cuda") for _ in range(100)]
            cuda.synchronize()
            queue.put("go on")
            print(back.get(timeout=100))
            process.join()
        """
    )
    assert said == ["[5.0, 5.0]"]


def test_what_cannot_be_sent_says_so():
    reductions = pytest.importorskip("torch.multiprocessing.reductions")
    x = torch.ones(3, device="cuda")
    rebuild, args = reductions.reduce_tensor(x)
    assert rebuild(*args).data_ptr() == x.data_ptr()  # within the process it is itself
    with pytest.raises(RuntimeError, match="only an event made with interprocess=True"):
        cuda.Event().ipc_handle()
    with pytest.raises(ValueError, match="has no time"):
        cuda.Event(enable_timing=True, interprocess=True)
    with pytest.raises(ValueError, match="a handle has 64 bytes, this one 3"):
        cuda.Event.from_ipc_handle(0, b"abc")
    rebuild, args = reductions.reduce_tensor(torch.empty(0, 3, device="cuda"))
    assert rebuild(*args).shape == (0, 3)
    gc.collect()
