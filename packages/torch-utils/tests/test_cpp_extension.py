"""Extensions compiled while the program runs: what is built, what is remembered, what is said."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

pytest.importorskip("pybind11")
import torch
from torch.utils import cpp_extension
from torch.utils.cpp_extension import load, load_inline

if not cpp_extension.check_compiler_abi_compatibility(os.environ.get("CXX", "c++")):
    pytest.skip("needs a C++20 compiler", allow_module_level=True)

pytestmark = pytest.mark.usefixtures("time_to_compile")

FAST = ["-O0"]
PLAIN = Path(__file__).with_name("plain.cpp").read_text()


@pytest.fixture(scope="module", autouse=True)
def root(tmp_path_factory):
    folder = tmp_path_factory.mktemp("extensions")
    before = os.environ.get("TORCH_EXTENSIONS_DIR")
    os.environ["TORCH_EXTENSIONS_DIR"] = str(folder)
    yield folder
    del os.environ["TORCH_EXTENSIONS_DIR"]
    if before is not None:
        os.environ["TORCH_EXTENSIONS_DIR"] = before


@pytest.fixture
def plain(tmp_path):
    """Writes a source and loads it; `number` stands in a header beside it."""
    source = tmp_path / "plain.cpp"
    (tmp_path / "number.h").write_text("#define NUMBER 7\n")
    source.write_text('#include "number.h"\n' + PLAIN)
    return lambda **options: load("plain", source, build_directory=tmp_path / "built", **options)


def test_a_dict_of_functions_gives_docstrings(root):
    source = "int one() { return 1; }"
    module = load_inline("documented", source, functions={"one": 'the "one"\nand only'}, extra_cflags=FAST)
    assert module.one() == 1
    assert 'the "one"\nand only' in module.one.__doc__


def test_the_first_error_is_told_with_its_line_and_the_command(root):
    with pytest.raises(cpp_extension.BuildError) as caught:
        load_inline(
            "faulty",
            ["", "#include <cmath>\nint f() { return missing + 1; }\nint g() { return gone; }"],
            no_implicit_headers=True,
        )
    said = str(caught.value)
    assert said.startswith(
        "building the extension 'faulty' failed:\n  faulty: cpp_sources[1]:2:18: error: 'missing' was not declared"
    )
    assert "  and 1 more\ncommand: " in said
    assert isinstance(caught.value, RuntimeError)
    log = Path(said.rpartition("all of the output: ")[2])
    assert "gone" in log.read_text()
    assert caught.value.command[0] in said


def test_a_symbol_that_nobody_defines_is_named_plainly(root):
    source = PLAIN.replace("NUMBER", "elsewhere(2)").replace(
        "static PyObject*", "int elsewhere(int);\nstatic PyObject*", 1
    )
    with pytest.raises(ImportError, match=r"elsewhere\(int\).*declared, but defined in no source"):
        load_inline("unlinked", source, no_implicit_headers=True)


def test_a_source_without_a_module_is_told(tmp_path):
    (tmp_path / "a.cpp").write_text("int f() { return 1; }")
    with pytest.raises(ImportError, match=r"define no module, PYBIND11_MODULE\(TORCH_EXTENSION_NAME, m\).*'empty'"):
        load("empty", tmp_path / "a.cpp", build_directory=tmp_path / "built")


def test_what_is_defined_twice_is_named(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.cpp").write_text("int twice() { return 1; }")
    with pytest.raises(cpp_extension.BuildError, match=r"failed:\n.*multiple definition of .twice\(\)"):
        load("x", [tmp_path / "a.cpp", tmp_path / "b.cpp"], build_directory=tmp_path / "built")


def test_a_folder_that_cannot_be_written_to_is_told_with_the_way_out(tmp_path, monkeypatch):
    (tmp_path / "a.cpp").write_text("")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path / "file"))
    with pytest.raises(
        NotADirectoryError, match=f"give build_directory, or set TORCH_EXTENSIONS_DIR .*{tmp_path}/file/"
    ):
        load("x", tmp_path / "a.cpp")


def test_a_missing_library_is_an_error_of_the_linker(plain):
    with pytest.raises(cpp_extension.BuildError, match="cannot find -lno_such_library"):
        plain(extra_ldflags=["-lno_such_library"])


def test_what_is_built_is_not_built_again(plain, capfd, tmp_path):
    assert plain(verbose=True).number() == 7
    assert not (tmp_path / "built" / "lock").exists()  # which PyTorch would wait for
    assert capfd.readouterr().err.count(" -c ") == 1
    assert plain(verbose=True).number() == 7
    assert capfd.readouterr().err == ""


def test_a_changed_header_is_noticed_in_the_same_process(plain, tmp_path):
    assert plain().number() == 7
    (tmp_path / "number.h").write_text("#define NUMBER 8\n")
    assert plain().number() == 8
    (tmp_path / "number.h").write_text("#define NUMBER 7\n")
    assert plain().number() == 7
    assert len(list((tmp_path / "built").glob("plain-*.so"))) == 2


def test_a_header_of_a_library_is_watched_as_well(plain, tmp_path):
    headers = tmp_path / "of_library"
    headers.mkdir()
    (tmp_path / "number.h").write_text("#include <of_library.h>\n")
    for number in (3, 4):
        (headers / "of_library.h").write_text(f"#define NUMBER {number}\n")
        assert plain(extra_cflags=["-isystem", str(headers)]).number() == number


def test_headers_of_torch_are_watched_and_those_of_the_compiler_are_not(plain, tmp_path):
    (tmp_path / "number.h").write_text("#include <torch/core/macros.h>\n#include <stdlib.h>\n#define NUMBER 5\n")
    assert plain().number() == 5
    (note,) = (tmp_path / "built" / "objects").glob("*.json")
    names = list(json.loads(note.read_text()))
    assert any(name.endswith("torch/core/macros.h") for name in names)
    assert not any("/usr/include/" in os.path.normpath(name) for name in names)


def test_flags_are_part_of_the_content(plain, tmp_path):
    (tmp_path / "number.h").write_text("")
    assert plain(extra_cflags=["-DNUMBER=1"]).number() == 1
    assert plain(extra_cflags=["-DNUMBER=2"]).number() == 2


def test_flags_may_be_written_loosely(plain, tmp_path):
    (tmp_path / "number.h").write_text("static_assert(sizeof(TEXT) == 4);")
    flags = ["-g\n\n", "-O0 -DNUMBER=3", """'-DTEXT="a b"'"""]
    assert plain(extra_cflags=flags, extra_include_paths=[f"   {tmp_path}\n"]).number() == 3


def test_objects_go_when_they_are_not_wanted(plain, tmp_path):
    assert plain(keep_intermediates=False).number() == 7
    assert not (tmp_path / "built/objects").exists()
    assert plain().number() == 7


def test_c_and_cpp_sources_are_compiled_side_by_side(tmp_path):
    (tmp_path / "a.c").write_text("int number(void) { int class = 4; return class; }")
    (tmp_path / "b.cpp").write_text('extern "C" int number();\n' + PLAIN.replace("NUMBER", "::number()"))
    module = load("mixed", [tmp_path / "a.c", str(tmp_path / "b.cpp")], build_directory=tmp_path / "built")
    assert module.number() == 4


def test_a_library_that_is_no_module_is_loaded_by_path(tmp_path):
    (tmp_path / "a.cpp").write_text('extern "C" __attribute__((visibility("default"))) int three() { return 3; }')
    path = load("library", tmp_path / "a.cpp", build_directory=tmp_path / "built", is_python_module=False)
    import ctypes

    assert ctypes.CDLL(path).three() == 3


def test_a_standalone_program_finds_the_core(tmp_path):
    (tmp_path / "main.cpp").write_text(
        '#include <cstdio>\n#include "torch/core/init.h"\n#include "torch/core/ops.h"\n'
        'int main() { torch::init(); std::printf("%g", *torch::sum(torch::ones({2, 3})).data<float>()); }'
    )
    path = load("program", tmp_path / "main.cpp", FAST, build_directory=tmp_path / "built", is_standalone=True)
    assert subprocess.run([path], capture_output=True, text=True).stdout == "6"


CHILD = """
import sys
from torch.utils.cpp_extension import load
print(load("plain", sys.argv[1], build_directory=sys.argv[2], verbose=True).number())
"""


def child(tmp_path, **environment):
    command = [sys.executable, "-c", CHILD, str(tmp_path / "plain.cpp"), str(tmp_path / "built")]
    path = os.pathsep.join(p for p in sys.path if p)
    settings = {**os.environ, "PYTHONPATH": path, **environment}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=settings)


def test_of_many_processes_one_builds(plain, tmp_path):
    children = [child(tmp_path) for _ in range(4)]
    said = [c.communicate(timeout=50) for c in children]
    assert [out for out, _ in said] == ["7\n"] * 4, said
    assert sum(err.count(" -c ") for _, err in said) == 1


def test_a_process_killed_while_it_builds_is_no_hindrance(plain, tmp_path):
    slow = tmp_path / "slow-compiler"
    slow.write_text('#!/bin/sh\ncase "$*" in *--version*) ;; *) echo $$ > "$0.pid"; sleep 20;; esac\nexec c++ "$@"\n')
    slow.chmod(0o755)
    victim = child(tmp_path, CXX=str(slow))
    deadline = time.monotonic() + 30
    while not (pid := tmp_path / "slow-compiler.pid").exists() or not pid.read_text().strip():
        assert victim.poll() is None, victim.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert list((tmp_path / "built").glob("build-*"))
    victim.kill()
    victim.communicate()
    os.kill(int(pid.read_text()), signal.SIGKILL)
    began = time.monotonic()
    assert plain().number() == 7
    assert time.monotonic() - began < 15  # the lock went with its holder
    assert not list((tmp_path / "built").glob("build-*"))


def test_threads_may_load_at_once(plain):
    found = []
    threads = [threading.Thread(target=lambda: found.append(plain().number())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [7] * 4


def test_tensors_have_the_operators_of_bits(root):
    source = """
    torch::Tensor halves(torch::Tensor t) { return torch::cat({(t & 0x0F), (t & 0xF0).__rshift__(4)}, 0); }
    torch::Tensor others(torch::Tensor a, torch::Tensor b) {
      return torch::stack({a | b, a ^ 1, ~a & b, a % 3, 7 & b, a.__lshift__(1), a.__and__(b), a.__or__(4), a.__xor__(b)});
    }
    """
    module = load_inline("bits", source, functions=["halves", "others"], extra_cflags=FAST)
    assert module.halves(torch.tensor([0x1F, 0xA2], dtype=torch.uint8)).tolist() == [15, 2, 1, 10]
    a, b = torch.tensor([6, 5]), torch.tensor([3, 12])
    assert module.others(a, b).tolist() == [
        [7, 13], [7, 4], [1, 8], [0, 2], [3, 4], [12, 10], [2, 4], [6, 5], [5, 9],
    ]  # fmt: skip


def test_what_was_compiled_is_imported_from_its_folder(plain, tmp_path):
    plain()
    module = cpp_extension._import_module_from_library("plain", str(tmp_path / "built"), True)
    assert module.number() == 7
    with pytest.raises(ImportError, match="other was not compiled into"):
        cpp_extension._import_module_from_library("other", str(tmp_path / "built"), True)
    assert Path(cpp_extension._TORCH_PATH, "include", "torch", "extension.h").exists()
    assert Path(cpp_extension._get_build_directory("mine", False)).is_dir()
