"""Values that are computed when they are first asked for: torch.jit._awaitable."""

import torch


def test_a_call_is_made_once_and_when_its_result_is_asked_for():
    calls = []

    def slow(x):
        calls.append(1)
        return x * 2

    late = torch.jit._awaitable(slow, torch.ones(2))
    assert not calls and isinstance(late, torch._C._Await) and late.args()[0].sum() == 2
    assert late.shape == (2,) and torch.jit._awaitable_wait(late).tolist() == [2, 2] and len(calls) == 1
    there = torch.jit._awaitable_nowait(3)
    assert there.is_nowait() and torch.jit._awaitable_wait(there) == 3


def double(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def test_scripts_take_and_give_them():
    from torch._awaits import _Await

    def give(x: torch.Tensor) -> _Await[torch.Tensor]:
        return torch.jit._awaitable(double, x)

    def use(x: torch.Tensor):
        late = torch.jit._awaitable(double, x)
        there = torch.jit._awaitable_nowait(1)
        return torch.jit._awaitable_wait(late) + torch.jit._awaitable_wait(there)

    assert torch.jit._awaitable_wait(torch.jit.script(give)(torch.ones(1))).item() == 2
    assert torch.jit.script(use)(torch.ones(1)).item() == 3
