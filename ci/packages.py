"""The distributions of this repository and the arrows between them, read from packages/*/pyproject.toml."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
WHEELHOUSE = ROOT / ".wheelhouse"


def requirement_name(requirement: str) -> str:
    """The distribution that a requirement names.

    >>> requirement_name("torch-core[numpy] ~= 0.1.0; python_version < '4'")
    'torch-core'
    """
    return re.match(r"[A-Za-z0-9][A-Za-z0-9._-]*", requirement.strip())[0]


@dataclass(frozen=True)
class Package:
    folder: Path

    @cached_property
    def settings(self) -> dict:
        return tomllib.loads((self.folder / "pyproject.toml").read_text())

    @property
    def name(self) -> str:
        return self.settings["project"]["name"]

    @property
    def version(self) -> str:
        return self.settings["project"]["version"]

    @property
    def pin(self) -> str:
        """Always with the version: the public registry has packages of the same name that are not ours."""
        return f"{self.name}=={self.version}"

    @property
    def part(self) -> str:
        """One word: the tox environment, the docs page, the folder below torch/ (`core` and `stack` have none)."""
        return self.name.removeprefix("torch-") if self.name != "torch" else "stack"

    @property
    def module(self) -> str:
        """What an import of the package means; torch.jit itself is there without torch-jit, as a stand-in of the core's."""
        return {"core": "torch", "stack": "torch", "jit": "torch.fx", "core-cuda": "torch._cuda"}.get(
            self.part, f"torch.{self.part}"
        )

    @property
    def compiled(self) -> bool:
        return (self.folder / "CMakeLists.txt").exists()

    @property
    def compiler(self) -> str | None:
        """A compiler that the wheel needs beside that of C++ (``[tool.torch] compiler``)."""
        return self.settings["tool"].get("torch", {}).get("compiler")

    @property
    def missing_compiler(self) -> str | None:
        """The package's own compiler, where it is not on PATH."""
        return None if self.compiler is None or shutil.which(self.compiler) else self.compiler

    @property
    def requirements(self) -> list[str]:
        return self.settings["project"].get("dependencies", [])

    @property
    def build_requirements(self) -> list[str]:
        return self.settings["build-system"]["requires"]


def read(root: Path = ROOT) -> dict[str, Package]:
    """All packages by name, each after those that it needs to build or to run."""
    found = {p.name: p for p in (Package(f.parent) for f in sorted(root.glob("packages/*/pyproject.toml")))}
    ordered: dict[str, Package] = {}

    def visit(package: Package, above: tuple[str, ...]) -> None:
        if package.name in above:
            raise ValueError("packages need each other in a circle: " + " -> ".join([*above, package.name]))
        for name in needs(package, found):
            visit(found[name], (*above, package.name))
        ordered[package.name] = package

    for package in found.values():
        visit(package, ())
    return ordered


def needs(package: Package, among: dict[str, Package]) -> list[str]:
    """The packages of ours that this one names, to build or to run."""
    named = map(requirement_name, [*package.requirements, *package.build_requirements])
    return sorted({n for n in named if n in among and n != package.name})


def closure(package: Package, among: dict[str, Package]) -> set[str]:
    """The package and everything of ours below it at run time."""
    below = {package.name}
    for requirement in package.requirements:
        if (name := requirement_name(requirement)) in among:
            below |= closure(among[name], among)
    return below


def dependents(names: set[str], among: dict[str, Package]) -> set[str]:
    """Every package that needs one of these, at whatever distance."""
    found: set[str] = set()
    for package in among.values():
        if any(n in names or n in found for n in needs(package, among)):
            found.add(package.name)
    return found - names


def outside(among: dict[str, Package]) -> list[str]:
    """What the packages need at run time that is not ours."""
    named = {r for p in among.values() for r in p.requirements if requirement_name(r) not in among}
    return sorted(named)


def uninstall_all() -> None:
    """Remove every package of ours from the running environment."""
    command = [sys.executable, "-m", "pip", "uninstall", "-q", "-y", *read()]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)


def pip_without_index(python: str | os.PathLike, *arguments: str) -> None:
    """Run pip for another interpreter with the wheelhouse as its only source, whatever this machine's pip settings say."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PIP_")}
    environment |= {
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_ROOT_USER_ACTION": "ignore",
    }
    command, *rest = arguments
    source = ["--no-index", "--find-links", os.environ.get("TORCH_WHEELHOUSE", str(WHEELHOUSE))]
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "--python",
            str(python),
            command,
            "-q",
            *(source if command == "install" else []),
            *rest,
        ],
        check=True,
        env=environment,
    )


if __name__ == "__main__":
    for package in read().values():
        print(f"{package.name:24} {package.version:10} needs {', '.join(needs(package, read())) or 'nothing of ours'}")
