"""Builds programs without Python as one small library, and holds it to its size.

    python ci/small.py [--build DIR] [--limit MB]

TORCH_FAMILIES=inference and one level of kernels; the result must run an archive of a model, load quickly, and name what
it was built without.
"""

import argparse
import io
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

from packages import ROOT

ARCHIVE = ROOT / "program" / "tests" / "data" / "layers.pt"
OPERATORS = {  # and whether they are in it; modules that are not trained call dropout, too
    "fft": ("aten::fft(Tensor self, int? n=None, int dim=-1, str? norm=None) -> Tensor", False),
    "dropout": ("aten::dropout(Tensor input, float p, bool train) -> Tensor", True),
}
LEVEL = "v3" if os.uname().machine == "x86_64" else "generic"


def run(*command: object) -> str:
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"small: {' '.join(map(str, command))} failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def build(folder: Path, prefix: Path) -> None:
    levels = [f"-DTORCH_LEVELS={LEVEL}"] if LEVEL != "generic" else []
    run("cmake", "-G", "Ninja", "-S", ROOT / "program", "-B", folder, "-DTORCH_FAMILIES=inference", *levels)
    run("cmake", "--build", folder)
    run("cmake", "--install", folder, "--prefix", prefix, "--strip")


def program(folder: Path, name: str, schema: str) -> Path:
    """The start of an archive that names one operator."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("program.txt", f"torch program 1\noperator aten::{name} {schema}\n")
    path = folder / f"{name}.pt"
    path.write_bytes(out.getvalue())
    return path


def complaint(tool: Path, path: Path) -> str:
    return subprocess.run([tool, path], capture_output=True, text=True).stderr


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "small")
    parser.add_argument("--limit", type=float, default=5.0, help="megabytes")
    options = parser.parse_args()
    prefix = options.build / "installed"
    build(options.build, prefix)
    tool = prefix / "bin" / "torch-run"
    size = (prefix / "lib" / "libtorch_run.so").stat().st_size / 1e6
    print(f"libtorch_run.so: {size:.2f} MB")
    if size > options.limit:
        sys.exit(f"small: libtorch_run.so has {size:.2f} MB, more than {options.limit}")
    printed = run(tool, ARCHIVE, "ones(3, 1, 4, 4)")
    if not re.search(r"CPUFloatType\{4\}", printed):
        sys.exit(f"small: {ARCHIVE.name} gave {printed}")
    print(run(tool, ARCHIVE, "ones(3, 1, 4, 4)", "--quiet", "--time").strip())
    for name, (schema, there) in OPERATORS.items():
        said = complaint(tool, program(options.build, name, schema))
        if there == ("is not in this build" in said):
            sys.exit(f"small: of aten::{name}, which {'is' if there else 'is not'} in it, torch-run said: {said}")


if __name__ == "__main__":
    main()
