"""Files of the repository that pages link to: each becomes a page with its text, so that links work from a folder."""

from __future__ import annotations

import re
from pathlib import Path

from packages import ROOT

LANGUAGES = {".py": "python", ".h": "cpp", ".cpp": "cpp", ".c": "c", ".def": "cpp", ".toml": "toml", ".sh": "bash"}


class Sources:
    """Collects the files that pages name, and writes them in the end."""

    def __init__(self, pages: dict[Path, str]):
        self.pages = pages  # Markdown files of the repository, by the name of their page
        self.wanted: set[Path] = set()

    def page(self, file: Path) -> str:
        """The page of a file, without suffix, from the root of the site."""
        self.wanted.add(file)
        return "source/" + file.relative_to(ROOT).as_posix()

    def target(self, file: Path) -> str | None:
        """The page that a link to this file or folder means."""
        if file in self.pages:
            return self.pages[file]
        if (readme := file / "README.md") in self.pages:
            return self.pages[readme]
        if file.is_dir():  # a folder without a README: its files, listed
            return self.page(file)
        return self.page(file) if file.exists() else None

    def markdown(self, text: str, file: Path, name: str) -> str:
        """Markdown of the repository with its links turned to pages of the site.

        Raises FileNotFoundError for a link to a file that does not exist.
        """
        up = "../" * name.count("/")

        def turned(match: re.Match) -> str:
            target, _, anchor = match[1].partition("#")
            if not target or re.match(r"[a-z]+:", target):
                return match[0]
            resolved = Path(file.parent, target).resolve()
            page = self.target(resolved)
            if page is None:
                raise FileNotFoundError(f"{file.relative_to(ROOT)}: the link {match[1]!r} leads nowhere")
            return f"]({up}{page}.{'md' if page in self.pages.values() else 'rst'}{'#' * bool(anchor)}{anchor})"

        text = text.replace("\n\n```\n", "\n```\n")  # the empty line that ends a doctest
        parts = re.split(r"(^```.*?^```)", text, flags=re.M | re.S)  # what code says in brackets is no link
        return "".join(p if p.startswith("```") else re.sub(r"\]\(([^)\s]+)\)", turned, p) for p in parts)

    def write(self, folder: Path) -> None:
        for file in sorted(self.wanted):
            name = file.relative_to(ROOT).as_posix()
            page = folder / "source" / f"{name}.rst"
            page.parent.mkdir(parents=True, exist_ok=True)
            lines = [":orphan:", "", name, "=" * len(name), ""]
            if file.is_dir():
                children = [c for c in sorted(file.iterdir()) if c.is_file() and c.suffix in LANGUAGES]
                lines += [f"* {c.name}" for c in children]
            else:
                copy = folder / "_files" / name
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_text(file.read_text())
                language = LANGUAGES.get(file.suffix, "text")
                lines += [f".. literalinclude:: /_files/{name}", f"   :language: {language}", "   :linenos:"]
            page.write_text("\n".join(lines) + "\n")
