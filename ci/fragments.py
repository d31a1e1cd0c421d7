"""Fails when the change being committed touches the sources of a package and leaves no changelog fragment for it.

    python ci/fragments.py [BASE]    # the index against BASE (default: main)

A change that no user can feel is committed with `git commit --no-verify`, or answered for in review.
"""

import subprocess
import sys

from packages import ROOT


def silent(paths: list[str]) -> list[str]:
    """The packages whose sources are among the paths and whose changes/ is not.

    >>> silent(["packages/torch-nn/src/torch/nn/a.py", "packages/torch-optim/src/b.py", "packages/torch-nn/changes/a.added.md"])
    ['torch-optim']
    """
    parts = [path.split("/") for path in paths if path.startswith("packages/") and path.count("/") > 2]
    sources = {package for _, package, folder, *_ in parts if folder in ("src", "csrc")}
    told = {package for _, package, folder, *_ in parts if folder == "changes"}
    return sorted(sources - told)


def main() -> None:
    base = sys.argv[1] if len(sys.argv) > 1 else "main"
    fork = subprocess.run(
        ["git", "-C", str(ROOT), "merge-base", base, "HEAD"], capture_output=True, text=True
    ).stdout.strip()
    command = ["git", "-C", str(ROOT), "diff", "--cached", "--name-only", fork or "HEAD"]
    if names := silent(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()):
        sys.exit(
            f"fragments: say in one sentence what users notice, in packages/({'|'.join(names)})/changes/TOPIC.added.md"
        )


if __name__ == "__main__":
    main()
