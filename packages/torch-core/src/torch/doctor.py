"""What is installed, whether the pieces were built for each other, and what this machine offers.

``python -m torch.doctor`` prints the report and exits with 1 when something does not fit.
"""

import contextlib
import csv
import os
import platform
import re
import sys
from dataclasses import dataclass, field
from importlib.machinery import PathFinder
from importlib.metadata import PackageNotFoundError, distribution, distributions
from pathlib import Path

import torch
from torch import _C, _install, _parts

CORE = "torch-core"


@dataclass
class Finding:
    """One distribution as it is installed here."""

    name: str
    version: str | None  # None: no metadata, as in a source tree on the path
    folder: Path | None  # None: not installed
    built_for: int | None  # the interface of torch-core in a compiled part
    requires: list[str] = field(default_factory=list)
    features: int = 0  # of torch-core when it was built


def findings() -> dict[str, Finding]:
    """Look at every distribution of the stack without loading a part."""
    parts = {CORE: None}
    for part, dist in _parts.PARTS.items():
        parts.setdefault(dist, part)  # the part that it is named after comes first
    found = {dist: _find(dist, part) for dist, part in parts.items()}
    meta = _find("torch", None)
    return found if meta.version is None or _install.is_strangers("torch") else found | {"torch": meta}


def _find(dist: str, part: str | None) -> Finding:
    folder = Path(torch.__file__).parent if part is None else _folder(part)
    places = [folder] if part is None else [folder, _folder(dist.removeprefix("torch-"))]  # torch-jit's is in torch/jit
    records = [place / "_built.py" for place in places if place and (place / "_built.py").exists()]
    built = dict(re.findall(r"CORE_(\w+) = (\d+)", records[0].read_text())) if records else {}
    version, requires = None, []
    if not _install.is_strangers(dist):
        with contextlib.suppress(PackageNotFoundError):
            metadata = distribution(dist)
            version, requires = metadata.version, metadata.requires or []
    interface = int(built["INTERFACE"]) if built else None
    return Finding(dist, version, folder, interface, requires, int(built.get("FEATURES", 0)))


def _folder(part: str) -> Path | None:
    spec = PathFinder.find_spec(f"torch.{part}", torch.__path__)
    if spec is None or spec.origin is None:
        spec = _parts.Finder.find_spec(f"torch.{part}")
    return Path(spec.origin).parent if spec else None


def admits(requirement: str, version: str) -> bool:
    """Whether a pin of ours admits a version; only ``~=``, ``>=`` and ``==`` occur in them.

    >>> admits("torch-core~=0.3.1", "0.3.4"), admits("torch-core~=0.3.1", "0.4.0"), admits("torch-core>=0.3", "1.0")
    (True, False, True)
    """
    have = _numbers(version)
    for relation, bound in re.findall(r"(~=|>=|==)\s*([\d.]+)", requirement.split(";")[0]):
        want = _numbers(bound)
        if relation == "==" and have[: len(want)] != want:
            return False
        if relation != "==" and have < want:
            return False
        if relation == "~=" and have[: len(want) - 1] != want[:-1]:
            return False
    return True


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(n) for n in re.match(r"[\d.]+", version)[0].strip(".").split("."))


def damaged(dist: str) -> list[str]:
    """What is wrong with the files of a distribution: those that are missing, or are not of the size that was installed.

    >>> damaged("torch-nowhere")
    []
    """
    try:
        installed = distribution(dist)
    except PackageNotFoundError:
        return []
    wrong = []
    relinked = (installed.read_text("INSTALLER") or "").strip() == "conda"  # which gives libraries other search paths
    for row in csv.reader((installed.read_text("RECORD") or "").splitlines()):
        name, _, size = [*row, "", "", ""][:3]
        folder = name.partition("/")[0]
        if not size.isdigit() or folder == ".." or folder == name or folder.endswith(".dist-info"):
            continue  # compiled by Python, or written for this environment
        path = Path(str(installed.locate_file(name)))
        if not path.is_file():
            wrong.append(f"{name} is missing")
        elif (now := path.stat().st_size) != int(size) and not (relinked and _is_binary(path)):
            wrong.append(f"{name} has {now} bytes, {size} were installed")
    return wrong


def _is_binary(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def problems(found: dict[str, Finding] | None = None) -> list[str]:
    """Each thing that does not fit, with the command that mends it; empty when all is well."""
    found = findings() if found is None else found
    wrong = []
    for one in found.values():
        again = _install.command(one.name, upgrade=True).replace("-U", "--force-reinstall")
        versions = sorted({other.version for other in distributions(name=one.name)})
        if len(versions) > 1:
            wrong.append(
                f"{one.name} is installed in versions {' and '.join(versions)} side by side, and files of either may be "
                f"loaded: pip uninstall {one.name}, until none is left; {again}"
            )
        if one.built_for is not None and one.built_for != _C.interface:
            upgrade = _install.command(one.name if one.built_for < _C.interface else CORE, upgrade=True)
            wrong.append(
                f"{one.name} {one.version or ''} was built for interface {one.built_for} of torch-core; installed torch-core "
                f"{found[CORE].version or ''} has interface {_C.interface}: {upgrade}"
            )
        elif one.features > _C.features:
            wrong.append(
                f"{one.name} {one.version or ''} was built with features {one.features} of torch-core; installed torch-core "
                f"{found[CORE].version or ''} has features {_C.features}: {_install.command(CORE, upgrade=True)}"
            )
        if one.version and (files := damaged(one.name)):
            more = f", and {len(files) - 1} more of its files" if len(files) > 1 else ""
            wrong.append(
                f"{one.name} is damaged: {files[0]}{more}: {again.replace('reinstall', 'reinstall --no-deps', 1)}"
            )
        for requirement in one.requires:
            name = re.match(r"[\w.-]+", requirement)[0]
            other = found.get(name)
            if other is None or "extra ==" in requirement:
                continue
            if other.folder is None and _install.is_strangers(name):
                continue  # told below, with what to do
            if other.folder is None:
                wrong.append(f"{one.name} needs {name}, which is not installed: {_install.command(requirement)}")
            elif other.version and not admits(requirement, other.version):
                wrong.append(
                    f"{one.name} needs {requirement}, installed is {other.version}: {_install.command(requirement)}"
                )
    wrong += [
        _install.stranger(dist)
        for dist in ["torch", *dict.fromkeys(_parts.PARTS.values())]
        if _install.is_strangers(dist)
    ]
    return wrong


def report() -> str:
    """Return the whole report as text."""
    found = findings()
    lines = [f"torch {torch.__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}"]
    lines += ["", f"{'distribution':24}{'version':22}interface of torch-core"]
    for one in found.values():
        if one.folder is None:
            lines.append(f"{one.name:24}{'-':22}not installed: {_install.command(one.name)}")
            continue
        interface = (
            f"{_C.interface}, its own" if one.name == CORE else "any" if one.built_for is None else str(one.built_for)
        )
        lines.append(f"{one.name:24}{one.version or 'source tree':22}{interface}")
    lines += [""] + [f"{label:14}{text}" for label, text in _machine()]
    wrong = problems(found)
    lines += [""] + ([f"PROBLEM  {w}" for w in wrong] or ["no problems found"])
    return "\n".join(lines)


def _machine() -> list[tuple[str, str]]:
    from torch import _cold

    about = _cold.machine()
    pinned = os.environ.get("TORCH_CPU_LEVEL")
    level = about["cpu_level"] + (
        f" (pinned by TORCH_CPU_LEVEL; the processor has {about['cpu_detected']})" if pinned else ""
    )
    return [
        ("processor", about["cpu_model"]),
        ("features", " ".join(about["cpu_features"])),
        ("kernels", level),
        ("threads", f"{_C.get_num_threads()} of {about['available_cpus']} processors that this process may use"),
        (
            "BLAS",
            f"{about['blas_provider']}; {about['blas_description'] or 'OpenBLAS not found: pip install scipy-openblas32'}",
        ),
        ("CUDA", _cuda()),
        *([("distributed", _engines())] if _folder("distributed") else []),
        ("NumPy", _version_of("numpy")),
    ]


def _cuda() -> str:
    try:
        version = distribution("torch-core-cuda").version
    except PackageNotFoundError:
        return "plug-in torch-core-cuda not installed"
    return f"plug-in torch-core-cuda {version}"


def _engines() -> str:
    """What carries the bytes between processes, in the words of the part that knows."""
    try:
        from torch.distributed import _backends
    except ImportError as error:  # what it needs is not there, which is among the problems
        return f"cannot be loaded: {error}"
    return "; ".join(f"{name}: {state}" for name, state in _backends.engines().items())


def _version_of(dist: str) -> str:
    try:
        return distribution(dist).version
    except PackageNotFoundError:
        return f"not installed (optional): pip install {dist}"


def main() -> None:
    print(report())
    sys.exit(1 if problems() else 0)


if __name__ == "__main__":
    main()
