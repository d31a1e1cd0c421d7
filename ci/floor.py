"""Installs the whole stack at the lowest versions that its pins admit: ours and other people's."""

import re
import subprocess
import sys

import packages


def floor(requirement: str) -> str:
    """The requirement, held at its lowest version.

    >>> floor("torch-core[numpy]~=0.1.0"), floor("numpy>=1.26"), floor("tqdm")
    ('torch-core[numpy]==0.1.0', 'numpy==1.26', 'tqdm')
    """
    return re.sub(r"\s*(~=|>=)\s*", "==", requirement.split(";")[0].strip())


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
    ours = sorted(r for r in named if packages.requirement_name(r) in among)
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
