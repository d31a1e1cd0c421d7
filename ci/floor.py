"""Installs the whole stack at the lowest versions that its pins admit: ours and other people's.

Ours that are older than the tree come from the wheelhouse, where wheels of releases stay, or are built from their tags.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import wheels

import packages
from packages import ROOT, WHEELHOUSE, Package


def floor(requirement: str) -> str:
    """The requirement, held at its lowest version.

    >>> floor("torch-core[numpy]~=0.1.0"), floor("numpy>=1.26"), floor("tqdm")
    ('torch-core[numpy]==0.1.0', 'numpy==1.26', 'tqdm')
    """
    return re.sub(r"\s*(~=|>=)\s*", "==", requirement.split(";")[0].strip())


def from_tag(package: Package, version: str) -> bool:
    """Put the wheel of a released version into the wheelhouse, if it is not there; whether it is there now.

    A clone without tags, and a compiled part, has only the wheels that were kept.
    """
    name = package.name.replace("-", "_")
    if any(WHEELHOUSE.glob(f"{name}-{version}-*.whl")):
        return True
    tag = f"{package.name}-v{version}"
    known = subprocess.run(["git", "tag", "--list", tag], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    if package.compiled or not known:
        return False
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run(["git", "worktree", "add", "-q", "--detach", f"{scratch}/tree", tag], cwd=ROOT, check=True)
        try:
            wheels.hatch(Path(scratch, "tree", "packages", package.folder.name), "wheel", WHEELHOUSE)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", f"{scratch}/tree"], cwd=ROOT, check=True)
    return True


def lowest(requirement: str, every: dict[str, Package]) -> str:
    """The requirement of one of ours at its floor; at the version of the tree where the floor cannot be had."""
    package, held = every[packages.requirement_name(requirement)], floor(requirement)
    version = held.partition("==")[2]
    if version == package.version or from_tag(package, version):
        return held
    print(f"floor: {held} is neither in the wheelhouse nor built from a tag: {package.version} is tested", flush=True)
    return held.partition("==")[0] + f"=={package.version}"


def main() -> None:
    every = packages.read()
    among = {name: every[name] for name in packages.closure(every["torch"], every)}
    named = {floor(r) for p in among.values() for r in p.requirements}
    extras = {
        r
        for p in among.values()
        for group in p.settings["project"].get("optional-dependencies", {}).values()
        for r in group
    }
    ours = sorted({lowest(r, every) for r in named if packages.requirement_name(r) in among})
    others = {floor(r) for r in packages.outside(among)}
    others |= {floor(r) for r in extras if packages.requirement_name(r) not in every}
    if sys.version_info >= (3, 13):
        others = {r for r in others if not r.startswith("numpy==1.")}  # has no wheels for this Python
    print("floor:", ", ".join([*ours, *sorted(others)]), flush=True)
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", "--only-binary", ":all:", *sorted(others)], check=True
    )
    packages.uninstall_all()  # wheels of an earlier build have the same versions
    packages.pip_without_index(sys.executable, "install", *ours, among["torch"].pin)


if __name__ == "__main__":
    main()
