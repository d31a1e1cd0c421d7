"""What our programs and pages tell people to type must not fetch other people's packages of our names."""

import re

import lint

from packages import ROOT

HINT = re.compile(r"pip install[^\"'`\n]*?\btorch(-[a-z]+)*\b")
SAFE = ("--no-index", "--index-url", "--no-deps", "{house}")


def test_every_hint_says_where_our_packages_are():
    found = []
    for name in lint.tracked("*.py", "*.cpp", "*.h", "*.md", "*.toml", "*.sh", "*.yml", "*.ipynb", "*Dockerfile*"):
        if "/tests/" in name:
            continue
        for number, line in enumerate((ROOT / name).read_text().splitlines(), 1):
            if HINT.search(line) and not any(word in line for word in SAFE):
                found.append(f"{name}:{number}: {line.strip()}")
    assert not found, "\n".join(found)
