"""Builds the wheelhouse and proves that its wheels stand alone.

    python ci/wheels.py                  # build all, then check all
    python ci/wheels.py build torch-nn   # one step, some packages (and what they need)

Each package becomes an sdist first and its wheel is built from the unpacked sdist, so a file missing there is found
here. The unpacked tree and CMake's build tree stay in build/wheels: a second run compiles what changed.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

import packages
from packages import ROOT, WHEELHOUSE, Package

BUILD = ROOT / "build" / "wheels"


def sync(source: dict[str, bytes], folder: Path) -> None:
    """Make the folder hold exactly these files, touching only those that differ: their times drive ninja."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.rglob("*"):
        if path.is_file() and path.relative_to(folder).as_posix() not in source and "__pycache__" not in path.parts:
            path.unlink()
    for name, content in source.items():
        path = folder / name
        if not path.exists() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


def hatch(folder: Path, target: str, into: Path) -> Path:
    """Run one hatchling build and return the file that it made."""
    environment = {"TORCH_BUILD_DIR": str(BUILD / "native"), "SOURCE_DATE_EPOCH": "1577836800", **os.environ}
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", scratch]
        if subprocess.run(command, cwd=folder, env=environment, stdout=sys.stderr).returncode:
            sys.exit(f"wheels: {target} of {folder.name} failed")
        (made,) = Path(scratch).iterdir()
        into.mkdir(parents=True, exist_ok=True)
        return Path(shutil.move(made, into / made.name))


def of_this_python(package: Package, house: Path) -> list[Path]:
    """The package's wheels, of its present version, that the running Python takes.

    Those for other Pythons may lie beside them, and released ones, by which floors are tested.
    """
    tag = f"-cp{sys.version_info.major}{sys.version_info.minor}-"
    wheels = house.glob(f"{package.name.replace('-', '_')}-{package.version}-*.whl")
    return [wheel for wheel in wheels if tag in wheel.name or wheel.name.endswith("-none-any.whl")]


def build(package: Package, house: Path) -> Path:
    archive = hatch(package.folder, "sdist", house / "sdist")
    with tarfile.open(archive) as tar:
        files = {m.name.partition("/")[2]: tar.extractfile(m).read() for m in tar.getmembers() if m.isfile()}
    unpacked = BUILD / "sdist" / package.name
    sync(files, unpacked)
    for old in of_this_python(package, house):
        old.unlink()
    return hatch(unpacked, "wheel", house)


def owners(wheels: list[Path]) -> dict[str, list[str]]:
    """Paths that more than one wheel would install, with the wheels that do."""
    seen: dict[str, list[str]] = {}
    for wheel in wheels:
        for name in zipfile.ZipFile(wheel).namelist():
            if not name.endswith("/") and ".dist-info/" not in name:
                seen.setdefault(name, []).append(wheel.name)
    return {path: by for path, by in seen.items() if len(by) > 1}


def check(package: Package, among: dict[str, Package]) -> None:
    """Install one wheel beside nothing but what it needs, import it, and read what the absent parts say."""
    below = packages.closure(package, among)
    lines = [f"import {among[n].module}" for n in sorted(below)]
    if "torch-core" in below:
        for other in among.values():
            if other.name in below or other.part == "stack":
                continue
            lines += [
                "try:",
                f"    import {other.module}",
                "except ModuleNotFoundError as error:",
                f"    assert 'pip install' in str(error) and str(error).endswith(' {other.name}'), error",
                "else:",  # a face of torch-core, which only answers that the part is missing
                f"    if '_faces' not in {other.module}.__spec__.origin:",
                f"        raise SystemExit('{other.module} is importable without {other.name}')",
            ]
    with tempfile.TemporaryDirectory() as scratch:
        venv.create(scratch, with_pip=False)
        python = Path(scratch, "bin", "python")
        packages.pip_without_index(python, "install", package.pin)
        if subprocess.run([python, "-I", "-c", "\n".join(lines)], cwd=scratch).returncode:
            sys.exit(f"wheels: {package.name} does not stand alone")


def fetch_outside(among: dict[str, Package], house: Path) -> None:
    """Put what our packages need from others into the wheelhouse, so that installs never ask the registry."""
    wanted = packages.outside(among)
    command = [sys.executable, "-m", "pip", "download", "-q", "--only-binary", ":all:", "-d", str(house), *wanted]
    have = [*command, "--no-index", "--find-links", str(house)]
    if subprocess.run(have, stderr=subprocess.DEVNULL).returncode:
        subprocess.run(command, check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", nargs="?", choices=["all", "build", "check"], default="all")
    parser.add_argument("names", nargs="*", help="packages (default: all)")
    parser.add_argument("--house", type=Path, default=WHEELHOUSE)
    options = parser.parse_args()
    among = packages.read()
    if unknown := set(options.names) - set(among):
        parser.error(f"no such package: {', '.join(sorted(unknown))}; there are {', '.join(among)}")
    chosen = set(options.names) or set(among)
    for name in list(chosen):
        chosen |= packages.closure(among[name], among)
    house = options.house.resolve()
    os.environ["TORCH_WHEELHOUSE"] = str(house)
    if options.step != "check":
        for package in among.values():
            if package.name not in chosen:
                continue
            if compiler := package.missing_compiler:
                print(f"{package.name:60} left out: there is no {compiler}", flush=True)
                continue
            wheel = build(package, house)
            print(f"{wheel.name:60} {wheel.stat().st_size / 1e6:8.2f} MB", flush=True)
            if package.compiled:  # others compile against it
                packages.pip_without_index(sys.executable, "install", "--no-deps", "--force-reinstall", package.pin)
        fetch_outside(among, house)
    if options.step != "build":
        ours = [wheel for package in among.values() for wheel in of_this_python(package, house)]
        if shared := owners(ours):
            sys.exit("\n".join(f"wheels: {path} is in {' and in '.join(by)}" for path, by in shared.items()))
        for package in among.values():
            if package.name in chosen and not package.missing_compiler:
                check(package, among)
                print(f"{package.name} stands alone", flush=True)


if __name__ == "__main__":
    main()
