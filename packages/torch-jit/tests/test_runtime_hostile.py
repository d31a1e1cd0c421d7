"""Archives that are wrong in any way, as the runtime without Python meets them: an error that names them, never a crash."""

import io
import random
import re
import struct
import zipfile

import pytest
import torch
from torch import nn
from torch.jit import _ir

load_program = _ir._native.load_program
ERRORS = (RuntimeError, ValueError, TypeError, IndexError, KeyError, ArithmeticError, AssertionError, MemoryError)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.names = {"a": 1}
        self.shape = (2, 3)

    def forward(self, x, n: int = 2):
        y = self.fc(x) + torch.tensor([1.0, 2.0, 3.0])
        for _ in range(n):
            if bool(y.sum() > 0):
                y = y.reshape(self.shape) - self.names["a"]
        assert y.dim() == 2, f"{y.shape}"
        return y, [n, 1], {"y": y}


@pytest.fixture(scope="module")
def archive():
    torch.manual_seed(0)
    out = io.BytesIO()
    torch.jit.save(torch.jit.script(Net()), out)
    return out.getvalue()


def members(data):
    with zipfile.ZipFile(io.BytesIO(data)) as z:
        return [(n, z.read(n)) for n in z.namelist()]


def zipped(parts, **options):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", **options) as z:
        for name, content in parts:
            z.writestr(name, content)
    return out.getvalue()


def with_text(data, change):
    """The archive with another program.txt, checksums and all."""
    return zipped([(n, change(c.decode()).encode() if n.endswith("program.txt") else c) for n, c in members(data)])


def try_all(data):
    """Load it and run what it has; whether that went without an error."""
    try:
        module = load_program(data)
        for method in module.methods():
            module.run(method, torch.ones(2, 3))
    except ERRORS:
        return False
    return True


def test_the_archive_is_right_before_it_is_changed(archive):
    assert try_all(archive) and try_all(with_text(archive, str))


def test_an_archive_that_is_cut_off_is_refused_wherever_it_ends(archive):
    for size in [*range(0, len(archive), 97), len(archive) - 1]:
        with pytest.raises(RuntimeError, match="archive: "):
            load_program(archive[:size])


@pytest.mark.parametrize("seed", range(4))
def test_changed_bytes_raise_or_do_nothing(seed, archive):
    draw = random.Random(seed)
    for _ in range(400):
        data = bytearray(archive)
        for _ in range(draw.randint(1, 4)):
            at = draw.choice([draw.randrange(len(data)), len(data) - 1 - draw.randrange(2500)])
            data[at] = draw.choice([0, 255, data[at] ^ (1 << draw.randrange(8)), draw.randrange(256)])
        try_all(bytes(data))


NUMBERS = [
    "0",
    "-1",
    "1",
    "7",
    "99",
    "9223372036854775807",
    "-9223372036854775808",
    "99999999999999999999",
    "1e400",
    "nan",
]


def changed(text, draw):
    """The text with one change: a line more or less, a number, a word for another one, a character off."""
    lines = text.split("\n")
    at = draw.randrange(len(lines) - 1)
    kind = draw.randrange(6)
    if kind == 0:
        del lines[at]
    elif kind == 1:
        lines.insert(at, draw.choice(lines))
    elif kind == 2:
        found = draw.choice(list(re.finditer(r"-?\d+", text)))
        return text[: found.start()] + draw.choice(NUMBERS) + text[found.end() :]
    elif kind == 3:
        words = re.findall(r"[\w.:]+|<[^>]*>", text)
        found = draw.choice(list(re.finditer(r"[\w.:]+|<[^>]*>", text)))
        return text[: found.start()] + draw.choice(words) + text[found.end() :]
    elif kind == 4:
        at, to = sorted(draw.sample(range(len(text)), 2))
        return text[:at] + text[min(to, at + 40) :]
    else:
        at = draw.randrange(len(text))
        return text[:at] + draw.choice('()%:[]<>{},0-"\n \\') + text[at + draw.randint(0, 2) :]
    return "\n".join(lines)


@pytest.mark.parametrize("seed", range(8))
def test_a_changed_program_runs_or_raises(seed, archive):
    draw = random.Random(seed)
    ran = 0
    for _ in range(250):
        count = draw.choice([1, 1, 2, 5])

        def change(text, count=count):
            for _ in range(count):
                text = changed(text, draw)
            return text

        ran += try_all(with_text(archive, change))
    assert 0 < ran < 250


def test_two_members_of_one_name_are_refused(archive):
    with pytest.warns(UserWarning, match="Duplicate"):
        data = zipped([*members(archive), members(archive)[0]])
    with pytest.raises(RuntimeError, match="archive: the archive has two members"):
        load_program(data)


def test_compressed_and_encrypted_members_are_refused(archive):
    with pytest.raises(RuntimeError, match="is compressed"):
        load_program(zipped(members(archive), compression=zipfile.ZIP_DEFLATED))
    at = archive.rindex(b"PK\x01\x02")
    data = archive[: at + 8] + struct.pack("<H", 1) + archive[at + 10 :]
    with pytest.raises(RuntimeError, match="is encrypted"):
        load_program(data)


def entry_of(data, name):
    """Where the directory has a member's entry."""
    at = data.index(b"PK\x01\x02")
    while data[at + 46 :].find(name) != 0:
        at = data.index(b"PK\x01\x02", at + 1)
    return at


@pytest.mark.parametrize("offset", [0, 1, 64, 10**6, 2**31, 2**32 - 1])
def test_a_member_that_is_elsewhere_is_refused(offset, archive):
    at = entry_of(archive, b"archive/program.txt")
    data = archive[: at + 42] + struct.pack("<L", offset) + archive[at + 46 :]
    with pytest.raises(RuntimeError, match="is not where the directory says|ends too early|reaches"):
        load_program(data)


@pytest.mark.parametrize("size", [2**32 - 1, 2**31, 10**5])
def test_a_member_that_is_larger_than_the_file_is_refused(size, archive):
    at = entry_of(archive, b"archive/program.txt")
    data = archive[: at + 20] + struct.pack("<2L", size, size) + archive[at + 28 :]
    with pytest.raises(RuntimeError, match="reaches beyond its end|overlap"):
        load_program(data)


def test_members_that_overlap_are_refused(archive):
    at = entry_of(archive, b"archive/data/0")
    (size,) = struct.unpack_from("<L", archive, at + 20)
    data = archive[: at + 20] + struct.pack("<2L", size + 200, size + 200) + archive[at + 28 :]
    with pytest.raises(RuntimeError, match="overlap"):
        load_program(data)


def test_changed_numbers_of_a_tensor_are_told_by_their_checksum(archive):
    at = archive.index(dict(members(archive))["archive/data/0"])
    data = archive[:at] + bytes([archive[at] ^ 1]) + archive[at + 1 :]
    with pytest.raises(RuntimeError, match="the checksum of member 'data/0' differs"):
        load_program(data)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("torch program 1", "torch program 2", "another version of torch-jit"),
        ("(3, 3) (3, 1) 0", "(3, 3) (3, 1) 1", "reaches beyond member 'data/0', which has 36 bytes"),
        ("(3, 3) (3, 1) 0", "(3, 3) (3, 1) -1", "impossible geometry"),
        ("(3, 3) (3, 1) 0", "(3, 3) (-3, 1) 0", "impossible geometry"),
        ("(3, 3) (3, 1) 0", "(3, 3) (9223372036854775807, 1) 0", "impossible geometry"),
        ("(3, 3) (3, 1) 0", "(9223372036854775807, 9) (0, 0) 0", "does not fit into 64 bits"),
        ("(3, 3) (3, 1) 0", "(-3, 3) (0, 0) 0", "negative"),
        ("float32 (3, 3)", "float31 (3, 3)", "there is no dtype float31"),
        ("0 data/0", "0 data/77", "has no member 'archive/data/77'"),
        ('"weight" = tensor(0)', '"weight" = tensor(55)', "there is no tensor 55 yet"),
        ('"weight" = tensor(0)', '"weight" = 3', "expected a value of type Tensor"),
        ('"weight" = tensor(0)', '"heft" = tensor(0)', "has no attribute 'heft'"),
        ("root object(1)", "root object(7)", "there is no object 7 yet"),
        ("root object(1)", "root tensor(0)", "neither an object nor a function"),
        ("root object(1)", "", "has no root"),
        ('method "forward" 0', 'method "forward" 9', "there is no function 9 yet"),
        ("aten::linear(Tensor input", "aten::linear(Tensor inputs", "which none of this build is:"),
        ("aten::linear aten::linear(", "aten::linea aten::linea(", "is not in this build"),
        ("Linear module", "Linear nodule", "'module' or 'plain'"),
        ("graph(", "griph(", "expected a graph below"),
    ],
)
def test_what_is_wrong_is_told(old, new, message, archive):
    def change(text):
        assert old in text
        return text.replace(old, new, 1)

    with pytest.raises((RuntimeError, NotImplementedError, ValueError), match=message) as error:
        load_program(with_text(archive, change))
    assert str(error.value).startswith("archive: ")


def test_an_operator_that_got_an_argument_with_a_default_loads(archive):
    now = "aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor"
    then = "aten::linear(Tensor input, Tensor weight) -> Tensor"

    def change(text):
        assert now in text
        text = text.replace(now, then)
        return re.sub(r"(aten::linear\(%\w+, %\w+), %\w+\)", r"\1)", text)

    y, *_ = load_program(with_text(archive, change)).run("forward", torch.ones(2, 3), n=0)[:1]
    weight = dict(torch.jit.load(io.BytesIO(archive)).named_parameters())["fc.weight"]
    assert torch.allclose(y, torch.ones(2, 3) @ weight.T + torch.tensor([1.0, 2, 3]))


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace('"names" = ', '"names" = ' + "list<int>[" * 100_000),
        lambda text: text.replace('"names" = ', '"names" = ' + "[" * 100_000),
        lambda text: text.replace(": Tensor\n", ": " + "(" * 100_000 + "\n", 1),
        lambda text: text.replace(": Tensor\n", ": " + "Union(" * 100_000 + "\n", 1),
        lambda text: text.replace(": Tensor\n", ": Tensor" + "[]" * 200_000 + "\n", 1),
        lambda text: text.replace("prim::If(", "prim::If(" + "prim::If(" * 10_000, 1),
        lambda text: text.replace("return (", "block0():\n" * 10_000 + "return (", 1),
    ],
)
def test_deep_nesting_is_refused(change, archive):
    with pytest.raises((RuntimeError, ValueError), match="archive: "):
        load_program(with_text(archive, change))


def chain(kind, count):
    """Classes in classes, or objects in objects, each in the one after it."""
    head = "torch program 1\nclass A0 plain\n"
    classes = "".join(f'class A{i} plain\n  attribute "x" : A{i - 1}\n' for i in range(1, count))
    if kind == "classes":
        return head + classes + 'function 0 "f"\ngraph():\n  return ()\nroot function(0)\n'
    head = 'torch program 1\nclass A plain\n  attribute "x" : Any\nobject 0 A\n  "x" = None\n'
    objects = "".join(f'object {i} A\n  "x" = object({i - 1})\n' for i in range(1, count))
    return head + objects + f"root object({count - 1})\n"


@pytest.mark.parametrize("kind", ["classes", "objects"])
def test_long_chains_are_refused_and_short_ones_are_not(kind):
    assert load_program(zipped([("program.txt", chain(kind, 400))])).methods() == ["forward"] * (kind == "classes")
    with pytest.raises(RuntimeError, match=f"{kind} within {kind}, deeper than 500"):
        load_program(zipped([("program.txt", chain(kind, 100_000))]))


def test_a_long_chain_of_functions_is_freed():
    text = "torch program 1\n"
    for i in range(50_000):
        text += f'function {i} "f{i}"\ngraph():\n'
        if i:
            text += f"  %f : Function = prim::Constant[value=<function({i - 1})>]()\n  = prim::CallFunction(%f)\n"
        text += "  return ()\n"
    module = load_program(zipped([("program.txt", text + "root function(49999)\n")]))
    with pytest.raises(RecursionError, match="calls too deeply"):
        module.run("forward")
    del module


def test_what_is_no_archive_of_a_program_is_told(tmp_path):
    for data, message in [
        (b"", "not a zip archive"),
        (b"hello" * 30, "not a zip archive"),
        (zipped([]), "holds no program"),
        (zipped([("a/b", b"1")]), "holds no program"),
        (zipped([("a/data.pkl", b"1")]), "read it with torch.jit.load and write it with torch.jit.save"),
    ]:
        with pytest.raises(RuntimeError, match=message):
            load_program(data)
    with pytest.raises(RuntimeError, match="not a file"):
        load_program(str(tmp_path))
