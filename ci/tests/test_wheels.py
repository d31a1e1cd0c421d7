import os
import sys
import zipfile

import wheels

import packages


def wheel(path, *names):
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, "")
    return path


def test_two_wheels_that_own_one_path_are_both_named(tmp_path):
    a = wheel(tmp_path / "a.whl", "torch/nn/__init__.py", "torch/py.typed", "a.dist-info/RECORD")
    b = wheel(tmp_path / "b.whl", "torch/py.typed", "a.dist-info/RECORD")
    assert wheels.owners([a, b]) == {"torch/py.typed": ["a.whl", "b.whl"]}


def test_wheels_for_other_pythons_stay_beside_those_of_this_one(tmp_path):
    package = packages.read()["torch-core"]
    own = f"torch_core-{package.version}-cp{sys.version_info.major}{sys.version_info.minor}-x-linux_x86_64.whl"
    for name in (own, "torch_core-0.1.0-cp39-cp39-linux_x86_64.whl", "torch_core_cuda-0.1.0-py3-none-any.whl"):
        wheel(tmp_path / name)
    assert [file.name for file in wheels.of_this_python(package, tmp_path)] == [own]
    nn = packages.read()["torch-nn"]
    pure = wheel(tmp_path / f"torch_nn-{nn.version}-py3-none-any.whl")
    assert wheels.of_this_python(nn, tmp_path) == [pure]


def test_released_wheels_stay_and_count_for_nothing(tmp_path):
    wheel(tmp_path / "torch_nn-0.0.9-py3-none-any.whl")
    assert wheels.of_this_python(packages.read()["torch-nn"], tmp_path) == []


def test_wheels_apart_share_nothing(tmp_path):
    a = wheel(tmp_path / "a.whl", "torch/nn/__init__.py")
    b = wheel(tmp_path / "b.whl", "torch/optim/__init__.py")
    assert wheels.owners([a, b]) == {}


def test_sync_touches_only_what_differs(tmp_path):
    wheels.sync({"a/x.cpp": b"1", "y.cpp": b"2"}, tmp_path)
    for name in ("a/x.cpp", "y.cpp"):
        os.utime(tmp_path / name, (1, 1))
    wheels.sync({"a/x.cpp": b"1", "y.cpp": b"3"}, tmp_path)
    assert (tmp_path / "a/x.cpp").stat().st_mtime == 1
    assert (tmp_path / "y.cpp").stat().st_mtime > 1
    assert (tmp_path / "y.cpp").read_bytes() == b"3"


def test_sync_removes_what_is_gone(tmp_path):
    wheels.sync({"a.cpp": b"", "b.cpp": b""}, tmp_path)
    wheels.sync({"a.cpp": b""}, tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.cpp"]
