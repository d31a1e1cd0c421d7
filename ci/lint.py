"""What can be told without building: formatting, the interface number, changelog fragments, copies of one fact."""

import re
import subprocess
import sys

import packages
from packages import ROOT

FRAGMENT = re.compile(r"[a-z0-9-]+\.(added|changed|fixed|perf)\.md")


def tracked(*patterns: str) -> list[str]:
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--", *patterns]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\0")
    return [f for f in listed if f and (ROOT / f).exists()]  # a release has removed its fragments and not committed yet


def fragments() -> list[str]:
    """Changelog fragments that are misnamed or say more than one thing."""
    found = []
    for file in tracked("packages/*/changes/*"):
        text = (ROOT / file).read_text().strip()
        if not FRAGMENT.fullmatch(file.rpartition("/")[2]):
            found.append(f"{file}: name it TOPIC.added.md, .changed.md, .fixed.md or .perf.md")
        elif not text or "\n" in text or not text.endswith("."):
            found.append(f"{file}: one sentence for a user, on one line")
    return found


def copies() -> list[str]:
    """Facts that stand in several files, against the one that they are copied from."""
    found = []
    licence = (ROOT / "LICENSE").read_text()
    for package in packages.read().values():
        copy = package.folder / "LICENSE"
        if not copy.exists() or copy.read_text() != licence:
            found.append(f"packages/{package.folder.name}/LICENSE differs from LICENSE")
        readme = (package.folder / "README.md").read_text()
        if "pip install" not in readme or ">>>" not in readme:
            found.append(f"packages/{package.folder.name}/README.md: say how to install it and show lines that run")
    cmake = re.search(r"project\(TorchCore VERSION ([\d.]+)", (ROOT / "core" / "CMakeLists.txt").read_text())[1]
    if cmake != (core := packages.read()["torch-core"].version):
        found.append(f"core/CMakeLists.txt says version {cmake}, packages/torch-core/pyproject.toml says {core}")
    init = (ROOT / "packages/torch-core/src/torch/__init__.py").read_text()
    if not re.search(rf'^__version__ = "[\d.]+\+core\.{re.escape(core)}"$', init, re.M):
        found.append(f"torch/__init__.py: the local part of __version__ must be core.{core}")
    generation = packages.read()["torch"].version.partition("+")[0]
    if f'__version__ = "{generation}+' not in init:
        found.append(
            f"torch/__init__.py: __version__ must name {generation}, the generation that packages/torch states"
        )
    return found


def main() -> None:
    fix = "--fix" in sys.argv
    cpp = tracked("*.h", "*.cpp", "*.c", "*.cu")
    commands = [
        ["ruff", "check", *(["--fix"] if fix else []), "."],
        ["ruff", "format", *([] if fix else ["--check"]), "."],
        ["clang-format", *(["-i"] if fix else ["--dry-run", "-Werror"]), *cpp],
        [sys.executable, "ci/interface.py"],
        [sys.executable, "ci/workflows.py", *([] if fix else ["--check"])],
        [sys.executable, "ci/conda.py", *([] if fix else ["--check"])],
    ]
    failed = [c[0] if c[0] != sys.executable else c[1] for c in commands if subprocess.run(c, cwd=ROOT).returncode]
    problems = fragments() + copies()
    print(*problems, sep="\n", end="\n" if problems else "")
    if failed or problems:
        sys.exit(f"lint: {', '.join(failed) or 'see above'}; python ci/lint.py --fix mends what a tool can mend")


if __name__ == "__main__":
    main()
