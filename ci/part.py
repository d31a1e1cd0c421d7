"""Tests parts as tox does, each with only what it needs, but in place: after a change, in seconds and without wheels.

    python ci/part.py nn                                           # all tests of torch-nn
    python ci/part.py nn packages/torch-nn/tests/test_rnn.py -x    # some, with pytest's options
    python ci/part.py optim utils jit                              # several, one after the other

A test that takes a part which is installed here, though not where the part stands by itself, fails here as it does in CI.
What is compiled has to be there: ci/develop.sh makes it. The environments stay in build/parts.
"""

import configparser
import os
import re
import subprocess
import sys
from pathlib import Path

import packages
from packages import ROOT

HOME = ROOT / "build" / "parts"


def settings() -> configparser.RawConfigParser:
    found = configparser.RawConfigParser()
    found.read(ROOT / "tox.ini")
    return found


def value(tox: configparser.RawConfigParser, section: str, key: str) -> str:
    """A setting of tox.ini with its references followed.

    >>> value(settings(), "testenv:nn", "tests").endswith("packages/torch-nn/tests")
    True
    """
    if not tox.has_option(section, key):
        section = "testenv"
    text = tox.get(section, key).replace("{tox_root}", str(ROOT)).replace("{/}", os.sep)
    return re.sub(r"\{\[([^]]+)\](\w+)\}", lambda match: value(tox, match[1], match[2]), text)


def editable(package: packages.Package, into: Path) -> Path:
    """A wheel that points at the package's sources."""
    environment = {"TORCH_BUILD_DIR": str(ROOT / "build"), **os.environ}
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel:editable", "-d", str(into)]
    subprocess.run(command, cwd=package.folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    return max(into.glob(f"{package.name.replace('-', '_')}-{package.version}-*.whl"), key=lambda p: p.stat().st_mtime)


def wanted(
    part: str, tox: configparser.RawConfigParser, among: dict[str, packages.Package]
) -> tuple[list[str], list[str]]:
    """Our packages, each after those that it needs, and the requirements of others', that the part's tests are promised."""
    ours: set[str] = set()
    others = [line for line in value(tox, f"testenv:{part}", "deps").splitlines() if line]
    for argument in value(tox, f"testenv:{part}", "parts").split():
        package = among[packages.requirement_name(argument)]
        ours |= packages.closure(package, among)
        if extras := re.search(r"\[(.+)\]", argument):
            for requirement in (
                r for e in extras[1].split(",") for r in package.settings["project"]["optional-dependencies"][e]
            ):
                if (name := packages.requirement_name(requirement)) in among:
                    ours |= packages.closure(among[name], among)
                else:
                    others.append(requirement)
    others += [
        r
        for name in among
        if name in ours
        for r in among[name].requirements
        if packages.requirement_name(r) not in among
    ]
    return [name for name in among if name in ours], list(dict.fromkeys(others))


def prepare(part: str, tox: configparser.RawConfigParser) -> Path:
    """The interpreter of the part's environment, which is made, or made anew where its requirements have changed."""
    among = packages.read()
    ours, others = wanted(part, tox, among)
    stamp = "\n".join([*ours, *others])
    home = HOME / part
    python = home / "bin" / "python"
    if not (home / "stamp").exists() or (home / "stamp").read_text() != stamp:
        print(f"part: making an environment with {', '.join(ours)} ...", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", home], check=True)
        arguments = [word for line in others for word in (line.split(maxsplit=1) if line.startswith("-r") else [line])]
        subprocess.run([python, "-m", "pip", "install", "-q", *arguments], check=True)
        made = [str(editable(among[name], HOME / "wheels")) for name in ours]
        subprocess.run([python, "-m", "pip", "install", "-q", "--no-deps", "--no-index", *made], check=True)
        (home / "stamp").write_text(stamp)
    return python


def main() -> None:
    tox = settings()
    words = sys.argv[1:]
    parts = []
    while words and tox.has_section(f"testenv:{words[0]}"):
        parts.append(words.pop(0))
    if not parts:
        sys.exit(__doc__)
    failed = []
    for part in parts:
        python = prepare(part, tox)
        paths = [w for w in words if Path(w.split("::")[0]).exists()]
        tests = [] if paths else value(tox, f"testenv:{part}", "tests").split()
        options = ["-c", ROOT / "pyproject.toml", "--rootdir", ROOT, "-p", "no:cacheprovider", "-q", "--timeout", "300"]
        given = [str(ROOT / w) if w in paths else w for w in words]
        home = HOME / part / "run"  # outside of packages, whose folders would be importable
        home.mkdir(exist_ok=True)
        if subprocess.run([python, "-m", "pytest", *options, *tests, *given], cwd=home).returncode:
            failed.append(part)
    if failed:
        sys.exit(f"part: tests of {', '.join(failed)} failed")


if __name__ == "__main__":
    main()
