"""Prints the packages that a change touches, and all that depend on them: what CI has to test.

python ci/changed.py                 # against main
python ci/changed.py BASE --envs     # as tox environments, as JSON
"""

import argparse
import json
import subprocess

import packages
from packages import ROOT

EVERYTHING = ("core/", "ci/", "pyproject.toml", "tox.ini", ".ci/", ".github/")


def touched(paths: list[str], among: dict[str, packages.Package]) -> set[str]:
    """The packages that own these paths, and their dependents."""
    if any(path.startswith(EVERYTHING) for path in paths):
        return set(among)
    folders = {p.folder.relative_to(ROOT).as_posix() + "/": n for n, p in among.items()}
    own = {name for path in paths for folder, name in folders.items() if path.startswith(folder)}
    if any(path.startswith("examples/") for path in paths):
        own.add("torch")
    return own | packages.dependents(own, among)


def environments(paths: list[str], among: dict[str, packages.Package]) -> list[str]:
    """The tox environments to run: the touched parts', and those that look at the tree as a whole."""
    names = touched(paths, among)
    envs = [p.part for n, p in among.items() if n in names]
    if "torch-core" in names:
        envs += ["cpp", "level-v2", "level-v3", "floor", "asan", "tsan", "generic"]
    if "torch-serialize" in names:
        envs.append("serialize-numpy")
    if names or any(path.endswith(".md") for path in paths):
        envs.append("docs")
    return [*envs, "types", "lint"] if "torch" in names else [*envs, "lint"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", nargs="?", default="main")
    parser.add_argument("--envs", action="store_true", help="tox environments as a JSON list")
    options = parser.parse_args()
    command = ["git", "-C", str(ROOT), "diff", "--name-only", f"{options.base}...HEAD"]
    paths = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    among = packages.read()
    if options.envs:
        print(json.dumps(environments(paths, among)))
    else:
        names = touched(paths, among)
        print("\n".join(n for n in among if n in names) or "no package")


if __name__ == "__main__":
    main()
