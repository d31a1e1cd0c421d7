"""What programs get wrong with devices, and what they are told."""

import torch
from programs.checks import raises, two_devices
from torch import cuda


def a_device_that_is_not_there_is_named():
    nowhere = cuda.device_count() + 5
    x = torch.ones(2, device="cuda")
    for call in (
        lambda: torch.ones(2, device=f"cuda:{nowhere}"), lambda: torch.ones(2).cuda(nowhere), lambda: x.cuda(nowhere),
        lambda: torch.ones(2).to(f"cuda:{nowhere}"), lambda: x.new_ones(2, device=nowhere), lambda: cuda.set_device(nowhere),
        lambda: cuda.Stream(nowhere), lambda: cuda.current_stream(nowhere), lambda: cuda.default_stream(nowhere),
        lambda: cuda.synchronize(nowhere), lambda: cuda.get_device_properties(nowhere), lambda: cuda.get_device_name(nowhere),
        lambda: cuda.get_device_capability(nowhere), lambda: cuda.mem_get_info(nowhere), lambda: cuda.get_rng_state(nowhere),
        lambda: cuda.can_device_access_peer(0, nowhere), lambda: torch.Generator(f"cuda:{nowhere}").manual_seed(1),
        lambda: cuda.device(nowhere).__enter__(), lambda: torch.empty(2, device="cpu").to(x.device.type + f":{nowhere}"),
        lambda: cuda.comm.broadcast(x, (0, nowhere)), lambda: torch.zeros_like(x, device=f"cuda:{nowhere}"),
    ):  # fmt: skip
        try:
            call()
        except (RuntimeError, AssertionError, ValueError) as error:
            assert str(nowhere) in str(error), error
        else:
            raise AssertionError("nothing was said")
        assert cuda.current_device() == 0
    raises(RuntimeError, "-3", lambda: torch.device("cuda:-3"))
    raises(RuntimeError, "cuda:x", lambda: torch.device("cuda:x"))
    assert (x + 1).tolist() == [2, 2]


def results_on_another_device_are_refused_and_nothing_is_written():
    x, y = torch.full((3, 3), 2.0, device="cuda"), torch.zeros(3, 3)
    others = [y] + ([y.cuda(1)] if cuda.device_count() > 1 else [])
    for out in others:
        for call in (
            lambda o: torch.add(x, 1, out=o), lambda o: torch.mm(x, x, out=o), lambda o: torch.cat([x[:2], x[2:]], out=o),
            lambda o: torch.exp(x, out=o), lambda o: torch.cumsum(x, 0, out=o), lambda o: torch.clamp(x, 0, 1, out=o),
            lambda o: torch.where(x > 1, x, x, out=o), lambda o: torch.linalg.inv(torch.eye(3, device="cuda"), out=o), lambda o: o.addmm_(x, x),
            lambda o: torch.index_select(x, 0, torch.tensor([0, 1, 2], device="cuda"), out=o), lambda o: torch.tril(x, out=o),
            lambda o: o.masked_fill_(x > 1, 3), lambda o: o.index_add_(0, torch.tensor([0, 1, 2], device=o.device), x), lambda o: o.lerp_(x, 0.5),
            lambda o: o.addcmul_(x, x), lambda o: o.scatter_(0, torch.zeros(3, 3, dtype=torch.long, device=o.device), x), lambda o: torch.stack([x[0]] * 3, out=o),
        ):  # fmt: skip
            raises(RuntimeError, "cuda:0", lambda call=call, out=out: call(out))
            assert not out.any()
    assert torch.equal(x.cpu(), torch.full((3, 3), 2.0))


def numbers_of_the_cpu_go_along_and_other_tensors_do_not():
    x, two = torch.tensor([1.0, 4.0], device="cuda"), torch.tensor(2.0)
    for f in (torch.add, torch.mul, torch.sub, torch.div, torch.pow, torch.maximum, torch.eq, torch.fmod, torch.atan2):
        a, b = f(x, two), f(two, x)
        assert (
            a.is_cuda and b.is_cuda and torch.equal(a.cpu(), f(x.cpu(), two)) and torch.equal(b.cpu(), f(two, x.cpu()))
        )
    assert x.add_(two).tolist() == [3, 6] and torch.where(x > 4, x, two).tolist() == [2, 6]
    assert x.masked_fill(x > 4, two).tolist() == [3, 2] and torch.clamp(x, torch.tensor(4.0)).tolist() == [4, 6]
    x[0] = two
    assert x.tolist() == [2, 6]
    raises(RuntimeError, "cuda:0", lambda: two.add_(x[0]))  # the result would have to move
    raises(RuntimeError, "cuda:0", lambda: x + two[None])
    raises(RuntimeError, "cuda:0", lambda: torch.stack([x[0], two]))
    raises(RuntimeError, "cuda:0", lambda: torch.mv(x[None], two[None].expand(2)))
    if cuda.device_count() > 1:
        raises(RuntimeError, "cuda:1", lambda: x + two.cuda(1))


def streams_and_events_belong_to_a_device():
    two_devices()
    x = torch.ones(1000, device="cuda:0")
    s1, e0 = cuda.Stream(1), cuda.Event()
    with cuda.stream(s1):  # what is computed on device 0 goes to that device's stream
        y = x * 2
        assert y.get_device() == 0 and torch.ones(2, device="cuda").get_device() == 1
        assert cuda.current_stream(0) == cuda.default_stream(0)
    assert cuda.current_device() == 0 and y.sum().item() == 2000
    e0.record()
    raises(RuntimeError, "device", lambda: e0.record(s1))
    s1.wait_event(e0)
    s1.synchronize()
    timed = [cuda.Event(enable_timing=True) for _ in range(2)]
    raises(ValueError, "recorded", lambda: timed[0].elapsed_time(timed[1]))
    a, b = cuda.Event(), cuda.Event()
    a.record(), b.record()
    cuda.synchronize()
    raises(ValueError, "enable_timing", lambda: a.elapsed_time(b))
    x.record_stream(cuda.Stream(0))
    raises(TypeError, "", lambda: x.record_stream(3))


def values_that_are_asked_for_of_a_device_are_copied_or_refused_as_on_the_cpu():
    x = torch.tensor([1.0, 2.0], device="cuda")
    for call, error in (
        (lambda t: bool(t), RuntimeError), (lambda t: t.item(), RuntimeError), (lambda t: float(t), (RuntimeError, TypeError, ValueError)),
        (lambda t: range(t), TypeError), (lambda t: [0][t], TypeError), (lambda t: t.view(3), RuntimeError), (lambda t: t[5], IndexError),
        (lambda t: t.squeeze(4), IndexError), (lambda t: t + torch.ones(3, device=t.device), RuntimeError), (lambda t: t @ t[:1], RuntimeError),
        (lambda t: torch.zeros(2, 3, device=t.device).t().view(-1), RuntimeError), (lambda t: t.long() / "a", TypeError), (lambda t: t[:, 0], IndexError),
        (lambda t: t.expand(3), RuntimeError), (lambda t: t.index_select(0, t), (RuntimeError, IndexError)), (lambda t: t.sort(dim=3), IndexError),
    ):  # fmt: skip
        said = []
        for t in (x.cpu(), x):
            try:
                call(t)
            except error as raised:
                said.append(f"{type(raised).__name__}: {raised}")
            else:
                raise AssertionError("nothing was said")
        assert said[0] == said[1], said
    i = torch.tensor(2, device="cuda")
    assert (
        list(range(i)) == [0, 1]
        and [5, 6, 7][i] == 7
        and torch.arange(5)[:i].tolist() == [0, 1]
        and 2.0 in x
        and 7 not in x
    )
