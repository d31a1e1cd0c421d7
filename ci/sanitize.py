"""A build of its own under a sanitizer, and the tests that can run in it.

asan  address and undefined behaviour: the C++ tests, and the Python tests of core and autograd
tsan  data races: the C++ tests
"""

import os
import subprocess
import sys
from pathlib import Path

import packages
from packages import ROOT

SANITIZERS = {"asan": "address,undefined", "tsan": "thread"}
OPTIONS = {
    # Python itself leaks by design; what we leak is counted by tests of torch.memory.
    "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=0:allocator_may_return_null=1",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    "TSAN_OPTIONS": "halt_on_error=1:die_after_fork=0",
}


def runtime(name: str) -> str:
    compiler = os.environ.get("CXX", "c++")
    return subprocess.run(
        [compiler, f"-print-file-name={name}"], check=True, capture_output=True, text=True
    ).stdout.strip()


def main() -> None:
    kind, *rest = sys.argv[1:] or [""]
    if kind not in SANITIZERS:
        sys.exit(__doc__)
    build, house = ROOT / "build" / kind, ROOT / ".wheelhouse" / kind
    house.mkdir(parents=True, exist_ok=True)
    os.environ |= OPTIONS | {"TORCH_KEEP_SYMBOLS": "1", "TORCH_WHEELHOUSE": str(house)}
    arguments = f"-DTORCH_SANITIZE={SANITIZERS[kind]} -DTORCH_BUILD_TESTS=ON"
    if kind == "tsan":
        tree = build / "core"
        subprocess.run(
            ["cmake", "-G", "Ninja", "-S", str(ROOT / "core"), "-B", str(tree), *arguments.split()], check=True
        )
        subprocess.run(["cmake", "--build", str(tree)], check=True)
        subprocess.run(
            [sys.executable, str(ROOT / "ci" / "cpp.py"), "--build", str(tree), "--tests-only", *rest], check=True
        )
        return
    environment = os.environ | {"TORCH_CMAKE_ARGS": arguments, "TORCH_BUILD_DIR": str(build / "native")}
    names = ["torch-core", "torch-autograd"]
    command = [sys.executable, str(ROOT / "ci" / "wheels.py"), "build", *names, "--house", str(house)]
    subprocess.run(command, check=True, env=environment, cwd=ROOT)
    command = [
        sys.executable,
        str(ROOT / "ci" / "cpp.py"),
        "--build",
        str(build / "native" / "torch-core"),
        "--tests-only",
    ]
    subprocess.run(command, check=True)
    packages.pip_without_index(sys.executable, "install", *(packages.read()[n].pin for n in names))
    preload = " ".join([runtime("libasan.so"), runtime("libubsan.so"), runtime("libstdc++.so")])
    environment = os.environ | {"LD_PRELOAD": preload, "PYTHONMALLOC": "malloc"}
    tests = [str(ROOT / "packages" / name / "tests") for name in names]
    settings = ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT), "-q", "-p", "no:cacheprovider", "-x"]
    command = [sys.executable, "-m", "pytest", *settings, *tests, *rest]
    sys.exit(subprocess.run(command, env=environment, cwd=Path.cwd()).returncode)


if __name__ == "__main__":
    main()
