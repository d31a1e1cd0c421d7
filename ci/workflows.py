"""Writes .github/workflows/ from tox's environments, so that the list of jobs is not kept twice.

    python ci/workflows.py           # write
    python ci/workflows.py --check   # fail when a file is not what it would be

One job builds the wheelhouse; each environment is a job of its own that runs when ci/changed.py names it.
"""

import configparser
import sys

from packages import ROOT

FOLDER = ROOT / ".github" / "workflows"
HEADER = "# Written by ci/workflows.py from tox.ini: change those.\n"
PYTHONS = ["3.10", "3.11", "3.12", "3.13", "3.14"]

TEST = """\
name: test
on:
  push:
    branches: [main]
  pull_request:

concurrency:
  group: ${{ github.workflow }}-${{ github.ref }}
  cancel-in-progress: true

jobs:
  changed:
    runs-on: ubuntu-24.04
    outputs:
      envs: ${{ steps.list.outputs.envs }}
    steps:
      - uses: actions/checkout@v4
        with: {fetch-depth: 0}
      - uses: actions/setup-python@v5
        with: {python-version: "3.12"}
      - id: list
        run: echo "envs=$(python ci/changed.py ${{ github.event.pull_request.base.sha || 'HEAD~1' }} --envs)" >> "$GITHUB_OUTPUT"

  wheels:
    runs-on: ubuntu-24.04
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with: {python-version: "3.12"}
      - uses: actions/cache@v4
        with: {path: ~/.cache/ccache, key: "ccache-${{ github.sha }}", restore-keys: ccache-}
      - run: sudo apt-get update && sudo apt-get install -y ccache && pip install "tox>=4.20"
      - run: tox run -e wheels
        env: {CMAKE_CXX_COMPILER_LAUNCHER: ccache, TORCH_CMAKE_ARGS: -DTORCH_WERROR=ON}
      - run: tar cf built.tar .wheelhouse build/wheels
      - uses: actions/upload-artifact@v4
        with: {name: built, path: built.tar}
"""

FROM_WHEELS = """
  {env}:
    needs: [changed, wheels]
    if: contains(fromJSON(needs.changed.outputs.envs), '{env}')
    runs-on: ubuntu-24.04
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with: {{python-version: "3.12"}}
      - uses: actions/download-artifact@v4
        with: {{name: built}}
      - run: tar xf built.tar && pip install "tox>=4.20" && tox run -e {env}
"""

ALONE = """
  {env}:
    needs: changed
    if: contains(fromJSON(needs.changed.outputs.envs), '{env}')
    runs-on: ubuntu-24.04
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with: {{python-version: "3.12"}}
      - run: pip install "tox>=4.20" && tox run -e {env}
"""

FULL = """\
name: full
on:
  schedule: [{cron: "0 3 * * 1"}]
  workflow_dispatch:

jobs:
  python:
    strategy:
      fail-fast: false
      matrix:
        python: [PYTHONS]
    runs-on: ubuntu-24.04
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with: {python-version: "${{ matrix.python }}"}
      - run: python ci/test.py

  clang:
    runs-on: ubuntu-24.04
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with: {python-version: "3.12"}
      - run: sudo apt-get update && sudo apt-get install -y clang && pip install "tox>=4.20" && tox run -e clang

  cuda-code:
    runs-on: ubuntu-24.04
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with: {python-version: "3.12"}
      - run: pip install "tox>=4.20" && tox run -e cuda-code

  site:
    runs-on: ubuntu-24.04
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with: {python-version: "3.12"}
      - run: python ci/docs.py
      - uses: actions/upload-artifact@v4
        with: {name: site, path: build/site/html}
"""

# Compiled or read on their own, beside the wheelhouse.
WITHOUT_WHEELS = ["lint", "asan", "tsan", "generic"]


def environments() -> list[str]:
    """tox's env_list, without the one that builds."""
    settings = configparser.ConfigParser(interpolation=None)
    settings.read(ROOT / "tox.ini")
    return [env for env in settings["tox"]["env_list"].split() if env != "wheels"]


def files() -> dict[str, str]:
    jobs = [FROM_WHEELS.format(env=e) for e in environments() if e not in WITHOUT_WHEELS]
    jobs += [ALONE.format(env=e) for e in WITHOUT_WHEELS]
    pythons = ", ".join(f'"{p}"' for p in PYTHONS)
    return {"test.yml": HEADER + TEST + "".join(jobs), "full.yml": HEADER + FULL.replace("PYTHONS", pythons)}


def main() -> None:
    wanted = files()
    have = {p.name: p.read_text() for p in FOLDER.glob("*.yml")} if FOLDER.exists() else {}
    if sys.argv[1:] == ["--check"]:
        if have != wanted:
            stale = sorted(n for n in {*have, *wanted} if have.get(n) != wanted.get(n))
            sys.exit(f"workflows: {', '.join(stale)} not up to date: python ci/workflows.py")
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in have.keys() - wanted.keys():
        (FOLDER / name).unlink()
    for name, text in wanted.items():
        (FOLDER / name).write_text(text)


if __name__ == "__main__":
    main()
