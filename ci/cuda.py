"""Tests torch-core-cuda without a GPU: its kernels run on the CPU, over the execution layer of core/cuda_host.

python ci/cuda.py                     # build the plug-in for the layer, against the installed torch-core, and run the tests
python ci/cuda.py -- -k streams       # with arguments for pytest
python ci/cuda.py --parts             # only the tests that need more than torch-core: models that train
python ci/cuda.py --rows              # the tests of rows and the samples of derivatives on the device, in three schedules
python ci/cuda.py --checker           # what kernels touch is looked at: races, memory of others, uninitialised reads
python ci/cuda.py --build-only        # prints the plug-in's path, for TORCH_CUDA_HOST_FORM
"""

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

from packages import ROOT

PACKAGE = ROOT / "packages" / "torch-core-cuda"
#: As a device may run: in order, in any order, and as late as it may.
SCHEDULES = ("guard", "guard,order=3", "guard,order=7,lazy")


def build(checker: bool) -> Path:
    """The plug-in over the execution layer; with the checker, it is another one."""
    import torch_core

    folder = ROOT / "build" / ("cuda-checker" if checker else "cuda-host")
    settings = [
        f"-DTorchCore_DIR={torch_core.get_cmake_dir()}",
        f"-DPython_EXECUTABLE={sys.executable}",
        "-DTORCH_CUDA_HOST=ON",
        f"-DTORCH_CUDA_CHECKER={'ON' if checker else 'OFF'}",
        "-DTORCH_WERROR=ON",
    ]
    if ccache := shutil.which("ccache"):
        settings.append(f"-DCMAKE_CXX_COMPILER_LAUNCHER={ccache}")
    configure = ["cmake", "-G", "Ninja", "-S", str(PACKAGE), "-B", str(folder), *settings]
    for command in (configure, ["cmake", "--build", str(folder), "--parallel", "2"]):
        if subprocess.run(command, stdout=sys.stderr).returncode:
            sys.exit("cuda: the plug-in for the execution layer does not build")
    (plugin,) = folder.glob("_native.*.so")
    return plugin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checker", action="store_true", help="run the tests of the checker instead")
    parser.add_argument("--parts", action="store_true", help="run only the tests that need other parts than torch-core")
    parser.add_argument(
        "--rows", action="store_true", help="run the tests of rows and derivatives on the device instead"
    )
    parser.add_argument("--build-only", action="store_true")
    parser.add_argument("rest", nargs="*", help="arguments for pytest")
    options = parser.parse_args()
    plugin = build(options.checker)
    if options.build_only:
        return print(plugin)
    path = os.pathsep.join(filter(None, [str(PACKAGE / "src"), os.environ.get("PYTHONPATH")]))
    settings = os.environ | {"TORCH_CUDA_HOST_FORM": str(plugin), "PYTHONPATH": path}
    tests = PACKAGE / "tests"
    chosen = [tests / "checker"] if options.checker else [tests, "--ignore", tests / "checker"]
    if options.parts:
        chosen = [path for path in sorted(tests.glob("test_*.py")) if 'importorskip("torch.' in path.read_text()]
    schedules = [settings]
    if options.rows:
        chosen = [ROOT / "packages" / f"torch-{part}" / "tests" / "test_rows.py" for part in ("core", "autograd")]
        chosen += ["--device", "cuda", "--import-mode", "importlib"]
        schedules = [settings | {"TORCH_CUDA_HOST": how} for how in SCHEDULES]
    command = [sys.executable, "-m", "pytest", *map(str, chosen), *options.rest]
    sys.exit(max(subprocess.run(command, env=schedule).returncode for schedule in schedules))


if __name__ == "__main__":
    main()
