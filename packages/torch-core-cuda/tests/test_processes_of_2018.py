"""Programs of 2018 with several processes, which share a device or have two."""

import pytest
from test_sharing import program

pytest.importorskip("torch.multiprocessing", exc_type=ImportError)
SETTINGS = ("devices=2", "devices=2,guard,order=5,lazy")


@pytest.mark.parametrize("settings", SETTINGS)
def test_pieces_of_one_memory_stay_pieces_of_it(settings):
    said = program(
        """
        def work(queue, back):
            a, b, c, none = queue.get()
            b.fill_(7)
            cuda.synchronize()
            back.put((a.tolist(), a.data_ptr() + 8 == b.data_ptr(), c.stride(), c[0].tolist(), tuple(none.shape), str(none.device)))
            queue.get()

        if __name__ == "__main__":
            context = mp.get_context("spawn")
            queue, back = context.Queue(), context.Queue()
            process = context.Process(target=work, args=(queue, back))
            process.start()
            x = torch.arange(6.0, device="cuda")
            queue.put((x[:4], x[2:], x.view(2, 3).t(), torch.empty(0, 3, device="cuda")))
            print(back.get(timeout=100))
            print(x.tolist())
            queue.put(0)
            process.join()
        """,
        settings,
    )
    assert said == [
        "([0.0, 1.0, 7.0, 7.0], True, (1, 3), [0.0, 7.0], (0, 3), 'cuda:0')",
        "[0.0, 1.0, 7.0, 7.0, 7.0, 7.0]",
    ]


@pytest.mark.parametrize("settings", SETTINGS)
def test_small_tensors_of_every_dtype_arrive_from_each_device(settings):
    said = program(
        """
        KINDS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.half, torch.float, torch.double, torch.bool)

        def work(queue, back):
            for _ in range(2 * len(KINDS)):
                x = queue.get()
                back.put((x.get_device(), x.dtype, x.sum().item()))
                del x

        if __name__ == "__main__":
            context = mp.get_context("spawn")
            queue, back = context.Queue(), context.Queue()
            process = context.Process(target=work, args=(queue, back))
            process.start()
            sent = [torch.ones(3, device=f"cuda:{i}").to(kind) for i in range(2) for kind in KINDS]
            for x in sent:
                queue.put(x)
            found = [back.get(timeout=100) for _ in sent]
            process.join()
            print(all(f == (x.get_device(), x.dtype, 3) for f, x in zip(found, sent)), process.exitcode)
        """,
        settings,
    )
    assert said == ["True 0"]


@pytest.mark.parametrize("settings", SETTINGS)
def test_processes_train_one_module(settings):
    pytest.importorskip("torch.optim", exc_type=ImportError)
    said = program(
        """
        from torch import nn

        def work(net, turn, done):
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            for _ in range(3):
                with turn:
                    optimizer.zero_grad()
                    net(torch.ones(2, 2, device="cuda")).sum().backward()
                    optimizer.step()
                    cuda.synchronize()
            done.wait()

        if __name__ == "__main__":
            context = mp.get_context("spawn")
            turn, done = context.Lock(), context.Event()
            net = nn.Linear(2, 1).cuda()
            with torch.no_grad():
                net.weight.fill_(10), net.bias.fill_(10)
            net.share_memory()
            several = [context.Process(target=work, args=(net, turn, done)) for _ in range(2)]
            for p in several:
                p.start()
            while net.bias.item() > 8.801:
                pass
            done.set()
            for p in several:
                p.join()
            print([round(v, 3) for v in net.weight[0].tolist()], round(net.bias.item(), 3), net.weight.is_leaf, [p.exitcode for p in several])
        """,
        settings,
    )
    assert said == ["[8.8, 8.8] 8.8 True [0, 0]"]


def test_what_came_from_another_process_is_sent_on_as_a_copy():
    said = program(
        """
        def work(queue, back):
            x = queue.get()
            try:
                back.send(x)
            except RuntimeError as error:
                print("clone()" in str(error), flush=True)
            back.send(x.clone())
            queue.get()

        if __name__ == "__main__":
            context = mp.get_context("spawn")
            queue = context.Queue()
            ours, theirs = context.Pipe()
            process = context.Process(target=work, args=(queue, theirs))
            process.start()
            queue.put(torch.full((3,), 4.0, device="cuda"))
            print(ours.recv().tolist(), flush=True)
            queue.put(0)
            process.join()
        """
    )
    assert said == ["True", "[4.0, 4.0, 4.0]"]


def test_what_has_a_history_is_not_sent_and_leaves_are():
    said = program(
        """
        def work(queue, back):
            x = queue.get()
            back.put((x.requires_grad, x.is_leaf, x.grad is None))
            queue.get()

        if __name__ == "__main__":
            context = mp.get_context("spawn")
            queue, back = context.SimpleQueue(), context.SimpleQueue()
            process = context.Process(target=work, args=(queue, back))
            process.start()
            x = torch.ones(2, device="cuda").requires_grad_()
            try:
                queue.put(x * 2)
            except RuntimeError as error:
                print("detach()" in str(error), flush=True)
            queue.put(x)
            print(back.get(), flush=True)
            queue.put(0)
            process.join()
        """
    )
    assert said == ["True", "(True, True, True)"]


def test_a_pool_computes_on_the_device_and_a_fork_is_refused():
    said = program(
        """
        import os

        def double(x):
            return (x.cuda() * 2).cpu()

        def touch(_):
            try:
                return torch.ones(1, device="cuda").item()
            except RuntimeError as error:
                return "'spawn' start method" in str(error)

        if __name__ == "__main__":
            with mp.get_context("spawn").Pool(2) as pool:
                print([t.tolist() for t in pool.map(double, [torch.ones(2) * k for k in range(3)])], flush=True)
            torch.ones(1, device="cuda")
            with mp.get_context("fork").Pool(1) as pool:
                print(pool.map(touch, [0]), flush=True)
        """
    )
    assert said == ["[[0.0, 0.0], [2.0, 2.0], [4.0, 4.0]]", "[True]"]


def test_a_sender_that_has_ended_is_named():
    said = program(
        """
        def work(back, x):
            back.put(torch.ones(2, device="cuda"))
            back.close(), back.join_thread()

        if __name__ == "__main__":
            context = mp.get_context("spawn")
            back = context.Queue()
            process = context.Process(target=work, args=(back, 0))
            process.start()
            process.join()
            try:
                print(back.get(timeout=100))
            except RuntimeError as error:
                print(f"the process {process.pid} that sent this CUDA tensor has ended" in str(error))
        """
    )
    assert said == ["True"]
