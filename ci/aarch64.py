"""Compiles the core for 64-bit ARM with a cross compiler, and runs its C++ tests in an emulator.

    apt-get install g++-aarch64-linux-gnu qemu-user
    python ci/aarch64.py [test...]

Kernels go through generic vectors there, as in `tox -e generic`. An emulated processor is 20 to 50 times slower.
"""

import os
import shutil
import subprocess
import sys
import time

from packages import ROOT

BUILD = ROOT / "build" / "aarch64"
ROOT_OF_TARGET = "/usr/aarch64-linux-gnu"
LIMIT = 1800  # seconds for one test
#: What no emulator of single programs can show.
LEFT_OUT = {
    "allocator_test": "counts resident memory, which is the emulator's",
    "cpu_test": "starts itself again, which the kernel does without the emulator",
    "fork_test": "forks while it has threads, which the emulator does not survive (qemu 7.2)",
}


def main() -> None:
    for tool, package in [("aarch64-linux-gnu-g++", "g++-aarch64-linux-gnu"), ("qemu-aarch64", "qemu-user")]:
        if not shutil.which(tool):
            sys.exit(f"aarch64: {tool} is not there: apt-get install {package}")
    launcher = shutil.which("ccache")
    subprocess.run(
        ["cmake", "-G", "Ninja", "-S", ROOT / "core", "-B", BUILD, "-DCMAKE_SYSTEM_NAME=Linux",
         "-DCMAKE_SYSTEM_PROCESSOR=aarch64", "-DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++",
         *([f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}"] if launcher else [])],
        check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    subprocess.run(["cmake", "--build", BUILD, "--parallel", str(os.cpu_count())], check=True)
    programs = sorted(p for p in BUILD.glob("*_test*") if p.is_file() and os.access(p, os.X_OK))
    if not programs:
        sys.exit(f"aarch64: no tests in {BUILD}")
    failed = []
    for program in programs:
        if program.name in LEFT_OUT or (sys.argv[1:] and program.name not in sys.argv[1:]):
            continue
        began = time.monotonic()
        code = subprocess.run(["qemu-aarch64", "-L", ROOT_OF_TARGET, program], timeout=LIMIT).returncode
        word = {0: "passed", 77: "skipped"}.get(code, f"failed ({code})")
        print(f"{program.name:28} {word:12} {time.monotonic() - began:7.1f} s", flush=True)
        failed += [program.name] if code not in (0, 77) else []
    for name, reason in LEFT_OUT.items():
        print(f"{name:28} left out: {reason}")
    if failed:
        sys.exit(f"aarch64: {', '.join(failed)} failed")


if __name__ == "__main__":
    main()
