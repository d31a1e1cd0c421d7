"""Interfaces: programs over objects and modules of several classes, and how modules save themselves."""

import copy
import io

import pytest
import torch
from torch import Tensor, nn


@torch.jit.interface
class Scale:
    def scale(self, x: Tensor, by: float) -> Tensor:
        pass


@torch.jit.script
class Twice:
    def __init__(self):
        self.calls = 0

    def scale(self, x: Tensor, by: float) -> Tensor:
        self.calls += 1
        return x * 2 * by


@torch.jit.script
class Plus:
    def __init__(self):
        self.by = 1

    def scale(self, x: Tensor, by: float) -> Tensor:
        return x + self.by + by


@torch.jit.script
class Other:
    def __init__(self):
        self.by = 1

    def scale(self, x: Tensor) -> Tensor:
        return x


@torch.jit.interface
class Layer(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pass


class AddOne(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + 1


class Weighted(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.full((2,), 3.0))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.weight


class TwoInputs(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x + y


class Holder(nn.Module):
    layer: Layer

    def __init__(self):
        super().__init__()
        self.layer = AddOne()

    def forward(self, x: Tensor) -> Tensor:
        return self.layer.forward(x) * 2


class Chooser(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([AddOne(), Weighted()])
        self.named = nn.ModuleDict({"add": AddOne(), "weigh": Weighted()})

    def forward(self, x: Tensor, i: int, name: str) -> Tensor:
        first: Layer = self.layers[i]
        second: Layer = self.named[name]
        return second.forward(first.forward(x))


class Stateful(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2))
        self.count = 3

    @torch.jit.export
    def __getstate__(self):
        return self.weight, self.count, self.training

    @torch.jit.export
    def __setstate__(self, state: tuple[Tensor, int, bool]):
        self.weight = state[0] * 2
        self.count = state[1] + 10
        self.training = state[2]

    def forward(self, x):
        return x * self.weight + self.count


def reloaded(module):
    file = io.BytesIO()
    torch.jit.save(module, file)
    return torch.jit.load(io.BytesIO(file.getvalue()))


def test_an_argument_of_an_interface_calls_the_method_of_its_own_class():
    @torch.jit.script
    def run(x, scale: Scale):
        return scale.scale(x, 0.5)

    assert run(torch.ones(1), Twice()).tolist() == [1.0]
    assert run(torch.ones(1), Plus()).tolist() == [2.5]


def test_objects_of_several_classes_stand_in_one_list_and_dict():
    @torch.jit.script
    def run(x):
        steps: list[Scale] = [Twice(), Plus()]
        named: dict[str, Scale] = {"twice": Twice()}
        for step in steps:
            x = step.scale(x, 1.0)
        return named["twice"].scale(x, 1.0)

    assert run(torch.ones(1)).tolist() == [8.0]


def test_a_class_without_the_method_of_an_interface_is_told_with_both_declarations():
    def run():
        steps: list[Scale] = [Other()]
        return len(steps)

    with pytest.raises(
        RuntimeError, match=r"is not compatible with interface(.|\n)*scale\(Tensor x\)(.|\n)*float by"
    ) as error:
        torch.jit.script(run)
    assert "steps: list[Scale] = [Other()]" in str(error.value)


def test_a_module_behind_an_interface_can_be_replaced():
    holder = torch.jit.script(Holder())
    assert holder(torch.ones(2)).tolist() == [4.0, 4.0]
    holder.layer = torch.jit.script(Weighted())
    assert holder(torch.ones(2)).tolist() == [6.0, 6.0]
    assert [name for name, _ in holder.named_parameters()] == ["layer.weight"]
    with pytest.raises(RuntimeError, match="is not compatible with interface"):
        holder.layer = torch.jit.script(TwoInputs())
    assert holder(torch.ones(2)).tolist() == [6.0, 6.0]


def test_a_module_behind_an_interface_is_saved_and_read():
    holder = torch.jit.script(Holder())
    holder.layer = torch.jit.script(Weighted())
    again = reloaded(holder)
    assert again(torch.ones(2)).tolist() == [6.0, 6.0]
    assert list(again.state_dict()) == ["layer.weight"]


def test_modules_of_a_container_are_chosen_by_a_number_or_key_of_run_time():
    chooser = torch.jit.script(Chooser())
    found = [chooser(torch.ones(2), i, name).tolist()[0] for i in (0, 1) for name in ("add", "weigh")]
    assert found == [3.0, 6.0, 4.0, 9.0]
    assert reloaded(chooser)(torch.ones(2), 1, "weigh").tolist() == [9.0, 9.0]


def test_a_module_with_a_state_of_its_own_is_saved_copied_and_read_by_it():
    module = torch.jit.script(Stateful())
    for other in (reloaded(module), copy.deepcopy(module)):
        assert other(torch.ones(2)).tolist() == [15.0, 15.0]
        assert other.count == 13
    assert module(torch.ones(2)).tolist() == [4.0, 4.0]


def test_an_error_of_a_program_tells_the_way_to_it_and_is_caught_as_its_class():
    def inner(x: list[int]):
        assert len(x) > 1, "too short"
        return x[5]

    def outer(x: list[int]):
        return inner(x)

    run = torch.jit.script(outer)
    with pytest.raises(AssertionError, match="too short") as error:
        run([1])
    assert isinstance(error.value, torch.jit.Error)
    text = str(error.value)
    assert text.startswith("The following operation failed in the TorchScript interpreter.")
    assert text.index("return inner(x)") < text.index('assert len(x) > 1, "too short"') < text.index("AssertionError")
    with pytest.raises(IndexError) as error:
        run([1, 2])
    assert isinstance(error.value, RuntimeError)


def test_a_tensor_of_one_number_stands_for_it():
    @torch.jit.script
    def repeat(x, n: int, scale: float):
        return x * n * scale

    assert repeat(torch.ones(1), torch.tensor(3), torch.tensor(0.5)).tolist() == [1.5]
    assert repeat(torch.ones(1), torch.tensor([[3]]), torch.tensor([0.5])).tolist() == [1.5]
    assert repeat(torch.ones(1), torch.tensor(3.7), 1).tolist() == [3.0]
    assert repeat(torch.ones(1), torch.tensor(-3.7), 1).tolist() == [-3.0]
    none = torch.tensor([3, 4]), torch.tensor([]), torch.tensor(float("nan")), torch.tensor(1e19), torch.tensor(3 + 0j)
    for n in (*none, torch.ones((), requires_grad=True), 3.0):
        with pytest.raises(TypeError, match="argument 'n'"):
            repeat(torch.ones(1), n, 0.5)


def test_a_number_or_a_tensor_of_one_stands_for_its_truth():
    @torch.jit.script
    def other(flag: bool):
        return not flag

    for truth in (True, 3, 0.5, torch.tensor([2]), torch.tensor(0.25)):
        assert other(truth) is False
    for truth in (False, 0, 0.0, torch.tensor([[0.0]])):
        assert other(truth) is True


def test_texts_are_split_from_the_right_parted_padded_and_asked_for_titles():
    def run(s: str):
        parts = s.rsplit("b", 1), s.partition("b"), s.rpartition("b"), s.rindex("b")
        return parts, s.center(9, "*"), s.ljust(8, "-"), s.rjust(8, "-"), s.istitle(), "a\tb".expandtabs(4)

    assert torch.jit.script(run)("abcabc") == run("abcabc")
    assert torch.jit.script(run)("Ab Cd") == run("Ab Cd")
    with pytest.raises(ValueError, match="substring not found"):
        torch.jit.script(run)("q")


def test_a_traced_resize_checks_the_first_time():
    traced = torch.jit.trace(lambda x: nn.functional.interpolate(x, scale_factor=2), torch.ones(1, 1, 3, 5))
    assert traced(torch.ones(1, 1, 3, 5)).shape == (1, 1, 6, 10)
