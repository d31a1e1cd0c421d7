"""A build of its own with other settings, and the tests that can run in it.

asan     address and undefined behaviour: the C++ tests, with leaks, and the Python tests of core, autograd and more
tsan     data races: the C++ tests
generic  kernels through generic vectors, as processors other than x86-64 have them: the C++ tests, the tests of core

    python ci/variant.py asan [arguments of pytest, or of ctest for tsan]
"""

import os
import subprocess
import sys

import packages
from packages import ROOT

SETTINGS = {
    "asan": "-DTORCH_SANITIZE=address,undefined",
    "tsan": "-DTORCH_SANITIZE=thread",
    "generic": "-DTORCH_GENERIC=ON",
}
#: What each builds, and whose tests run.
PARTS = {
    "asan": ["torch-core", "torch-autograd", "torch-nn", "torch-optim", "torch-serialize"],
    "generic": ["torch-core"],
}
SANITIZERS = {
    "ASAN_OPTIONS": "abort_on_error=0:allocator_may_return_null=1",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    "TSAN_OPTIONS": "halt_on_error=1:die_after_fork=0",
}
#: They are about the build and the wheels, and run no kernel.
LEFT_OUT = ["test_hatch.py", "test_stubs.py"]


def runtime(name: str) -> str:
    command = [os.environ.get("CXX", "c++"), f"-print-file-name={name}"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def for_python() -> dict[str, str]:
    """The environment in which a Python that is not sanitized loads libraries that are.

    Python itself leaks by design; what we leak is counted by the C++ tests and by those of torch.memory.
    """
    libraries = map(runtime, ["libasan.so", "libubsan.so", "libstdc++.so"])
    options = SANITIZERS["ASAN_OPTIONS"] + ":detect_leaks=0"
    return {"LD_PRELOAD": " ".join(libraries), "PYTHONMALLOC": "malloc", "ASAN_OPTIONS": options}


def run(*command: object, **more: str) -> int:
    return subprocess.run([str(c) for c in command], cwd=os.getcwd(), env=os.environ | more).returncode


def main() -> None:
    kind, *rest = sys.argv[1:] or [""]
    if kind not in SETTINGS:
        sys.exit(__doc__)
    build, house = ROOT / "build" / kind, ROOT / ".wheelhouse" / kind
    house.mkdir(parents=True, exist_ok=True)
    os.environ |= SANITIZERS | {"TORCH_KEEP_SYMBOLS": "1", "TORCH_WHEELHOUSE": str(house)}
    arguments = f"{SETTINGS[kind]} -DTORCH_BUILD_TESTS=ON"
    ctest = [sys.executable, ROOT / "ci" / "cpp.py", "--tests-only", "--build"]
    if kind == "tsan":
        tree = build / "core"
        sys.exit(
            run("cmake", "-G", "Ninja", "-S", ROOT / "core", "-B", tree, *arguments.split())
            or run("cmake", "--build", tree)
            or run(*ctest, tree, *rest)
        )
    native = {"TORCH_CMAKE_ARGS": arguments, "TORCH_BUILD_DIR": str(build / "native")}
    names = PARTS[kind]
    if code := run(sys.executable, ROOT / "ci" / "wheels.py", "build", *names, "--house", house, **native) or run(
        *ctest, build / "native" / "torch-core", ASAN_OPTIONS=SANITIZERS["ASAN_OPTIONS"] + ":detect_leaks=1"
    ):
        sys.exit(code)
    packages.uninstall_all()  # wheels of an earlier build have the same versions
    packages.pip_without_index(sys.executable, "install", *(packages.read()[n].pin for n in names))
    # What a sanitizer says goes to the real stderr: pytest must not swallow it together with the process.
    settings = ["-c", ROOT / "pyproject.toml", "--rootdir", ROOT, "-q", "-p", "no:cacheprovider", "--capture=sys"]
    settings += ["--timeout", "600"]
    settings += [f"--ignore-glob=*{name}" for name in LEFT_OUT]
    tests = [ROOT / "packages" / name / "tests" for name in names]
    sys.exit(run(sys.executable, "-m", "pytest", *settings, *tests, *rest, **(for_python() if kind == "asan" else {})))


if __name__ == "__main__":
    main()
