"""Where tensors are made when nobody says where."""

import threading

import pytest
import torch

META, CPU = torch.device("meta"), torch.device("cpu")


@pytest.fixture(autouse=True)
def _as_at_the_start():
    yield
    torch.set_default_device(None)


MAKERS = [
    lambda **k: torch.empty(2, **k),
    lambda **k: torch.zeros((2, 3), **k),
    lambda **k: torch.full((2,), 3, **k),
    lambda **k: torch.arange(3, **k),
    lambda **k: torch.linspace(0, 1, 3, **k),
    lambda **k: torch.eye(3, **k),
    lambda **k: torch.randn(2, **k),
    lambda **k: torch.randint(3, (2,), **k),
    lambda **k: torch.randperm(3, **k),
    lambda **k: torch.tensor([1, 2], **k),
    lambda **k: torch.as_tensor([1, 2], **k),
    lambda **k: torch.asarray([1, 2], **k),
    lambda **k: torch.empty_strided((2, 3), (3, 1), **k),
    lambda **k: torch.hann_window(4, **k),
    lambda **k: torch.tril_indices(3, 3, **k),
]


@pytest.mark.parametrize("make", MAKERS)
def test_what_makes_tensors_follows_the_default_device_unless_told(make):
    assert make().device == CPU
    with META:
        assert make().device == META
        assert make(device=None).device == META
        assert make(device="cpu").device == CPU
    torch.set_default_device("meta")
    assert make().device == META
    torch.set_default_device(None)
    assert make().device == CPU


def test_what_is_made_like_a_tensor_lies_beside_it():
    x = torch.ones(2)
    with META:
        made = (
            torch.zeros_like(x),
            x.new_zeros(3),
            x + 1,
            torch.cat([x, x]),
            torch.rand_like(x),
            torch.from_numpy(x.numpy()),
        )
        assert {t.device for t in made} == {CPU}
        out = torch.empty(0, device="cpu")
        assert torch.zeros(3, out=out) is out and out.tolist() == [0, 0, 0]


def test_default_devices_nest_and_end_with_an_error():
    with META as entered:
        assert entered is META
        with CPU:
            assert torch.get_default_device() == CPU and torch.zeros(1).device == CPU
        assert torch.get_default_device() == META
    with pytest.raises(ZeroDivisionError):
        with META:
            1 / 0
    assert torch.get_default_device() == CPU


def test_a_device_that_was_not_entered_last_is_not_left():
    with META:
        with pytest.raises(RuntimeError, match="cpu.*had not entered last"):
            CPU.__exit__(None, None, None)
        assert torch.get_default_device() == META


def test_a_device_decorates_a_function():
    @META
    def made(n):
        """How many."""
        return torch.zeros(n)

    assert made(3).device == META and made.__doc__ == "How many." and torch.zeros(1).device == CPU
    with pytest.raises(TypeError, match="takes one callable"):
        META(3)


def test_each_thread_has_its_own():
    torch.set_default_device("meta")
    found = []
    thread = threading.Thread(target=lambda: found.append(torch.zeros(1).device))
    thread.start()
    thread.join()
    assert found == [CPU] and torch.zeros(1).device == META


def test_a_default_device_that_is_none_is_refused():
    with pytest.raises((RuntimeError, TypeError)):
        torch.set_default_device("nowhere")
    with pytest.raises(TypeError):
        torch.set_default_device(1.5)
    assert torch.get_default_device() == CPU


@pytest.mark.parametrize("name", ["mps", "xpu", "hpu", "xla", "mtia", "privateuseone"])
def test_devices_of_others_are_names_to_compare(name):
    device = torch.device(name)
    assert str(device) == name and device.type == name and device.index is None
    assert (
        str(torch.device(name, 1)) == f"{name}:1" == str(torch.device(f"{name}:1")) and torch.device(name, 1).index == 1
    )
    assert device != CPU and device == torch.device(name) and len({device, CPU, META}) == 3
    for use in (
        lambda: torch.zeros(1, device=device),
        lambda: torch.ones(1).to(name),
        lambda: torch.tensor([1], device=name),
        lambda: torch.set_default_device(device),
        device.__enter__,
    ):
        error = AssertionError if name == "xpu" else NotImplementedError if name == "mps" else RuntimeError
        with pytest.raises(error, match=f"device {name}: this stack has tensors on cpu, meta"):
            use()


@pytest.mark.parametrize("text", ["mpsx", "mps:", "mps:200", "mps:a", "mps:1:2", "nothing", ""])
def test_names_of_no_device_are_refused(text):
    with pytest.raises(RuntimeError, match="device"):
        torch.device(text)
