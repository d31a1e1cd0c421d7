"""Archives that PyTorch 2.13 wrote run here: ``data/`` holds modules of script_modules.py, with their results."""

import enum
import io
import pathlib
import typing
import zipfile

import pytest
import script_modules
import torch
from test_script import same
from torch.jit._unique import name_of_form

DATA = pathlib.Path(__file__).parent / "data"
NAMES = ["Attention", "Buffers", "Dictionary", "Embedded", "ManyLayers", "Recurrent"]


@pytest.mark.parametrize("name", NAMES)
def test_an_archive_of_pytorch_gives_what_pytorch_gave(name):
    loaded = torch.jit.load(DATA / f"{name.lower()}.pt")
    want = torch.load(DATA / "results.pt")[name]
    _, args = script_modules.MODULES[name]
    got = loaded(*args)
    if isinstance(want, dict):
        assert list(want) == list(got)
        want, got = list(want.values()), list(got.values())
    assert same(tuple(want), tuple(got)) if isinstance(want, (tuple, list)) else torch.allclose(want, got, atol=1e-6)
    assert loaded.original_name == name


#: what PyTorch 2.13 gave for it, of sequences of three and two steps, and its last states
PACKED = [
    [0.16986331343650818, 0.09313289821147919, 0.006658769212663174, 0.21800324320793152, 0.10237378627061844, 0.03946450725197792,
     0.20095747709274292, 0.07262340933084488, 0.08256411552429199, 0.04940267652273178, -0.009485725313425064, 0.0704137533903122,
     0.02649628184735775, -0.04437816143035889, 0.13593047857284546, 0.0, 0.0, 0.0],
    [0.20095747709274292, 0.07262340933084488, 0.08256411552429199, 0.02649628184735775, -0.04437816143035889, 0.13593047857284546],
]  # fmt: skip
STEPS = torch.arange(12.0).reshape(2, 3, 2) * 0.1


def test_a_recurrent_layer_over_packed_sequences_runs_and_is_saved_again():
    loaded = torch.jit.load(DATA / "packed.pt")
    file = io.BytesIO()
    torch.jit.save(loaded, file)
    file.seek(0)
    for module in (loaded, torch.jit.load(file)):
        found = module(STEPS, torch.tensor([3, 2]))
        for made, expected in zip(found, PACKED, strict=True):
            torch.testing.assert_close(made.flatten(), torch.tensor(expected), atol=1e-6, rtol=1e-5)


def test_an_lstm_whose_class_has_a_packed_form_too_runs():
    expected = [0.04263876751065254, -0.004530959762632847, 0.00758787477388978]
    made = torch.jit.load(DATA / "lstm.pt")(STEPS)[1, 0]
    torch.testing.assert_close(made, torch.tensor(expected), atol=1e-6, rtol=1e-5)


def test_a_trace_of_pytorch_runs():
    loaded = torch.jit.load(DATA / "traced.pt")
    weight, bias = (loaded.state_dict()[f"0.{name}"] for name in ("weight", "bias"))
    x = torch.tensor([[0.5, -1.0, 2.0]])
    assert torch.allclose(loaded(x), torch.tanh(x @ weight.t() + bias))


def test_an_archive_trains_further():
    loaded = torch.jit.load(DATA / "attention.pt").train()
    loaded(script_modules.MODULES["Attention"][1][0]).sum().backward()
    assert all(p.grad is not None for p in loaded.parameters())


def rewritten(name, change):
    """An archive with its texts changed."""
    out = io.BytesIO()
    with zipfile.ZipFile(DATA / name) as old, zipfile.ZipFile(out, "w") as new:
        for each in old.namelist():
            data = old.read(each)
            new.writestr(each, change(data) if each.endswith(".py") else data)
    return io.BytesIO(out.getvalue())


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"torch.stack(", b"open(", "open"),
        (b"torch.stack(", b'__import__("os").system(', "__import__"),
        (b"torch.stack(", b"().__class__.__mro__[1].__subclasses__(", "__class__"),
        (b"torch.stack(", b"(9**9**9**9)(", "no signs"),
        (b"    return", b"    import os\n    return", "import"),
        (b"def forward", b"def forward(", "no text of a program"),
        (b"__parameters__ = [", b"__parameters__ = [Tensor, ", "Tensor.* is no constant"),
        (b"(self: ", b"(self: Tensor, self: ", "duplicate parameter"),
    ],
)
def test_a_changed_text_is_refused_and_never_run(old, new, message):
    with pytest.raises((RuntimeError, ValueError), match=message):
        torch.jit.load(rewritten("recurrent.pt", lambda text: text.replace(old, new)))


def test_code_that_is_no_text_is_named():
    with pytest.raises(RuntimeError, match=r"is damaged: .*code/.*\.py is no text"):
        torch.jit.load(rewritten("recurrent.pt", lambda text: b"\x80" + text))


def test_a_broken_archive_is_named(tmp_path):
    path = tmp_path / "recurrent.pt"
    path.write_bytes(rewritten("recurrent.pt", lambda text: text.replace(b"def forward", b"def forward(")).read())
    with pytest.raises(RuntimeError, match=rf"torch.jit.load: {path}: code/.*\.py is no text of a program"):
        torch.jit.load(path)


def test_an_operator_that_is_not_there_raises_when_it_is_reached():
    changed = rewritten("recurrent.pt", lambda text: text.replace(b"torch.tanh", b"torch.no_such_operator"))
    loaded = torch.jit.load(changed)
    with pytest.raises(NotImplementedError, match="aten::no_such_operator"):
        loaded(*script_modules.MODULES["Recurrent"][1])


@pytest.mark.parametrize(
    "call",
    ["save(1, '{file}')", "from_file('{file}', True, 4)", "load('{file}')", "set_printoptions(3)", "compile(1)"],
)
def test_an_archive_computes_and_neither_touches_files_nor_sets_up_the_process(call, tmp_path):
    line = f"    q = torch.{call.format(file=tmp_path / 'file')}\n    return".encode()
    loaded = torch.jit.load(rewritten("attention.pt", lambda text: text.replace(b"    return", line)))
    args = script_modules.MODULES["Attention"][1]
    with pytest.raises(NotImplementedError, match=f"the archive calls the operator aten::{call.partition('(')[0]}"):
        loaded(*args)
    assert not list(tmp_path.iterdir())


def test_a_file_of_torch_save_is_no_program():
    out = io.BytesIO()
    torch.save({"a": torch.ones(1)}, out)
    with pytest.raises(RuntimeError, match="no archive of a program.*torch.load"):
        torch.jit.load(io.BytesIO(out.getvalue()))


@pytest.mark.parametrize("size", [0, 10, 500, 3000])
def test_a_truncated_archive_is_refused(size):
    data = (DATA / "recurrent.pt").read_bytes()[:size]
    with pytest.raises((RuntimeError, EOFError, ValueError)):
        torch.jit.load(io.BytesIO(data))


def test_a_file_that_is_not_there_is_named(tmp_path):
    for missing in (tmp_path / "none.pt", str(tmp_path / "none.pt")):
        with pytest.raises(ValueError, match=r"does not exist.*none\.pt"):
            torch.jit.load(missing)
        with pytest.raises(FileNotFoundError):
            torch.jit.load(missing)
    with pytest.raises(ValueError, match="is a directory"):
        torch.jit.load(tmp_path)


class Forks(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(2, 2)

    def forward(self, x):
        futures = [torch.jit.fork(self.inner, x * i) for i in range(3)]
        more = torch.jit.fork(_twice, x + 1)
        total = torch.jit.wait(more)
        for each in futures:
            total = total + torch.jit.wait(each)
        return total


def _twice(x: torch.Tensor):
    return x * 2


def test_forks_are_written_as_functions_within_and_read_back():
    net = torch.jit.script(Forks())
    file = io.BytesIO()
    net.save(file)
    file.seek(0)
    x = torch.ones(1, 2)
    assert torch.equal(torch.jit.load(file)(x), net(x)) and torch.equal(net(x), Forks.forward(net, x))
    assert "def __forked_function() -> Tensor:" in net.code and "fork(__forked_function)" in net.code


def test_constants_that_look_at_one_memory_in_two_ways_stay_two(tmp_path):
    weight = torch.arange(4.0).view(2, 2)
    turned = weight.t()
    traced = torch.jit.trace(lambda x: (x @ weight, x @ turned), torch.ones(1, 2))
    traced.save(tmp_path / "both.pt")
    x = torch.tensor([[1.0, 2.0]])
    assert [each.tolist() for each in torch.jit.load(tmp_path / "both.pt")(x)] == [[[4, 7]], [[2, 8]]]


def test_sparse_constants_are_saved(tmp_path):
    class Sparse(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.eye(2).to_sparse()

        def forward(self, x: torch.Tensor):
            return self.table, x

    torch.jit.freeze(torch.jit.script(Sparse().eval())).save(tmp_path / "sparse.pt")
    table, _ = torch.jit.load(tmp_path / "sparse.pt")(torch.ones(2))
    assert torch.equal(table.to_dense(), torch.eye(2))


@pytest.mark.parametrize("held", [2, None, True, "a", (2, 3), [5.5, 7.25]], ids=str)
def test_constants_of_a_module_are_in_archives(held):
    class Net(torch.nn.Module):
        __constants__ = ["held"]

        def __init__(self):
            super().__init__()
            self.held = held

        def forward(self, x):
            return x, self.held

    file = io.BytesIO()
    torch.jit.save(torch.jit.script(Net()), file)
    assert torch.jit.load(io.BytesIO(file.getvalue())).held == held


def of_version(number, text):
    """The archive of a module with this text of ``forward``, in an old version of the format."""
    file, changed = io.BytesIO(), io.BytesIO()
    torch.jit.save(torch.jit.script(torch.nn.Identity()), file)
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(changed, "w", zipfile.ZIP_STORED) as new:
        assert old.read("archive/version") == b"10\n"  # PyTorch reads the operators of older ones as they were then
        for name in old.namelist():
            data = old.read(name)
            if b"class Identity(Module)" in data:  # where it is says what the class is called
                own = name.removeprefix("archive/code/").removesuffix(".py").replace("/", ".") + ".Identity"
                body = text.replace("__torch__.torch.nn.modules.linear.Identity", own)
                data = data[: data.index(b"  def forward")] + body.encode()
            data = b"%d\n" % number if name.endswith("/version") else data
            if not name.endswith("program.txt"):
                new.writestr(name, data)
    return torch.jit.load(io.BytesIO(changed.getvalue()))


@pytest.mark.parametrize("number", [2, 3, 4, 10])
def test_operators_mean_what_they_did_when_the_archive_was_written(number):
    text = """  def forward(self: __torch__.torch.nn.modules.linear.Identity,
    a: Tensor, b: Tensor, n: int) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
    c = torch.div(a, b)
    d = torch.div(torch.to(a, 6), b)
    e = torch.div(a, n)
    return (c, d, e, torch.full([2], n))
"""
    c, d, e, f = of_version(number, text)(torch.tensor([-7]), torch.tensor([2]), 2)
    whole = number < 4
    assert (c.tolist(), c.dtype) == (([-3], torch.int64) if whole else ([-3.5], torch.float32))
    assert (e.tolist(), e.dtype) == (c.tolist(), c.dtype) and d.tolist() == [-3.5]
    assert f.dtype == (torch.float32 if number < 5 else torch.int64)


A, B = torch.tensor([[2.0, 1.0], [0.5, 3.0]]), torch.tensor([[1.0, 1.0], [2.0, 0.0]])
IN_PYTORCHS_WORDS = {
    "torch.linalg_inv(a)": torch.linalg.inv(A), "torch.linalg_solve(a, b)": torch.linalg.solve(A, B),
    "torch.linalg_vector_norm(a, 1)": torch.tensor(6.5), "torch.special_i0e(a)": torch.special.i0e(A),
    "torch.special_xlog1py(a, b)": torch.special.xlog1py(A, B), "torch.real(torch.fft_fft(a, None, 0))": torch.fft.fft(A, dim=0).real,
    "torch.fft_irfft(torch.fft_rfft(a))": A, "torch.numpy_T(a)": A.T, "(torch._unique2(b, True, True))[1]": torch.tensor([[1, 1], [2, 0]]),
    "(torch.unique_dim(b, 0, True, True))[0]": B, "(torch.unique_consecutive(b, False, True))[2]": torch.tensor([2, 1, 1]),
    "(torch.unique_consecutive(b, False, False, 0))[0]": B, "torch.huber_loss(a, b, 2, 0.5)": torch.nn.functional.huber_loss(A, B, "sum", 0.5),
    "torch.smooth_l1_loss(a, b, 0, 2.)": torch.nn.functional.smooth_l1_loss(A, B, reduction="none", beta=2.0),
    "torch.kl_div(a, b, 1)": torch.nn.functional.kl_div(A, B), "torch.soft_margin_loss(a, b)": torch.nn.functional.soft_margin_loss(A, B),
    "torch.add(a, 2, 3)": A + 6, "torch.cosine_similarity(a, b)": torch.cosine_similarity(A, B), "torch.logit(torch.sigmoid(a))": A,
    "(torch.unsafe_chunk(a, 2))[1]": A[1:], "torch.adjoint(a)": A.T,
    "a if torch.is_autocast_enabled() else b": B, "a if torch.is_autocast_cpu_enabled() else b": B,
    "torch.index_put(a, [torch.gt(a, b)], torch.tensor(0.))": torch.where(A > B, 0.0, A), "torch.sort(a, stable=True, dim=1, descending=True)[0]": A.sort(1, True)[0],
}  # fmt: skip


@pytest.mark.parametrize("call", IN_PYTORCHS_WORDS)
def test_operators_are_read_by_the_names_that_they_have_in_pytorch(call):
    head = "  def forward(self: __torch__.torch.nn.modules.linear.Identity,\n    a: Tensor, b: Tensor) -> Tensor:\n"
    loaded = of_version(10, f"{head}    return {call}\n")
    assert torch.allclose(loaded(A, B), IN_PYTORCHS_WORDS[call], atol=1e-6)
    assert not loaded.graph.findAllNodes("prim::PythonOp")
    loaded.save(file := io.BytesIO())
    assert torch.allclose(torch.jit.load(io.BytesIO(file.getvalue()))(A, B), IN_PYTORCHS_WORDS[call], atol=1e-6)


def texts_of(compiled):
    """All texts of an archive of a program."""
    file = io.BytesIO()
    torch.jit.save(compiled, file)
    with zipfile.ZipFile(file) as archive:
        return "".join(archive.read(each).decode() for each in archive.namelist() if each.endswith(".py"))


def in_several_words(x, y, how: float = 2):
    a = torch.linalg.inv(x) + torch.fft.fft(x).real + torch.special.entr(y) + torch.inverse(x)
    b = torch.nn.functional.max_pool2d(x[None], 2)
    c, _ = torch.sort(x, stable=True)
    d = torch.norm(x, "fro") + torch.norm(x) + torch.polygamma(1, y).sum() + torch.tensordot(x, y, 1).sum() * how
    e = torch.unique(x).sum() + torch.nn.functional.huber_loss(x, y) + torch.trapezoid(x, dx=2).sum()
    return a, b, c, d, e


@pytest.mark.parametrize(
    "text",
    ["torch.linalg_inv(x)", "torch.fft_fft(x)", "torch.special_entr(y)", "annotate(List[int], [])", "stable=True, dim=-1, descending=False)",
     "torch.norm(x, 2)", "torch.norm(x))", "torch.polygamma(1, y)", "torch.tensordot(x, y, ", "torch._unique2(x, True, False, False)",
     ", 0, 1.)", "torch.zeros_like(", "torch.trapezoid(x, dx=2)", "how: float=2.)"],
)  # fmt: skip
def test_texts_are_in_pytorchs_words(text):
    assert text in texts_of(torch.jit.script(in_several_words))


def test_programs_in_pytorchs_words_are_read_as_they_were_written():
    compiled, file = torch.jit.script(in_several_words), io.BytesIO()
    compiled.save(file)
    read = torch.jit.load(io.BytesIO(file.getvalue()))
    for found, expected in zip(read(A, B + 1), in_several_words(A, B + 1), strict=True):
        assert torch.allclose(found, expected, atol=1e-5)


def spells(x: str):
    return x + "\x00\x07\t\n\x0b\r\x1b \"'\\\x7fé日", x.strip(), ~len(x), f"{x!r}"


def test_letters_that_print_nothing_are_written_in_octal_digits():
    compiled, file = torch.jit.script(spells), io.BytesIO()
    compiled.save(file)
    assert torch.jit.load(io.BytesIO(file.getvalue()))(" a") == spells(" a") == compiled(" a")
    text = texts_of(compiled)
    assert r"\000\007\t\n\013\015\033 \"'\\\177é日" in text and "torch.__xor__(torch.len(x), -1)" in text


def quoted(x: str):
    return f"{x!r}, {[x]!r}"


def test_quoted_texts_have_their_escapes_in_archives_as_well():
    compiled, file = torch.jit.script(quoted), io.BytesIO()
    compiled.save(file)
    read = torch.jit.load(io.BytesIO(file.getvalue()))
    for text in ("", "a'b", 'a"b', "'\"", "\\ \n\r\t", "\x00\x07\x1f\x7f", "é日"):
        assert compiled(text) == read(text) == quoted(text)


def measured(x, y):
    return (
        torch.cdist(x, y),
        torch.renorm(x, 2, 0, 1.0),
        torch.chain_matmul(x, y, x),
        torch.pdist(x, p=1.0),
        x.clone().fill_diagonal_(3.0),
    )


def test_what_is_computed_in_python_is_written_as_the_operator():
    compiled, file = torch.jit.script(measured), io.BytesIO()
    compiled.save(file)
    read = torch.jit.load(io.BytesIO(file.getvalue()))
    for found, again, expected in zip(read(A, B), compiled(A, B), measured(A, B), strict=True):
        assert torch.allclose(found, expected) and torch.equal(again, expected)
    text = texts_of(compiled)
    assert "torch.cdist(x, y)" in text and "torch.chain_matmul(x, y, x)" in text and "torch.pdist(x, 1.)" in text


class Holder:
    def __init__(self, n: int):
        self.n = n

    @staticmethod
    def twice(n: int):
        return Holder(2 * n)


def names(n: int, word: str):
    return Holder.twice(n).n, "%d %s" % (n, word) + "%s" % word  # noqa: UP031


def test_no_name_of_an_archive_goes_on_beneath_a_class():
    compiled, file = torch.jit.script(names), io.BytesIO()
    compiled.save(file)
    assert torch.jit.load(io.BytesIO(file.getvalue()))(3, "a") == names(3, "a") == (6, "3 aa")
    text = texts_of(compiled)
    assert "._in_Holder.twice(n, )" in text and "Holder.twice" not in text.replace("_in_Holder", "")
    assert 'torch.percentFormat("%d %s", (n, word))' in text and 'torch.percentFormat("%s", word)' in text


def with_numbers(x, mask):
    return (
        2 - x,
        2 / x,
        7 // x,
        3 + x,
        torch.sub(5, x, alpha=2),
        mask & True,
        torch.where(mask, True, False),
        torch.mul(True, mask),
    )


def counted(n: int, yes: bool) -> int:
    return n + True + yes


def test_arithmetic_of_truths_stays_that_of_numbers():
    compiled, file = torch.jit.script(counted), io.BytesIO()
    compiled.save(file)
    assert torch.jit.load(io.BytesIO(file.getvalue()))(3, True) == compiled(3, True) == 5


def test_arithmetic_of_numbers_with_tensors_has_the_tensor_first():
    x, mask, file = torch.tensor([1.0, 4.0]), torch.tensor([True, False]), io.BytesIO()
    traced = torch.jit.trace(with_numbers, (x, mask))
    traced.save(file)
    for found, expected in zip(
        torch.jit.load(io.BytesIO(file.getvalue()))(x, mask), with_numbers(x, mask), strict=True
    ):
        assert torch.equal(found, expected) and found.dtype == expected.dtype
    calls = (
        "rsub(x, 2)",
        "mul(torch.reciprocal(x), 2)",
        "floor_divide(torch.mul(torch.ones_like(x), 7), x)",
        "add(x, 3)",
        "rsub(x, 5, 2)",
    )
    assert all(f"torch.{call}" in traced.code for call in (*calls, "bitwise_and(mask, torch.tensor(True))"))


class First(torch.nn.Module):
    def forward(self, x):
        return helped(x)


class Second(torch.nn.Module):
    def forward(self, x):
        return helped(x), 10


def helped(x):
    return x + 1


def renamed(module, old, new, change=lambda text: text):
    """A module read from an archive in which its class has another name."""
    file, changed = io.BytesIO(), io.BytesIO()
    torch.jit.save(torch.jit.script(module), file)
    with zipfile.ZipFile(file) as source, zipfile.ZipFile(changed, "w", zipfile.ZIP_STORED) as target:
        for name in source.namelist():
            if not name.endswith("program.txt"):
                data = source.read(name)
                target.writestr(name, change(data.replace(old, new)))
    return torch.jit.load(io.BytesIO(changed.getvalue()))


class Pair(torch.nn.Module):
    def __init__(self, first, second):
        super().__init__()
        self.first, self.second = first, second

    def forward(self, x):
        return self.first(x), self.second(x)


def test_classes_of_one_name_from_two_archives_stay_two():
    first = renamed(First(), b"First", b"Other")
    second = renamed(Second(), b"Second", b"Other", lambda text: text.replace(b"torch.add(x, 1)", b"torch.add(x, 7)"))
    x, file = torch.zeros(1), io.BytesIO()
    both = torch.jit.script(Pair(first, second))
    both.save(file)
    for program in (both, torch.jit.load(io.BytesIO(file.getvalue()))):
        one, (two, ten) = program(x)
        assert one == 1 and two == 7 and ten == 10
    assert first.original_name == second.original_name == "Other"


def test_an_archive_that_is_read_twice_gives_one_class():
    file = io.BytesIO()
    torch.jit.script(First()).save(file)
    one, two = (torch.jit.load(io.BytesIO(file.getvalue())) for _ in range(2))
    assert one._c._type() == two._c._type()


@torch.jit.script
class Stated:
    def __init__(self, n: int):
        self.n = n

    def __getstate__(self):
        return (self.n, "kept")

    def __setstate__(self, state: tuple[int, str]) -> None:
        self.n, _ = state


class HasState(torch.nn.Module):
    held: Stated

    def __init__(self):
        super().__init__()
        self.held = Stated(4)

    def forward(self, x):
        return x + self.held.n


def test_objects_that_say_their_state_are_read_and_saved_again_and_again():
    program = torch.jit.script(HasState())
    for _ in range(3):
        program.save(file := io.BytesIO())
        program = torch.jit.load(io.BytesIO(file.getvalue()))
        assert program(torch.ones(1)) == 5


class Place(typing.NamedTuple):
    x: int
    y: int


class Size(typing.NamedTuple):
    width: str


class Near(torch.nn.Module):
    def forward(self, x):
        return Place(1, 2)


class Wide(torch.nn.Module):
    def forward(self, x):
        return Size("wide")


class Sides(enum.Enum):
    LEFT = 1


class Hands(enum.Enum):
    LEFT = 2


class AtSide(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.held = Sides.LEFT

    def forward(self, x):
        return self.held.value + int(self.held == Sides.LEFT)


class InHand(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.held = Hands.LEFT

    def forward(self, x):
        return self.held.value + int(self.held == Hands.LEFT)


@pytest.mark.parametrize(
    "modules, names, wanted",
    [((Near, Wide), (b"Place", b"Size"), ((1, 2), ("wide",))), ((AtSide, InHand), (b"Sides", b"Hands"), (2, 3))],
)
def test_named_tuples_and_enums_of_one_name_stay_two(modules, names, wanted):
    parts = [renamed(make(), name, b"Shared") for make, name in zip(modules, names, strict=True)]
    both, file = torch.jit.script(Pair(*parts)), io.BytesIO()
    both.save(file)
    for program in (both, torch.jit.load(io.BytesIO(file.getvalue()))):
        found = program(torch.ones(1))
        assert tuple(tuple(each) if isinstance(each, tuple) else each for each in found) == wanted


class Here(typing.NamedTuple):
    x: int


class There(typing.NamedTuple):
    y: str
    z: int


class IsHere(torch.nn.Module):
    def forward(self, x):
        return Here(1)


class IsThere(torch.nn.Module):
    def forward(self, x):
        return There("there", 2)


Whole = enum.Enum("Kind", {"ONE": 1})
Broken = enum.Enum("Kind", {"ONE": 1.0})


class OfWhole(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.held = Whole.ONE

    def forward(self, x):
        return self.held, 3 // self.held.value


class OfBroken(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.held = Broken.ONE

    def forward(self, x):
        return self.held, 3 // self.held.value


@pytest.mark.parametrize("first_is_read", [False, True])
@pytest.mark.parametrize(
    "modules, wanted",
    [
        ((IsHere, IsThere), "((1,), ('there', 2))"),
        ((OfWhole, OfBroken), "((<Kind.ONE: 1>, 3), (<Kind.ONE: 1.0>, 3.0))"),
    ],
)
def test_named_tuples_and_enums_of_one_name_stay_two_where_python_made_both(modules, wanted, first_is_read):
    first, second = modules
    first = torch.jit.script(first())
    if first_is_read:
        first.save(file := io.BytesIO())
        first = torch.jit.load(io.BytesIO(file.getvalue()))
    both = torch.jit.script(Pair(first, second()))
    both.save(file := io.BytesIO())
    for program in (both, torch.jit.load(io.BytesIO(file.getvalue()))):
        found = program(torch.ones(1))
        assert repr(tuple(tuple(each) if isinstance(each, tuple) else each for each in found)) == wanted


@torch.jit.interface
class OneStep(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pass


@torch.jit.interface
class TwoSteps(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pass

    def back(self, x: torch.Tensor, by: int) -> torch.Tensor:
        pass


class Step(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1

    @torch.jit.export
    def back(self, x: torch.Tensor, by: int) -> torch.Tensor:
        return x - by


class Forth(torch.nn.Module):
    step: OneStep

    def __init__(self):
        super().__init__()
        self.step = Step()

    def forward(self, x):
        return self.step.forward(x)


class Back(torch.nn.Module):
    step: TwoSteps

    def __init__(self):
        super().__init__()
        self.step = Step()

    def forward(self, x):
        return self.step.back(x, 5)


def test_modules_behind_interfaces_of_one_name_are_read_and_saved_again():
    parts = [renamed(make(), name, b"Steps") for make, name in ((Forth, b"OneStep"), (Back, b"TwoSteps"))]
    program = torch.jit.script(Pair(*parts))
    for _ in range(3):
        program.save(file := io.BytesIO())
        program = torch.jit.load(io.BytesIO(file.getvalue()))
        assert program(torch.ones(1)) == (2, -4)


def copied(x):
    parts = torch.unbind_copy(x)
    return parts[0] + len(torch.split_with_sizes_copy(x, [1, 2])), torch.split_copy(x, 2), parts


def test_operators_that_python_computes_give_lists_of_tensors():
    program, x = torch.jit.script(copied), torch.arange(3.0)
    program.save(file := io.BytesIO())
    assert str(program.graph.findNode("prim::PythonOp").output().type()) == "List[Tensor]"
    for each in (program, torch.jit.load(io.BytesIO(file.getvalue()))):
        assert repr(each(x)) == repr(tuple(list(r) if isinstance(r, tuple) else r for r in copied(x)))


def cubed(n: int) -> tuple[int, int]:
    return n**3, -((n + 1) ** 2)


def test_small_powers_of_ints_are_exact_after_they_are_saved():
    program = torch.jit.script(cubed)
    program.save(file := io.BytesIO())
    assert torch.jit.load(io.BytesIO(file.getvalue()))(1_000_003) == program(1_000_003) == cubed(1_000_003)


def scaled(by):
    class Scaled(torch.nn.Module):
        def forward(self, x):
            return x * by

    return Scaled()


def saved_and_read(program):
    program.save(file := io.BytesIO())
    return torch.jit.load(io.BytesIO(file.getvalue()))


def test_names_that_tell_classes_of_one_name_apart_are_told_apart_from_those_of_archives():
    first = saved_and_read(torch.jit.script(Pair(scaled(2), scaled(3))))
    program = torch.jit.script(Pair(first, Pair(scaled(5), scaled(7))))
    for _ in range(2):
        program = torch.jit.script(Pair(saved_and_read(program), program))
    again, whole = saved_and_read(program)(torch.ones(1)), program(torch.ones(1))
    assert again == whole and whole[0][0] == whole[1][1] == ((2, 3), (5, 7))


def test_names_that_tell_named_tuples_of_one_name_apart_are_told_apart_from_those_of_archives():
    name = "__torch__.apart.Sides"
    assert name_of_form(name, "xyz") == name
    taken = name_of_form("__torch__.apart.___torch_mangle_form_1.Sides", "xy")
    assert name_of_form(name, "ab") not in (name, taken)
    assert name_of_form(name, "xy") == taken and name_of_form(name, "xyz") == name


def lost(n: int) -> int | None:
    found: int | None = None
    if found is None:
        found = n
    for _ in range(n):
        found = None
    return found


def test_what_a_loop_carries_begins_with_the_type_that_it_has_in_the_loop():
    compiled, file = torch.jit.script(lost), io.BytesIO()
    compiled.save(file)
    read = torch.jit.load(io.BytesIO(file.getvalue()))
    assert [read(n) for n in (0, 2)] == [0, None]
    assert "= unchecked_cast(Optional[int], found" in texts_of(compiled)  # else PyTorch refuses the text


def wrong(n: int) -> int:
    if n == 1:
        return divmod(1, 0)[0]
    if n == 2:
        return ord("ab")
    if n == 3:
        return len(chr(-1))
    return 0


@pytest.mark.parametrize(("n", "error"), [(1, ZeroDivisionError), (2, TypeError), (3, ValueError)])
def test_constants_that_do_not_fit_are_refused_where_they_are_reached(n, error):
    compiled = torch.jit.script(wrong)
    assert compiled(0) == 0
    with pytest.raises(error):
        compiled(n)


def test_a_tuple_that_becomes_an_element_of_a_list_stays_one():
    @torch.jit.script
    def f(x):
        out = [(x, x)]
        y = (x + 1, x + 2)
        out.append(y)
        return out[1][1]

    file = io.BytesIO()
    torch.jit.save(f, file)
    file.seek(0)
    assert torch.jit.load(file)(torch.zeros(1)).item() == 2


class Packed(torch.nn.Module):
    def __init__(self, n: float):
        super().__init__()
        self.register_buffer("x", torch.full((2,), n))

    def forward(self):
        return self.x

    @torch.jit.export
    def __getstate__(self):
        return self.x, self.training

    @torch.jit.export
    def __setstate__(self, state: tuple[torch.Tensor, bool]):
        self.x = state[0] + 10
        self.training = state[1]


class Holds(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Packed(1.0)
        self.register_buffer("y", torch.zeros(2))

    def forward(self):
        return self.inner() + self.y

    @torch.jit.export
    def __getstate__(self):
        return self.y, self.inner, self.training

    @torch.jit.export
    def __setstate__(self, state):
        self.y = state[0] + 100
        self.inner = state[1]
        self.training = state[2]


def test_a_module_that_makes_itself_anew_takes_the_modules_of_its_state():
    compiled, file = torch.jit.script(Holds()), io.BytesIO()
    compiled.save(file)
    assert compiled().tolist() == [1.0, 1.0]
    read = torch.jit.load(io.BytesIO(file.getvalue()))
    assert read().tolist() == [111.0, 111.0] and read.inner.x.tolist() == [11.0, 11.0]


class Swaps(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = torch.nn.Linear(1, 1), torch.nn.Linear(1, 1)

    def forward(self, x):
        self.one = self.two
        return self.one(x)


def test_a_module_is_not_put_in_the_place_of_another_elsewhere():
    with pytest.raises(RuntimeError, match="nonexistent attribute: one"):
        torch.jit.script(Swaps())


class Sized(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.count, self.name = 3, "a"

    def forward(self, x):
        return x * self.count, self.name


def replaced(program, old, new, ends):
    """An archive of a program with other letters in what it holds or says."""
    given, made = io.BytesIO(), io.BytesIO()
    torch.jit.save(program, given)
    with zipfile.ZipFile(given) as read, zipfile.ZipFile(made, "w") as file:
        for member in read.namelist():
            file.writestr(member, read.read(member).replace(old, new) if member.endswith(ends) else read.read(member))
    return io.BytesIO(made.getvalue())


def test_an_object_without_one_of_its_attributes_is_refused():
    with pytest.raises(RuntimeError, match=r"Sized without 'count' of type int"):
        torch.jit.load(replaced(torch.jit.script(Sized()), b"count", b"could", ".pkl"))


class SaysItsState(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.count, self.other = 3, 4

    @torch.jit.export
    def __getstate__(self):
        return self.count, self.training

    @torch.jit.export
    def __setstate__(self, state: tuple[int, bool]):
        self.count, self.training = state[0], state[1]
        self.other = 5

    def forward(self, x):
        return x * self.count + self.other


def test_an_attribute_that_was_never_set_is_named_and_not_read():
    unset = replaced(torch.jit.script(SaysItsState()), b"self.other = 5", b"self.count = 5", ".py")
    with pytest.raises(RuntimeError, match="SaysItsState.other is of type int, not NoneType"):
        torch.jit.load(unset)
    early = replaced(torch.jit.script(SaysItsState()), b"self.other = 5", b"self.other = self.other", ".py")
    with pytest.raises(RuntimeError, match="the attribute 'other' of type int is not set"):
        torch.jit.load(early)
