"""Forward hooks and pre-hooks of modules: compiled with them, saved, read back, and refused with what they should be."""

import copy
import io
import pathlib

import pytest
import torch
from torch import Tensor, nn

DATA = pathlib.Path(__file__).parent / "data"


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.name = "inner"

    def forward(self, input: str):
        return input + ">inner"


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.name = "outer"
        self.inner = Inner()

    def forward(self, input: str):
        return self.inner(input + ">outer")


class Direct(Outer):
    def forward(self, input: str):
        return self.inner.forward(input)


def mark(self, input: tuple[str], output: str):
    return output + "|" + self.name


def before(self, input: tuple[str]) -> tuple[str]:
    return (input[0] + "<" + self.name,)


def single(self, input: tuple[str]) -> str:
    return input[0] + "!"


def look(self, input: tuple[str]) -> None:
    assert len(input[0]) < 99


def hooked(cls=Outer, child=(), own=(), child_before=(), own_before=()):
    module = cls()
    for hook in child:
        module.inner.register_forward_hook(hook)
    for hook in own:
        module.register_forward_hook(hook)
    for hook in child_before:
        module.inner.register_forward_pre_hook(hook)
    for hook in own_before:
        module.register_forward_pre_hook(hook)
    return module


def saved(module):
    buffer = io.BytesIO()
    torch.jit.save(module, buffer)
    return io.BytesIO(buffer.getvalue())


@pytest.mark.parametrize(
    "hooks",
    [
        {"child": [mark]}, {"own": [mark]}, {"child": [mark, mark], "own": [mark]}, {"child_before": [before]},
        {"own_before": [single, before], "child_before": [look, single]}, {"cls": Direct, "child": [mark]},
        {"child": [mark], "own": [mark], "child_before": [before], "own_before": [before]},
    ],
    ids=range(7),
)  # fmt: skip
def test_hooks_run_as_in_python_also_from_a_file_and_in_a_copy(hooks):
    module = hooked(**hooks)
    wanted, plain = module("x"), module.forward("x")
    compiled = torch.jit.script(module)
    loaded = torch.jit.load(saved(compiled))
    again = torch.jit.load(saved(loaded))
    for each in (compiled, loaded, again, copy.deepcopy(compiled)):
        assert each("x") == wanted
        assert each.forward("x") == plain


def test_modules_share_a_program_only_with_the_same_hooks():
    plain, marked = torch.jit.script(hooked()), torch.jit.script(hooked(own=[mark]))
    assert plain("x") == "x>outer>inner"
    assert marked("x") == "x>outer>inner|outer"


def test_a_hook_changes_the_type_of_the_result():
    def count(self, input: tuple[str], output: str) -> int:
        return len(output)

    class Sums(Outer):
        def forward(self, input: str):
            return self.inner(input) + 1

    module = hooked(Sums, child=[count])
    assert module("abc") == torch.jit.script(module)("abc") == 10


def test_hooks_of_layers_have_gradients():
    def doubled(self, input: tuple[Tensor], output: Tensor):
        return 2 * output + input[0].sum()

    net = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
    net[0].register_forward_hook(doubled)
    x = torch.ones(3, 2, requires_grad=True)
    y = x.detach().clone().requires_grad_()
    net(x).sum().backward()
    torch.jit.script(net)(y).sum().backward()
    torch.testing.assert_close(y.grad, x.grad)


def test_a_hook_that_leaves_arguments_of_several_types():
    def swap(self, input: tuple[Tensor, int | None]) -> tuple[Tensor, int | None]:
        return input[0] + 1, 5

    class Two(nn.Module):
        def forward(self, x: Tensor, n: int | None = None):
            return x if n is None else x * n

    module = Two()
    module.register_forward_pre_hook(swap)
    assert torch.jit.script(module)(torch.ones(1), None) == 10


def wrong_inner(self, input: tuple[int], output: str):
    return output


def no_tuple(self, input, output):
    return output


def wrong_count(self, input: tuple[str, str], output: str):
    return output


def wrong_output(self, input: tuple[str], output: int):
    return output


def too_few(self, input: tuple[str]):
    return input


def forward(self, input: tuple[str], output: str):
    return output


@pytest.mark.parametrize(
    "hook, text",
    [
        (wrong_inner, r"'wrong_inner' on module 'Outer' has the wrong inner types .* Received type: 'Tuple\[int\]'"),
        (no_tuple, "expected the input argument to be typed as a Tuple but found type: 'Tensor' instead"),
        (wrong_count, "has the wrong number of contained types for the input argument's Tuple"),
        (wrong_output, "has the wrong type for the output argument. Received type: 'int'. Expected type: 'str'"),
        (too_few, "was expected to only have exactly 3 inputs but it had 2 inputs"),
        (forward, "Can't define hook: forward on class: Outer because a method or hook with that name already exists"),
        (len, "is not a function"),
    ],
)
def test_wrong_hooks_say_what_they_should_be(hook, text):
    with pytest.raises(RuntimeError, match=text):
        torch.jit.script(hooked(own=[hook]))


def test_wrong_pre_hooks_say_what_they_should_be():
    def unsaid(self, input: tuple[str]):
        return input

    def other(self, input: tuple[str]) -> tuple[int]:
        return (3,)

    def number(self, input: tuple[str]) -> int:
        return 3

    for hook, text in (
        (unsaid, "missing a return annotation"),
        (other, "The returned tuple contains the wrong inner types"),
        (number, r"either 'None', 'str' or 'Tuple\[str\]'"),
    ):
        with pytest.raises(RuntimeError, match=text):
            torch.jit.script(hooked(own_before=[hook]))


def test_two_hooks_of_one_name_are_refused():
    def made(text):
        def hook(self, input: tuple[str], output: str):
            return output + self.name

        return hook

    with pytest.raises(RuntimeError, match="'hook' on Outer has at least two different python definitions"):
        torch.jit.script(hooked(own=[made("a"), made("b")]))


def test_backward_hooks_are_refused():
    module = hooked()
    module.register_full_backward_hook(lambda *a: None)
    with pytest.raises(RuntimeError, match="has backward hooks, which a script does not run"):
        torch.jit.script(module)


def test_an_archive_of_pytorch_brings_its_hooks():
    module = torch.jit.load(DATA / "hooks.pt")
    assert module("a") == "a>outer<inner>inner|inner|outer"
    assert module.forward("a") == "a>outer<inner>inner|inner"


def test_an_archive_whose_list_of_hooks_is_none_is_refused():
    import zipfile

    source = zipfile.ZipFile(saved(torch.jit.script(hooked(own=[mark]))))
    for old, new, text in (
        (b'["mark", ]', b"[5]", "no list of names"),
        (b'["mark", ]', b'["gone", ]', "has no hook 'gone'"),
    ):
        changed = io.BytesIO()
        with zipfile.ZipFile(changed, "w") as out:
            for name in source.namelist():
                out.writestr(name, source.read(name).replace(old, new))
        with pytest.raises(RuntimeError, match=text):
            torch.jit.load(io.BytesIO(changed.getvalue()))
