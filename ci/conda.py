"""Writes conda/*/recipe.yaml, a recipe for rattler-build (or conda-build 25) for each package, from its pyproject.toml.

    python ci/conda.py           # write
    python ci/conda.py --check   # fail when a file is not what it would be
    rattler-build build --recipe-dir conda --channel conda-forge   # builds them in the order in which they need each other

Packages of ours need each other by our own names; give the channel that holds them before any other.
"""

import json
import re
import sys

import packages
from packages import ROOT, Package

FOLDER = ROOT / "conda"
#: What a wheel of the registry is called on conda-forge.
NAMES = {"scipy-openblas32": "libopenblas", "ninja": "ninja", "cmake": "cmake"}
#: What a compiler of a package's own is called there, and the libraries that come apart from it.
COMPILERS = {"nvcc": ("cuda", ["cuda-cudart-dev", "cuda-cudart-static"])}

RECIPE = """\
# Written by ci/conda.py from packages/{name}/pyproject.toml: change that.
schema_version: 1

package:
  name: {name}
  version: "{version}"

source:
  path: ../..
  use_gitignore: true

build:
  number: 0
{noarch}  script: cd packages/{name} && $PYTHON -m pip install . -vv --no-deps --no-build-isolation

requirements:
{build}  host:
{host}  run:
{run}
tests:
  - python:
      imports: [{module}]
      pip_check: false

about:
  summary: {summary}
  license: BSD-3-Clause
  license_file: packages/{name}/LICENSE
"""


def conda(requirement: str) -> str:
    """A requirement in conda's words.

    >>> conda("torch-core~=0.1.0"), conda("numpy>=1.26"), conda("scipy-openblas32>=0.3.28.0.2"), conda("ninja")
    ('torch-core >=0.1.0,<0.2', 'numpy >=1.26', 'libopenblas', 'ninja')
    """
    name = packages.requirement_name(requirement)
    if name in NAMES:
        return NAMES[name]
    found = re.search(r"(~=|>=|==)\s*([\d.]+)", requirement)
    if found is None:
        return name
    relation, version = found.groups()
    if relation != "~=":
        return f"{name} {relation}{version}"
    first, second = version.split(".")[:2]
    return f"{name} >={version},<{first}.{int(second) + 1}"


def lines(requirements) -> str:
    return "".join(f"    - {one}\n" for one in requirements)


def recipe(package: Package) -> str:
    project = package.settings["project"]
    python = f"python {project['requires-python']}"
    tools = [conda(r) for r in package.build_requirements]
    language, libraries = COMPILERS.get(package.compiler, (None, []))
    languages = ["cxx", language] if language else ["cxx"]
    building = [f"${{{{ compiler('{one}') }}}}" for one in languages] + ["cmake", "ninja"]
    return RECIPE.format(
        name=package.name,
        version=package.version.replace("+", "_"),  # conda has no local versions
        noarch="" if package.compiled else "  noarch: python\n",
        build="  build:\n" + lines(building) if package.compiled else "",
        host=lines([python, "pip", *(t for t in tools if t not in building), *libraries]),
        run=lines([python, *(conda(r) for r in package.requirements)]),
        module=package.module,
        summary=json.dumps(project["description"]),
    )


def files() -> dict:
    return {FOLDER / p.name / "recipe.yaml": recipe(p) for p in packages.read().values()}


def main() -> None:
    wanted = files()
    different = [f for f, text in wanted.items() if not f.exists() or f.read_text() != text]
    stale = [f for f in FOLDER.glob("*/recipe.yaml") if f not in wanted]
    if "--check" in sys.argv:
        if different or stale:
            names = ", ".join(str(f.relative_to(ROOT)) for f in [*different, *stale])
            sys.exit(f"conda: {names} differ from what packages say: python ci/conda.py")
        return
    for file, text in wanted.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    for file in stale:
        file.unlink()


if __name__ == "__main__":
    main()
