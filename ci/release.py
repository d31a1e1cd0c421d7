"""Releases a package: fragments become its changelog, the version moves, the wheels are checked, a tag is set.

    python ci/release.py torch-nn 0.1.1            # on a clean tree; commits and tags, pushes nothing
    python ci/release.py torch-nn 0.1.1 --dry-run  # prints the changelog entry
    python ci/release.py all                       # every package whose version is not tagged yet, as 0.1.0 of all of them
    python ci/release.py minor 0.2.0               # versions and pins of all move to a new minor version; commit, then "all"
    python ci/release.py index                     # a package index of the wheelhouse; see ci/index.py

Dependants are not rebuilt for a patch: their pins are compatible releases.
"""

import argparse
import datetime
import re
import subprocess
import sys
from pathlib import Path

import index

import packages
from packages import ROOT, Package

#: what looks for torch-core when it is built
FINDERS = [
    "core/examples/find_package/CMakeLists.txt",
    "packages/torch-autograd/CMakeLists.txt",
    "packages/torch-core-cuda/CMakeLists.txt",
    "packages/torch-jit/CMakeLists.txt",
    "program/CMakeLists.txt",
]
#: what tells users and their builds how to pin
SAID = ["README.md", "docs/extensions.md", "packages/torch-core/src/torch_core/hatch.py"]
KINDS = {"added": "Added", "changed": "Changed", "fixed": "Fixed", "perf": "Faster"}


def written(changelog: str, version: str) -> str:
    """What the changelog says by hand of a version that is not released yet, with its head.

    >>> written("# Changelog\\n\\n## 0.2.0 (unreleased)\\n\\n- Begun.\\n\\n## 0.1.0 (2026-01-01)\\n", "0.2.0")
    '\\n## 0.2.0 (unreleased)\\n\\n- Begun.\\n'
    """
    found = re.search(rf"\n## {re.escape(version)} \(unreleased\)\n.*?(?=\n## |\Z)", changelog, re.S)
    return found[0] if found else ""


def own(version: str) -> str:
    """A version's own number, by which changelogs call it: of torch, what stands behind the generation of its API.

    >>> own("2.14.0+parts.0.1.0"), own("0.1.1")
    ('0.1.0', '0.1.1')
    """
    return version.rpartition("+parts.")[2]


def sections(text: str) -> dict[str, str]:
    """What stands under each heading of an entry; under "" what stands before the first.

    >>> sections("Begun.\\n\\n### Added\\n\\n- a\\n\\n### Fixed\\n\\n- b\\n")
    {'': 'Begun.', 'Added': '- a', 'Fixed': '- b'}
    """
    before, *parts = re.split(r"^### (.+)\n", text, flags=re.M)
    return {"": before.strip()} | {title: body.strip() for title, body in zip(parts[::2], parts[1::2], strict=True)}


def entry(folder: Path, version: str, day: datetime.date) -> str:
    """The changelog entry of a version: under each heading what was written by hand for it, then the fragments.

    A first release has nothing before it to have changed, so it says by hand what the part is, and of the fragments
    only what was added counts.
    """
    changelog = (folder / "CHANGELOG.md").read_text()
    by_hand = written(changelog, own(version)).partition("(unreleased)")[2]
    found = sections(by_hand)
    first = not re.search(r"^## .+ \(\d{4}-\d\d-\d\d\)$", changelog, re.M)
    if first and not any(found.values()):
        raise ValueError(
            f"{folder.name} has no release yet: say in CHANGELOG.md, under '## {own(version)} (unreleased)', what it is"
        )
    for kind, title in {"added": KINDS["added"]}.items() if first else KINDS.items():
        if fragments := sorted((folder / "changes").glob(f"*.{kind}.md")):
            lines = [found.get(title, ""), *(f"- {f.read_text().strip()}" for f in fragments)]
            found[title] = "\n".join(line for line in lines if line)
    if not any(found.values()):
        raise ValueError(f"{folder.name} has no fragments in changes/: a release tells its users what it brings")
    order = sorted(filter(None, found), key=lambda title: [*KINDS.values(), title].index(title))
    body = [found[""]] + [f"### {title}\n\n{found[title]}" for title in order]
    return "\n\n".join([f"## {version} ({day.isoformat()})", *filter(None, body)]) + "\n"


def shape(package: Package) -> str:
    """What a version of this package looks like, as a regular expression."""
    return r"\d+\.\d+\.\d+" + (r"\+parts\.\d+\.\d+\.\d+" if package.name == "torch" else "")


def write(package: Package, version: str, text: str) -> None:
    """Put the entry on top of the changelog, remove the fragments, set the version."""
    changelog = package.folder / "CHANGELOG.md"
    before = changelog.read_text()
    head, mark, older = before.replace(written(before, own(version)), "").partition("\n## ")
    changelog.write_text(head.rstrip() + "\n\n" + text + (mark + older if mark else ""))
    for kind in KINDS:
        for fragment in (package.folder / "changes").glob(f"*.{kind}.md"):
            fragment.unlink()
    replace(package.folder / "pyproject.toml", rf'^version = "{re.escape(package.version)}"$', f'version = "{version}"')
    if package.name == "torch-core":
        replace(
            ROOT / "core/CMakeLists.txt", r"project\(TorchCore VERSION [\d.]+", f"project(TorchCore VERSION {version}"
        )
        replace(package.folder / "src/torch/__init__.py", r"\+core\.[\d.]+", f"+core.{version}")
        minor = version.rpartition(".")[0]
        for file in FINDERS:
            replace(ROOT / file, r"find_package\(TorchCore [\d.]+", f"find_package(TorchCore {minor}")


def write_copies(chosen: dict[Package, str]) -> None:
    """Say the new versions where they stand besides."""
    for package, version in chosen.items():
        if package.name == "torch":
            replace(ROOT / "CITATION.cff", r"^version: .*$", f"version: {own(version)}")
            replace(ROOT / "README.md", r"^torch == .*$", f"torch == {version}")
    run(sys.executable, "ci/conda.py")


def move(among: dict[str, Package], version: str, said: list[Path]) -> None:
    """Set the version of every package, and each pin on one of ours there and in the texts that say some; a package without
    a fragment gets one."""
    pin = re.compile(rf"\b({'|'.join(sorted(among, key=len, reverse=True))})(\[[\w,-]+\])?( ?~= ?)[\d.]+")
    for package in among.values():
        file = package.folder / "pyproject.toml"
        wanted = package.version.replace(own(package.version), version)
        replace(file, rf'^version = "{re.escape(package.version)}"$', f'version = "{wanted}"')
        file.write_text(pin.sub(rf"\1\2\g<3>{version}", file.read_text()))
        changes = package.folder / "changes"
        changes.mkdir(exist_ok=True)
        if not any(changes.glob("*.md")):
            what = "Pins the parts" if package.name == "torch" else "Goes with torch-core"
            (changes / "minor.changed.md").write_text(f"{what} of {version.rpartition('.')[0]}.\n")
    for file in said:
        file.write_text(pin.sub(rf"\1\2\g<3>{version}", file.read_text()))


def make_minor(version: str) -> None:
    among = packages.read()
    newest = max((own(package.version) for package in among.values()), key=numbers)
    if not re.fullmatch(r"\d+\.\d+\.0", version) or numbers(version) <= numbers(newest):
        sys.exit(f"release: a new minor version ends in .0 and lies above {newest}, so {version!r} is none")
    move(among, version, [ROOT / file for file in SAID])
    print(f"versions and pins are {version}: look at `git diff` and changes/, commit, then `python ci/release.py all`")


def numbers(version: str) -> list[int]:
    """A version as numbers, which compare.

    >>> numbers("0.10.0") > numbers("0.9.1")
    True
    """
    return [int(number) for number in version.split(".")]


def subject(chosen: dict[Package, str]) -> str:
    """What the commit of a release is called.

    >>> nn = packages.read()["torch-nn"]
    >>> subject({nn: "0.1.1"})
    'torch-nn 0.1.1'
    """
    names = [f"{package.name} {version}" for package, version in chosen.items()]
    return names[0] if len(names) == 1 else f"{len(names)} packages are released\n\n" + "\n".join(names)


def tag(package: Package, version: str) -> str:
    """The name of a release in git."""
    return f"{package.name}-v{version}"


def untagged(among: dict[str, Package], root: Path = ROOT) -> list[Package]:
    """Packages whose version has no tag yet."""
    tags = subprocess.run(["git", "tag", "--list"], cwd=root, check=True, capture_output=True, text=True).stdout.split()
    return [package for package in among.values() if tag(package, package.version) not in tags]


def replace(file: Path, pattern: str, text: str) -> None:
    new, count = re.subn(pattern, text, file.read_text(), flags=re.M)
    if count != 1:
        raise ValueError(f"{file}: expected one match of {pattern!r}, found {count}")
    file.write_text(new)


def run(*command: str) -> None:
    subprocess.run(command, check=True, cwd=ROOT)


def make_index(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="release.py index", description=index.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--house", type=Path, default=packages.WHEELHOUSE)
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "index")
    parser.add_argument("--manylinux", action="store_true", help="tag compiled wheels by their glibc; needs auditwheel")
    parser.add_argument("--tools", action="store_true", help="also what sdists are built with, from the registry")
    parser.add_argument("--sign", metavar="KEY", help="private key of ssh that signs SHA256SUMS")
    options = parser.parse_args(arguments)
    house, out = options.house.resolve(), options.out.resolve()
    index.make(house, out, tagged=options.manylinux, tools=options.tools, key=options.sign)


def main() -> None:
    if sys.argv[1:2] == ["index"]:
        make_index(sys.argv[2:])
        return
    if sys.argv[1:2] == ["minor"] and len(sys.argv) == 3:
        make_minor(sys.argv[2])
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="a package, or all")
    parser.add_argument("version", nargs="?", help="of the release; all have that of their pyproject.toml")
    parser.add_argument("--dry-run", action="store_true")
    options = parser.parse_args()
    among = packages.read()
    if options.name == "all":
        if options.version:
            parser.error("all packages are released with the versions that they have; name one to give it another")
        chosen = {package: package.version for package in untagged(among)}
        if not chosen:
            sys.exit("release: the versions of all packages are tagged")
    else:
        if options.name not in among:
            parser.error(f"no package {options.name!r}; there are {', '.join(among)}")
        if not options.version:
            parser.error(f"which version of {options.name}? It has {among[options.name].version}")
        chosen = {among[options.name]: options.version}
    for package, version in chosen.items():
        if not re.fullmatch(shape(package), version):
            parser.error(
                f"version {version!r}: three plain numbers, as in 0.1.1; pins such as ~=0.1.0 refuse others. "
                "Only torch itself states the generation of its API before its own number: 2.14.0+parts.0.1.1"
            )
    entries = {package: entry(package.folder, version, datetime.date.today()) for package, version in chosen.items()}
    if options.dry_run:
        for package, text in entries.items():
            print(f"# {package.name}\n\n{text}" if len(entries) > 1 else text)
        return
    if subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, capture_output=True, text=True).stdout:
        sys.exit("release: commit or stash your changes first")
    for package, version in chosen.items():
        write(package, version, entries[package])
        if package.name == "torch-core":
            record = ROOT / "ci" / "interface.txt"
            lines = record.read_text().splitlines()
            record.write_text("".join(f"{line}{'' if line.endswith(' released') else ' released'}\n" for line in lines))
    write_copies(chosen)
    if subprocess.run([sys.executable, "-m", "tox", "run", "-e", "wheels,lint,floor"], cwd=ROOT).returncode:
        sys.exit("release: a check failed; nothing is committed or tagged, and `git restore .` takes the changes back")
    run("git", "commit", "-qam", subject(chosen))
    for package, version in chosen.items():
        run("git", "tag", "-a", tag(package, version), "-m", f"{package.name} {version}")
        print(f"tagged {tag(package, version)}")
    print("the wheels are in .wheelhouse")


if __name__ == "__main__":
    main()
