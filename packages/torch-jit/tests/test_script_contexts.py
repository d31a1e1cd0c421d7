"""``with torch.autocast`` and ``record_function`` in scripts and archives; ``data/contexts.pt`` was written by PyTorch 2.13."""

import io
import pathlib
import zipfile

import pytest
import torch
from torch.autograd.profiler import profile, record_function
from torch.jit import _ir

ARCHIVE = pathlib.Path(__file__).parent / "data" / "contexts.pt"
OF_ARCHIVE = [torch.bfloat16, torch.float32, torch.bfloat16, torch.float32]


class Contexts(torch.nn.Module):
    def forward(self, x: torch.Tensor, name: str = "inner"):
        with record_function("outer", "of two"):
            with torch.autocast("cpu", torch.bfloat16):
                a = x @ x
                with torch.autocast("cpu", enabled=False), record_function(name):
                    b = x @ x
            with torch.cpu.amp.autocast():
                c = x @ x
        with torch.cuda.amp.autocast():
            d = x @ x
        return a, b, c, d


def archive(module):
    file = io.BytesIO()
    torch.jit.save(module, file)
    file.seek(0)
    return file


def ranges(module, *args):
    """Ranges of a call: their names, what is beside them, and how many operators run within, and its results."""
    with profile() as prof:
        found = module(*args)
    is_range = lambda e: not e.name.startswith("aten::")
    inside = lambda e: sum(1 for each in prof.function_events if each.name == "aten::matmul" and within(each, e))
    return [(e.name, e.concrete_inputs, inside(e)) for e in prof.function_events if is_range(e)], found


def within(event, outer):
    while event.cpu_parent is not None:
        event = event.cpu_parent
        if event is outer:
            return True
    return False


def modules():
    script = torch.jit.script(Contexts())
    read = torch.jit.load(ARCHIVE)
    return {
        "script": script,
        "saved": torch.jit.load(archive(script)),
        "read": read,
        "again": torch.jit.load(archive(read)),
    }


@pytest.mark.parametrize("kind", ["script", "saved", "read", "again"])
def test_ranges_are_noted_and_autocast_casts(kind):
    module = modules()[kind]
    noted, found = ranges(module, torch.ones(2, 2))
    assert noted == [("outer", ["of two"], 3), ("inner", [], 1)]
    assert [each.dtype for each in found] == OF_ARCHIVE
    assert not torch.is_autocast_enabled("cpu")


def test_a_range_has_a_name_that_only_the_run_tells():
    noted, _ = ranges(torch.jit.script(Contexts()), torch.ones(2, 2), "mine")
    assert [name for name, *_ in noted] == ["outer", "mine"]


def test_a_range_ends_where_its_body_raises():
    @torch.jit.script
    def run(x, fails: bool):
        with record_function("failing"):
            if fails:
                raise ValueError("no")
        return x * 2

    with profile() as prof:
        with pytest.raises(Exception, match="no"):
            run(torch.ones(1), True)
        torch.ones(1).exp()
    (failing,) = (e for e in prof.function_events if e.name == "failing")
    (after,) = (e for e in prof.function_events if e.name == "aten::exp")
    assert not within(after, failing)


def test_archives_have_the_classes_that_pytorch_knows():
    with zipfile.ZipFile(archive(torch.jit.script(Contexts()))) as file:
        texts = {
            name.partition("/code/")[2]: file.read(name).decode() for name in file.namelist() if name.endswith(".py")
        }
    assert any("with _0:" in text for text in texts.values())
    assert not any("ops.prim.autocast" in text or "ops.prim.range" in text for text in texts.values())
    assert "ops.profiler._record_function_enter_new" in texts["__torch__/torch/autograd/profiler.py"]
    assert "self.fast_dtype" in texts["__torch__/torch/amp/autocast_mode.py"]


def test_what_a_context_is_not_called_with_is_named():
    with pytest.raises(RuntimeError, match=r"record_function\(\): missing a required argument: 'name'"):

        @torch.jit.script
        def run(x):
            with record_function():
                return x


@pytest.mark.parametrize("place", [-1, 1, 7, 2**40 + 3, 2**62])
def test_a_program_ends_no_range_but_its_own(place):
    graph = _ir.Graph()
    graph.call("prim::range_leave", [place])
    graph.registerOutput(graph.insertConstant(place))
    run = _ir.Function("leaves", graph)
    with profile() as prof, record_function("outer"):
        assert run() == place
        torch.ones(1).exp()
    assert [e.name for e in prof.function_events if "ones" not in e.name and "fill" not in e.name] == [
        "outer",
        "aten::exp",
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('.__init__("outer", "of two", )', ".__init__()", "missing a required argument: 'name'"),
        ('.__init__("outer", "of two", )', ".__init__(1, 2, 3, 4)", "too many positional arguments"),
        ('.__init__("outer", "of two", )', ".__enter__()", "no name|asks Context"),
        ('.__init__("cpu", 15, True, None, )', '.__init__("nowhere", 15, True, None, )', "nowhere"),
        ('.__init__("cpu", 15, True, None, )', ".__init__(15, 15, 15, 15, )", "Expected a value of type 'str'"),
    ],
)
def test_a_context_that_an_archive_makes_wrong_is_told(old, new, message):
    changed = io.BytesIO()
    with zipfile.ZipFile(ARCHIVE) as file, zipfile.ZipFile(changed, "w") as out:
        for name in file.namelist():
            text = file.read(name)
            assert not name.endswith("code/__torch__.py") or old.encode() in text
            out.writestr(name, text.replace(old.encode(), new.encode()) if name.endswith("code/__torch__.py") else text)
    changed.seek(0)
    with pytest.raises((RuntimeError, ValueError, TypeError), match=message):
        torch.jit.load(changed)(torch.ones(2, 2))
