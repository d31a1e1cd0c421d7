"""Programs in other languages that run models: those of examples/serving/native, built against what is installed."""

import io
import os
import shutil
import subprocess
import threading
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import pytest
import torch
import torch_core
from torch.jit import _tool

EXAMPLES = Path(__file__).parents[3] / "examples" / "serving" / "native"
needs = pytest.mark.skipif(
    not (shutil.which("cmake") and shutil.which("ninja") and shutil.which("c++") and EXAMPLES.exists()),
    reason="cmake, ninja or a compiler is missing",
)
PREFIX = Path(_tool.path()).parents[1]
CORE = Path(torch_core.get_cmake_dir()).parents[1]
SCORES = torch.linspace(0, 1, 64).reshape(1, 64)


def run(*command, **options):
    done = subprocess.run(
        [str(c) for c in command], capture_output=True, text=True, timeout=280, env=_tool.environment(), **options
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("native")
    where = [f"-DTorchProgram_DIR={run(_tool.path(), '--cmake-dir').strip()}"]
    if PREFIX.parent != CORE:  # parts that were installed in place do not share a folder
        where.append(f"-DTorchCore_DIR={torch_core.get_cmake_dir()}")
    run("cmake", "-G", "Ninja", "-S", EXAMPLES, "-B", folder, "-DCMAKE_BUILD_TYPE=Debug", *where)
    run("cmake", "--build", folder)
    return folder


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    path = tmp_path_factory.mktemp("digits") / "net.pt"
    names = {}
    exec(compile((EXAMPLES / "digits.py").read_text(), str(EXAMPLES / "digits.py"), "exec"), names)
    net = torch.jit.script(names["Digits"]().eval())
    torch.jit.save(net, path)
    return net, path


@needs
@pytest.mark.parametrize("name", ["predict", "predict_c", "predict_rs"])
def test_a_program_gives_the_scores_that_python_gives(name, built, archive):
    net, path = archive
    if name == "predict_rs" and not shutil.which("rustc"):
        pytest.skip("rustc is missing")
    with torch.no_grad():
        wanted = [round(score, 4) for score in net(SCORES)[0].tolist()]
    lines = run(built / name, path).splitlines()
    assert "forward(Tensor x) -> Tensor" in lines
    assert any([float(n) for n in line.split() if n[0].isdigit()] == wanted for line in lines)


@needs
@pytest.mark.parametrize("name", ["predict", "predict_c", "predict_rs", "server"])
def test_a_program_says_what_is_wrong(name, built):
    if name == "predict_rs" and not shutil.which("rustc"):
        pytest.skip("rustc is missing")
    done = subprocess.run([built / name, "nowhere.pt"], capture_output=True, text=True, env=_tool.environment())
    assert done.returncode == 1 and "nowhere.pt: cannot be opened" in done.stderr


def npy(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


@needs
def test_a_server_answers_several_clients(built, archive):
    net, path = archive
    server = subprocess.Popen([built / "server", path], stdout=subprocess.PIPE, text=True, env=_tool.environment())
    try:
        url = server.stdout.readline().strip()

        def ask(method, data=None):
            with urllib.request.urlopen(f"{url}/{method}", data, timeout=60) as answer:
                return answer.read()

        assert b"forward(Tensor x) -> Tensor" in ask("")
        x = torch.rand(5, 64)
        with torch.no_grad():
            wanted = net(x).numpy()
        right = []

        def client():
            for _ in range(20):
                right.append(np.array_equal(np.load(io.BytesIO(ask("forward", npy(x.numpy())))), wanted))

        clients = [threading.Thread(target=client) for _ in range(4)]
        for each in clients:
            each.start()
        for each in clients:
            each.join()
        assert right == [True] * 80
        assert ask("best", npy(SCORES.numpy())).decode().strip() == str(net.best(SCORES))
        for method, data, code in [("no", b"", 404), ("forward", b"abc", 400), ("forward", npy(np.ones(3)), 400)]:
            with pytest.raises(urllib.error.HTTPError) as error:
                ask(method, data)
            assert error.value.code == code
    finally:
        server.kill()
        server.wait()


@needs
def test_a_c99_program_builds_with_the_flags_of_pkg_config(tmp_path, archive):
    if not shutil.which("pkg-config") or PREFIX.parent != CORE:
        pytest.skip("pkg-config is missing, or the parts do not share a folder")
    environment = {**os.environ, "PKG_CONFIG_PATH": run(_tool.path(), "--pkgconfig-dir").strip()}
    done = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "torch-program"], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    strict = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror"]
    run("cc", *strict, EXAMPLES / "predict.c", "-o", tmp_path / "predict", *done.stdout.split())
    plain = subprocess.run([tmp_path / "predict", archive[1]], capture_output=True, text=True)
    assert plain.returncode == 0 and "forward(Tensor x) -> Tensor" in plain.stdout
