"""Every link inside the built site leads to a page and to a place on it."""

from __future__ import annotations

import posixpath
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    def __init__(self, text: str):
        super().__init__()
        self.links: set[str] = set()
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if value is None:
                continue
            if name == "id" or (name == "name" and tag == "a"):
                self.places.add(value)
            elif (name == "href" and tag in ("a", "link")) or (name == "src" and tag in ("img", "script")):
                self.links.add(value)


def broken(folder: Path) -> list[str]:
    """The links of all HTML files below a folder that lead nowhere, as "page: link"."""
    files = {file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()}
    pages = {name: Page((folder / name).read_text()) for name in files if name.endswith(".html")}
    found = []
    for name, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            path = unquote(parts.path)
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else name
            if target not in files:
                target = posixpath.normpath(posixpath.join(target, "index.html"))
            if target not in files:
                found.append(f"{name}: {link}")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].places:
                found.append(f"{name}: {link} (no such place on the page)")
    return sorted(found)
