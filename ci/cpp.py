"""The C++ side: CTest in the build tree that made the wheels, a program that finds the library from outside, and the
tests of program/, built against it.

python ci/cpp.py [--build DIR] [--junit FILE] [-R REGEX]
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from packages import ROOT

EXAMPLE = ROOT / "core" / "examples" / "find_package"


def build_example(*where: str) -> None:
    """Configure, build and run the example against an installed torch-core."""
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run(
            ["cmake", "-G", "Ninja", "-S", str(EXAMPLE), "-B", scratch, *where], check=True, stdout=subprocess.DEVNULL
        )
        subprocess.run(["cmake", "--build", scratch], check=True, stdout=subprocess.DEVNULL)
        print(
            subprocess.run([Path(scratch, "triangle")], check=True, capture_output=True, text=True).stdout.strip(),
            flush=True,
        )


def test_programs(rest: list[str], *where: str) -> None:
    """Build program/ by itself against an installed torch-core, and run its tests."""
    with tempfile.TemporaryDirectory() as scratch:
        source = ["-S", str(ROOT / "program"), "-B", scratch, "-DTORCH_BUILD_TESTS=ON"]
        subprocess.run(["cmake", "-G", "Ninja", *source, *where], check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["cmake", "--build", scratch], check=True, stdout=subprocess.DEVNULL)
        if code := subprocess.run(["ctest", "--test-dir", scratch, "--output-on-failure", *rest]).returncode:
            sys.exit(code)


def too_new(listing, level_of) -> set[str]:
    """Functions of a disassembly that use AVX registers though they are not a kernel of a level that has them.

    The linker keeps one copy of an inline function that several levels emit; it must be the one that runs everywhere.
    """
    found, function = set(), ""
    for line in listing:
        if line.endswith(">:\n"):
            function = line.split("<", 1)[1][:-3]
        elif "%zmm" in line or ("%k" in line and re.search(r"%k[1-7]\b", line)):
            if level_of(function) < 4:
                found.add(function)
        elif "%ymm" in line and level_of(function) < 3:
            found.add(function)
    return found


def level_of(function: str) -> int:
    """The highest of torch::v2, v3 and v4 that a mangled name mentions.

    >>> level_of("_ZN5torch2v43addEv"), level_of("_ZN5torch11FunctionRefIZNS_2v33runEvEE"), level_of("_Z12v4_names_alike")
    (4, 3, 2)
    """
    return max(map(int, re.findall(r"(?<!\d)2v([234])", function)), default=2)


def check_levels(library: Path) -> None:
    if shutil.which("objdump") is None:
        return
    command = ["objdump", "-d", "--no-show-raw-insn", "--no-addresses", str(library)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace") as listing:
        wrong = too_new(listing.stdout, level_of)
    if wrong:
        names = subprocess.run(["c++filt", *sorted(wrong)[:20]], capture_output=True, text=True).stdout
        sys.exit(f"cpp: {len(wrong)} functions need a newer processor than their level says:\n{names}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "wheels" / "native" / "torch-core")
    parser.add_argument("--junit", type=Path)
    parser.add_argument("--tests-only", action="store_true", help="leave the installed example out")
    options, rest = parser.parse_known_args()
    if not (options.build / "CTestTestfile.cmake").exists():
        sys.exit(f"cpp: {options.build} holds no build with tests: tox -e wheels")
    report = ["--output-junit", str(options.junit)] if options.junit else []
    command = ["ctest", "--test-dir", str(options.build), "--output-on-failure", "--no-tests=error", *report, *rest]
    if code := subprocess.run(command).returncode:
        sys.exit(code)
    if options.tests_only:
        return
    if os.uname().machine == "x86_64":
        check_levels(next((options.build / "core").glob("libtorch_core.so.*")))
    import torch_core

    build_example(f"-DTorchCore_DIR={torch_core.get_cmake_dir()}")
    test_programs(rest, f"-DTorchCore_DIR={torch_core.get_cmake_dir()}")
    with tempfile.TemporaryDirectory() as prefix:
        subprocess.run(
            ["cmake", "--install", str(options.build / "core"), "--prefix", prefix],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        build_example(f"-DTorchCore_DIR={prefix}/cmake/TorchCore")


if __name__ == "__main__":
    main()
