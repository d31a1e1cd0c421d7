import io
import os
import pickle
import sys
import traceback
import zipfile

import pytest

torch = pytest.importorskip("torch")
if not hasattr(torch, "Tensor"):
    pytest.skip("packages hold tensors: they need torch-core", allow_module_level=True)

from torch.package import (  # noqa: E402
    Directory,
    EmptyMatchError,
    GlobGroup,
    ObjMismatchError,
    ObjNotFoundError,
    OrderedImporter,
    PackageExporter,
    PackageImporter,
    PackagingError,
    analyze,
    is_from_package,
    sys_importer,
)
from torch.package.find_file_dependencies import find_files_source_depends_on  # noqa: E402

SHAPES = """\
from . import units
import math


class Square:
    def __init__(self, side):
        self.side = side

    def area(self):
        return self.side * self.side * units.SCALE

    class Corner:
        pass
"""


@pytest.fixture
def box(tmp_path, monkeypatch):
    """A library of three modules, which is forgotten after the test."""
    folder = tmp_path / "library" / "box"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "shapes.py").write_text(SHAPES)
    (folder / "units.py").write_text("SCALE = 2\n")
    monkeypatch.syspath_prepend(tmp_path / "library")
    yield __import__("box.shapes").shapes
    for name in [n for n in sys.modules if n.partition(".")[0] == "box"]:
        del sys.modules[name]


def packed(fill, **options):
    """A package in memory, and its exporter."""
    file = io.BytesIO()
    with PackageExporter(file, **options) as exporter:
        fill(exporter)
    return file, exporter


def files(file):
    return {n.partition("/")[2] for n in zipfile.ZipFile(file).namelist()} - {
        ".data/extern_modules", ".data/python_version", ".data/version", "byteorder",
    }  # fmt: skip


def test_an_object_runs_where_the_source_of_its_class_is_gone(box, tmp_path):
    path = tmp_path / "square.pt"
    with PackageExporter(path) as exporter:
        exporter.intern("box.**")
        exporter.save_pickle("things", "square.pkl", box.Square(torch.tensor(3.0)))
    for name in [n for n in sys.modules if n.startswith("box")]:
        del sys.modules[name]
    (tmp_path / "library" / "box" / "units.py").write_text("SCALE = 100\n")
    square = PackageImporter(path).load_pickle("things", "square.pkl")
    assert square.area() == 18.0
    assert is_from_package(square) and not is_from_package(box.Square(1))
    assert "box" not in sys.modules


def test_two_packages_have_classes_of_their_own(box):
    file, _ = packed(lambda e: (e.intern("box.**"), e.save_pickle("a", "b", box.Square(1))))
    one, other = PackageImporter(file), PackageImporter(file)
    first, second = one.load_pickle("a", "b"), other.load_pickle("a", "b")
    assert type(first) is not type(second) and type(first).__module__ == f"{one.id()}.box.shapes"
    assert isinstance(first, one.import_module("box.shapes").Square)
    assert one.import_module("box.shapes") is one.import_module("box.shapes")


def test_tensors_of_all_pickles_share_what_they_shared():
    x = torch.arange(6.0).view(2, 3)

    def fill(exporter):
        exporter.save_pickle("a", "x.pkl", [x, x.t()])
        exporter.save_pickle("a", "y.pkl", {"row": x[1], "ints": torch.tensor([1, 2])}, pickle_protocol=4)

    file, exporter = packed(fill)
    assert files(file) == {"a/x.pkl", "a/y.pkl", ".data/0.storage", ".data/1.storage"}
    assert exporter.externed_modules() == ["collections", "torch", "torch._utils"]
    importer = PackageImporter(file)
    (whole, turned), later = importer.load_pickle("a", "x.pkl"), importer.load_pickle("a", "y.pkl")
    whole[1, 0] = 50.0
    assert turned[0, 1] == 50.0 and later["row"][0] == 50.0 and later["ints"].tolist() == [1, 2]


def test_a_bytearray_is_as_long_as_its_pickle_says():
    file, _ = packed(lambda exporter: exporter.save_pickle("a", "x.pkl", bytearray(b"abc"), pickle_protocol=5))
    assert PackageImporter(file).load_pickle("a", "x.pkl") == bytearray(b"abc")
    for size in (2**40, 2**63 - 1, 2**64 - 1):
        claims = b"\x80\x05\x96" + size.to_bytes(8, "little") + b"abc."
        file, _ = packed(lambda exporter: exporter.save_binary("a", "x.pkl", claims))
        with pytest.raises(pickle.UnpicklingError, match=f"expected {size} bytes in a bytearray, but only 4 remain"):
            PackageImporter(file).load_pickle("a", "x.pkl")


def test_packages_of_pytorch_are_read(data):
    importer = PackageImporter(data / "package.pt")
    square = importer.load_pickle("things", "square.pkl")
    assert torch.equal(square.area(), 2 * torch.arange(6.0).view(2, 3) ** 2)
    whole, turned, row = importer.load_pickle("things", "shared.pkl")
    assert torch.equal(whole.t(), turned) and torch.equal(whole[1], row)
    assert importer.load_text("things", "note.txt") == "from PyTorch"
    assert importer.python_version().startswith("3.")


def test_pytorch_reads_our_packages(box, tmp_path, peer):
    with PackageExporter(tmp_path / "ours.pt") as exporter:
        exporter.intern("box.**")
        exporter.save_pickle("things", "square.pkl", box.Square(torch.tensor([3.0])))
        exporter.save_pickle("things", "corner.pkl", [box.Square.Corner()])
    code = """
from torch.package import PackageImporter
p = PackageImporter("ours.pt")
print(p.load_pickle("things", "square.pkl").area().tolist(), type(p.load_pickle("things", "corner.pkl")[0]).__qualname__)
"""
    assert peer(code) == "[18.0] Square.Corner"


def test_nested_classes_are_found_in_every_protocol(box):
    for protocol in (2, 3, 4, 5):
        file, _ = packed(
            lambda e, p=protocol: (e.intern("**"), e.save_pickle("a", "b", box.Square.Corner(), pickle_protocol=p))
        )
        assert type(PackageImporter(file).load_pickle("a", "b")).__qualname__ == "Square.Corner"
    with pytest.raises(ValueError, match="pickle_protocol must be 2 to 5, got 1"):
        PackageExporter(io.BytesIO()).save_pickle("a", "b", 1, pickle_protocol=1)


def test_patterns_say_what_goes_in(box):
    file, exporter = packed(lambda e: (e.intern("box.**"), e.save_pickle("m", "x", box.Square(1))))
    assert files(file) == {"m/x", "box/shapes.py", "box/units.py"}
    assert exporter.interned_modules() == ["box.shapes", "box.units"] and exporter.externed_modules() == ["math"]
    assert exporter.get_rdeps("box.units") == ["box.shapes"]
    assert '"box.shapes" -> "box.units";' in exporter.dependency_graph_string()
    assert exporter.all_paths("<m.x>", "box.units").count("->") == 2

    file, exporter = packed(lambda e: (e.extern("box.**"), e.save_pickle("m", "x", box.Square(1))))
    assert files(file) == {"m/x"} and exporter.externed_modules() == ["box.shapes"]
    assert type(PackageImporter(file).load_pickle("m", "x")) is box.Square


def test_a_mocked_module_is_imported_and_refuses_to_be_used(box):
    def fill(exporter):
        exporter.mock("box.units")
        exporter.intern("box.**")
        exporter.save_pickle("m", "x", box.Square(1))

    file, exporter = packed(fill)
    assert exporter.mocked_modules() == ["box.units"] and "_mock.py" in files(file)
    importer = PackageImporter(file)
    square = importer.load_pickle("m", "x")
    with pytest.raises(NotImplementedError, match="box.units.SCALE' was mocked out during packaging"):
        square.area()
    assert "MockedObject" in repr(importer.import_module("box.units").anything)
    with pytest.raises(NotImplementedError, match="mocked out"):
        importer.import_module("box.units").anything()


def test_modules_without_a_rule_and_denied_ones_are_named(box):
    with pytest.raises(PackagingError) as error:
        packed(lambda e: e.save_pickle("m", "x", box.Square(1)))
    assert "* Module did not match against any action pattern. Extern, mock, or intern it.\n    box.shapes\n" in str(
        error.value
    )
    assert "Set debug=True when invoking PackageExporter" in str(error.value)
    assert analyze.find_first_use_of_broken_modules(error.value) == {"box.shapes": ["<m.x>", "box.shapes"]}

    def fill(exporter):
        exporter.deny("box.units")
        exporter.intern("box.**")
        exporter.save_module("box.shapes")

    with pytest.raises(
        PackagingError,
        match="Module was denied by a pattern.\n    box.units\n      A path to box.units: box.shapes -> box.units",
    ):
        packed(fill, debug=True)
    with pytest.raises(TypeError, match="expected a PackagingError, got ValueError"):
        analyze.find_first_use_of_broken_modules(ValueError())


def test_what_has_no_source_cannot_go_in():
    with pytest.raises(PackagingError, match="Module is a C extension module.*\n    _ctypes|Module had no __file__"):
        packed(lambda e: e.save_module("_ctypes"))
    with pytest.raises(PackagingError, match="Module had no __file__ defined.\n    sys\n      Note: "):
        packed(lambda e: (e.intern("**"), e.save_source_string("a", "import sys")))
    with pytest.raises(PackagingError, match="Dependency resolution failed.\n    a\n      Context: line 1"):
        packed(lambda e: e.save_source_string("a", "def ("))
    with pytest.raises(TypeError, match="save_module.. expects a string input"):
        packed(lambda e: e.save_module(os))


def test_a_pattern_that_must_match_says_so_when_it_does_not():
    for word in ("intern", "extern", "mock"):
        with pytest.raises(
            EmptyMatchError, match=r"GlobGroup\(include=zzz.\*\*, exclude=\(\)\), which was marked as allow_empty=False"
        ):
            packed(lambda e, w=word: getattr(e, w)("zzz.**", allow_empty=False))


def test_sources_go_in_as_strings_files_and_folders(tmp_path):
    (tmp_path / "one.py").write_text("X = 1")
    (tmp_path / "kit" / "sub").mkdir(parents=True)
    (tmp_path / "kit" / "__init__.py").write_text("from .sub import thing")
    (tmp_path / "kit" / "sub" / "__init__.py").write_text("")
    (tmp_path / "kit" / "sub" / "thing.py").write_text("Y = 2")

    def fill(exporter):
        exporter.save_source_file("first", tmp_path / "one.py")
        exporter.save_source_file("kit", tmp_path / "kit")
        exporter.save_source_string("top", "from .below import Z\nimport top.below as b\nN = __name__", is_package=True)
        exporter.save_source_string("top.below", "Z = 3")

    importer = PackageImporter(packed(fill)[0])
    assert importer.import_module("first").X == 1 and importer.import_module("kit").thing.Y == 2
    top = importer.import_module("top")
    assert (3, 3, f"{importer.id()}.top") == (top.Z, top.b.Z, top.N)
    assert importer.import_module(".below", "top") is top.below
    assert importer.get_source("top.below") == "Z = 3"


def test_imports_within_a_package_stay_there(box):
    source = "import torch, math\ntry:\n    import subprocess_of_nobody\nexcept ImportError as e:\n    WHY = str(e)\nfrom torch import *\n"
    file, _ = packed(lambda e: (e.intern("subprocess_*"), e.save_source_string("a", source)))
    module = PackageImporter(file).import_module("a")
    assert module.torch is torch and 'No module named "subprocess_of_nobody" in self-contained archive' in module.WHY
    with pytest.raises(
        ModuleNotFoundError,
        match=r'No module named "box" in self-contained archive "<binary>" and the module is also not ',
    ):
        PackageImporter(file).import_module("box")
    with pytest.raises(ImportError, match="needs the external module 'math' but that module has been disallowed"):
        PackageImporter(file, module_allowed=lambda name: name != "math")


def test_a_module_that_fails_is_imported_anew_the_next_time():
    file, _ = packed(lambda e: (e.extern("os"), e.save_source_string("a", "raise ValueError('twice')")))
    importer = PackageImporter(file)
    for _ in range(2):
        with pytest.raises(ValueError, match="twice") as error:
            importer.import_module("a")
    assert "raise ValueError('twice')" in "".join(traceback.format_exception(error.value))


def test_resources_are_read_from_outside_and_from_within(tmp_path):
    from importlib import resources

    def fill(exporter):
        exporter.save_text("kit", "note.txt", "grüße")
        exporter.save_binary("kit.deep", "b.bin", b"\0\1")
        code = "import torch_package_importer as p\nfrom importlib import resources\nT = p.load_text(__package__, 'note.txt')"
        exporter.save_source_string("kit", code, is_package=True)

    importer = PackageImporter(packed(fill)[0])
    assert importer.load_text("kit", "note.txt") == "grüße" and importer.load_binary("kit.deep", "b.bin") == b"\0\1"
    kit = importer.import_module("kit")
    assert kit.T == "grüße" and resources.files(kit).joinpath("note.txt").read_text("utf-8") == "grüße"
    with pytest.raises(RuntimeError, match="<binary> has no file 'kit/lost.txt'"):
        importer.load_text("kit", "lost.txt")
    shown = str(importer.file_structure(include="kit/**", exclude="**/*.bin"))
    assert shown == "─── <binary>\n    └── kit\n        ├── __init__.py\n        └── note.txt\n"
    assert importer.file_structure().has_file("kit/deep/b.bin") and not importer.file_structure().has_file("kit/x")
    assert isinstance(importer.file_structure(), Directory)


def test_objects_of_a_package_are_packed_again_with_its_importer(box):
    file, _ = packed(lambda e: (e.intern("box.**"), e.save_pickle("m", "x", box.Square(3))))
    importer = PackageImporter(file)
    square = importer.load_pickle("m", "x")
    with pytest.raises(Exception, match="is not the same object as box.shapes.Square"):
        packed(lambda e: (e.intern("box.**"), e.save_pickle("m", "x", square)))
    again, _ = packed(
        lambda e: (e.intern("box.**"), e.save_pickle("m", "x", square)), importer=(importer, sys_importer)
    )
    assert PackageImporter(again).load_pickle("m", "x").area() == 18


def test_importers_tell_where_an_object_is_found(box):
    file, _ = packed(lambda e: (e.intern("box.**"), e.save_pickle("m", "x", box.Square(3))))
    importer = PackageImporter(file)
    theirs = importer.import_module("box.shapes").Square
    assert importer.get_name(theirs) == ("box.shapes", "Square") == sys_importer.get_name(box.Square)
    with pytest.raises(ObjMismatchError, match="it comes from the package <torch_package_"):
        sys_importer.get_name(theirs)
    with pytest.raises(ObjNotFoundError, match="was not found as"):
        sys_importer.get_name(lambda: 0)
    both = OrderedImporter(importer, sys_importer)
    assert both.get_name(theirs) == ("box.shapes", "Square") and both.import_module("os") is os
    with pytest.raises(ModuleNotFoundError, match="No module named 'zzz'"):
        both.import_module("zzz")


def test_hooks_are_told_each_module_once(box):
    told = []

    def fill(exporter):
        exporter.register_intern_hook(lambda e, name: told.append(("intern", name)))
        exporter.register_extern_hook(lambda e, name: told.append(("extern", name)))
        exporter.register_mock_hook(lambda e, name: told.append(("mock", name)))
        exporter.register_mock_hook(lambda e, name: told.append("never")).remove()
        exporter.mock("box.units")
        exporter.intern("box.**")
        exporter.save_module("box.shapes")
        assert [exporter.get_unique_id(), exporter.get_unique_id()] == ["0", "1"]

    packed(fill)
    assert sorted(told) == [("extern", "math"), ("intern", "box.shapes"), ("mock", "box.units")]


def test_a_package_that_fails_leaves_nothing_behind(tmp_path):
    for fail in (lambda e: 1 / 0, lambda e: e.save_source_string("a", "import zzz.never\nimport sys")):
        with pytest.raises((ZeroDivisionError, PackagingError)):
            with PackageExporter(tmp_path / "p.pt") as exporter:
                fail(exporter)
        assert list(tmp_path.iterdir()) == []
    exporter = PackageExporter(tmp_path / "p.pt")
    del exporter
    assert list(tmp_path.iterdir()) == []


def test_wrong_uses_are_told():
    exporter = PackageExporter(io.BytesIO())
    exporter.save_text("a", "b", "c")
    with pytest.raises(RuntimeError, match="there is a record 'a/b' already"):
        exporter.save_text("a", "b", "c")
    for package, resource in (("..", "x"), ("a", "../x"), ("", "x"), (".data", "version")):
        with pytest.raises(ValueError, match="make no path within a package"):
            exporter.save_text(package, resource, "c")
    exporter.close()
    with pytest.raises(RuntimeError, match="the package is closed"):
        exporter.save_text("a", "d", "c")
    with pytest.raises(TypeError, match="expected a path or a binary file object, got int"):
        PackageExporter(3)
    with pytest.raises(ValueError, match="can only appear as an entire path segment"):
        GlobGroup("a.b**")


@pytest.mark.parametrize("cut", [0, 3, 100, -1, -30])
def test_a_broken_archive_is_one_clear_error(cut):
    file, _ = packed(lambda e: e.save_pickle("a", "x", torch.ones(3)))
    with pytest.raises(RuntimeError):
        PackageImporter(io.BytesIO(file.getvalue()[:cut])).load_pickle("a", "x")


def changed(file, name, content):
    """The package with another content of one of its files."""
    other = io.BytesIO()
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(other, "w") as new:
        for title in old.namelist():
            new.writestr(title, content if title.endswith(f"/{name}") else old.read(title))
    return other


@pytest.mark.parametrize(
    "stream",
    [
        b"",
        b"a.",
        b"h\x05.",
        b"X\x04\x00\x00\x00\xff\xfe\xfd\xfc.",
        b"Ifour\n.",
        b"G\x00\x00.",
        b"K\x01K\x02K\x03s.",
        b"\xff.",
    ],
)
def test_a_damaged_pickle_is_one_error_that_names_the_file(stream):
    good, _ = packed(lambda e: e.save_pickle("shop", "x.pkl", [1]))
    with pytest.raises(pickle.UnpicklingError, match="load_pickle: shop/x.pkl of <binary> is damaged: "):
        PackageImporter(changed(good, "x.pkl", stream)).load_pickle("shop", "x.pkl")


def test_errors_of_code_in_a_package_are_passed_on():
    source = "class Price:\n    def __setstate__(self, state):\n        raise KeyError('currency')"
    good, _ = packed(lambda e: (e.save_source_string("shop", source), e.save_binary("shop", "x.pkl", b"")))
    PackageImporter(changed(good, "x.pkl", b"cshop\nPrice\n)\x81.")).load_pickle("shop", "x.pkl")
    with pytest.raises(KeyError, match="currency"):
        PackageImporter(changed(good, "x.pkl", b"cshop\nPrice\n)\x81K\x01b.")).load_pickle("shop", "x.pkl")


@pytest.mark.parametrize("name", ["extern_modules", "shop.py"])
def test_a_text_that_is_none_is_named(name):
    good, _ = packed(lambda e: e.save_source_string("shop", "milk = 120"))
    with pytest.raises(RuntimeError, match=f"<binary> is damaged: .*{name} is no text"):
        PackageImporter(changed(good, name, b"\x80\x02")).import_module("shop")


def test_a_hostile_archive_is_refused(tmp_path):
    torch.save({"a": 1}, tmp_path / "checkpoint.pt")
    with pytest.raises(RuntimeError, match="has no file '.data/extern_modules'"):
        PackageImporter(tmp_path / "checkpoint.pt")
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("p/../../evil", b"")
    with pytest.raises(RuntimeError, match="evil"):
        PackageImporter(file)
    good, _ = packed(lambda e: e.save_pickle("a", "x", torch.ones(1000)))
    short = io.BytesIO()
    with zipfile.ZipFile(good) as old, zipfile.ZipFile(short, "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name)[: 16 if name.endswith(".storage") else None])
    with pytest.raises(RuntimeError, match="storage '0' has 16 bytes, not 1000 elements"):
        PackageImporter(short).load_pickle("a", "x")


def test_dependencies_are_read_from_the_text():
    source = "import a.b as c\nfrom d import e as f, g\nfrom . import h\nfrom .i import j\nfrom ..k import *\n__import__('l')\n"
    found = find_files_source_depends_on(source, "top.sub")
    assert found == [
        ("a.b", None),
        ("d", "e"),
        ("d", "g"),
        ("top.sub", "h"),
        ("top.sub.i", "j"),
        ("top.k", None),
        ("l", None),
    ]


def test_calls_tell_the_modules_that_they_use(box):
    used = analyze.trace_dependencies(lambda side: box.Square(side).area(), [(2,), (3,)])
    assert "box.shapes" in used
