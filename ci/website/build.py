"""Gathers the pages into one folder, has Sphinx make HTML of them, and checks the links."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from packages import ROOT

from . import benchmarks, links, modules, operators, tutorials
from .sources import Sources

HERE = Path(__file__).parent
DOCS = ROOT / "docs"


def pages() -> dict[Path, str]:
    """The Markdown files that are pages, by the name of the page."""
    found = {file: file.relative_to(DOCS).with_suffix("").as_posix() for file in sorted(DOCS.rglob("*.md"))}
    found[ROOT / "README.md"] = "overview"
    for name in ("CONTRIBUTING", "SECURITY", "GOVERNANCE", "CODE_OF_CONDUCT"):
        found[ROOT / f"{name}.md"] = name.lower().replace("_", "-")
    found[ROOT / "examples" / "README.md"] = "examples"
    found[ROOT / "packages" / "torch-autograd" / "csrc" / "derivatives" / "README.md"] = "derivatives"
    for readme in sorted(ROOT.glob("packages/*/README.md")):
        found[readme] = f"packages/{readme.parent.name}"
    return found


def exchange(new: Path, old: Path) -> None:
    """Make the old folder equal to the new one, leaving files that are the same as they are: Sphinx reads only others."""
    fresh = {f.relative_to(new) for f in new.rglob("*") if f.is_file()}
    for file in [f for f in old.rglob("*") if f.is_file() and f.relative_to(old) not in fresh]:
        file.unlink()
    for name in fresh:
        if not (old / name).exists() or (old / name).read_bytes() != (new / name).read_bytes():
            (old / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(new / name, old / name)


def build(out: Path) -> None:
    """Make the site in a folder; what was there is replaced. Exits where a page or a link is wrong."""
    began = time.perf_counter()
    work = ROOT / "build" / "site"
    source = work / "source"
    kept, source = source, work / "gathered"
    shutil.rmtree(source, ignore_errors=True)
    (source / "_static").mkdir(parents=True)
    shutil.copy(HERE / "site.css", source / "_static")
    for name in ("conf.py", "search.js"):
        shutil.copy(HERE / name, source)

    names = pages()
    scripts = sorted((DOCS / "tutorials").glob("*.py"))
    sources = Sources({**names, **{s: f"tutorials/{s.stem}" for s in scripts}})
    for file, name in names.items():
        page = source / f"{name}.md"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(sources.markdown(file.read_text(), file, name))
    benchmarks.write(source, sources)
    found = operators.write(source, sources)
    listed = modules.write(source, found)
    tutorials.write(source, scripts, sources)
    sources.write(source)
    exchange(source, kept)
    source = kept
    gathered = time.perf_counter() - began

    command = [sys.executable, "-m", "sphinx", "-b", "html", "-q", "-W", "--keep-going", source, work / "html"]
    done = subprocess.run([*map(str, command), "-d", str(work / "doctrees")], capture_output=True, text=True)
    said = [line.replace(f"{source}/", "") for line in done.stderr.splitlines() if line.strip()]
    wrong = [line for line in said if re.search(r"(WARNING|ERROR|CRITICAL):", line)]
    for line in wrong or (said if done.returncode else []):
        print(line)
    for notebook in (source / "tutorials" / "notebooks").glob("*"):
        into = work / "html" / "tutorials" / "notebooks"
        into.mkdir(parents=True, exist_ok=True)
        shutil.copy(notebook, into)
    lost = links.broken(work / "html")
    print(*lost, sep="\n", end="\n" if lost else "")
    if done.returncode or lost:
        shutil.rmtree(work / "doctrees", ignore_errors=True)  # the next build says it again
        sys.exit(f"docs: {len(wrong)} warnings, {len(lost)} broken links")
    if out.resolve() != (work / "html").resolve():
        shutil.copytree(work / "html", out, dirs_exist_ok=True)
    count = sum(1 for _ in out.rglob("*.html"))
    seconds = time.perf_counter() - began
    print(
        f"{count} pages: {len(found)} operators, {len(listed)} modules, {len(scripts)} tutorials; no broken links; "
        f"{seconds:.0f} s, of which gathering {gathered:.0f} s; open {out / 'index.html'}"
    )
