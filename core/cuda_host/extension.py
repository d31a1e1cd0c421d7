"""Turns CUDA C++ of users into C++ over the execution layer, for tests of extensions: launches, which no C++ compiler
reads, and shared memory, which every block has for itself.

    scale<float><<<blocks, threads, 0, stream>>>(x, n);   ->   cuda_host::start("scale<float>", scale<float>, {blocks, ...}, x, n);
    __shared__ float tile[32][33];                        ->   TORCH_SHARED(float, tile, [32][33]);
    extern __shared__ float row[];                        ->   TORCH_DYNAMIC_SHARED(float, row);
"""

from __future__ import annotations

import re

HEAD = '#include "cuda_host/extension.h"\n'
_SHARED = re.compile(r"(extern\s+)?__shared__\s+([^;=]+?)\s*(\w+)\s*((?:\[[^;]*\])?)\s*;")
_NAME = re.compile(r"([A-Za-z_][\w:]*)\s*$")


def translated(text: str) -> str:
    """The C++ of a file of CUDA; lines keep their numbers.

    >>> translated("f<<<g, 32>>>(x);").splitlines()[-1]
    'cuda_host::start("f", f, cuda_host::Grid(g, 32), x);'
    """
    text = _SHARED.sub(_shared, text)
    while (at := text.find("<<<")) >= 0:
        end = _closing(text, at + 3, ">>>")
        begin = _callee(text, at)
        open_ = re.compile(r"\s*\(").match(text, end + 3)
        if open_ is None:
            raise ValueError(f"a launch without arguments: {text[begin : end + 3]}")
        name, close = text[begin:at].strip(), _closing(text, open_.end(), ")")
        arguments = text[open_.end() : close].strip()
        quoted = name.replace('"', '\\"')
        call = f'cuda_host::start("{quoted}", {name}, cuda_host::Grid({text[at + 3 : end]})'
        text = f"{text[:begin]}{call}{', ' if arguments else ''}{arguments}){text[close + 1 :]}"
    return f"{HEAD}#line 1\n{text}"


def _shared(match) -> str:
    extern, kind, name, extent = match.groups()
    return f"TORCH_DYNAMIC_SHARED({kind}, {name});" if extern else f"TORCH_SHARED({kind}, {name}, {extent});"


def _closing(text: str, at: int, mark: str) -> int:
    """Where what is open at `at` is closed by `mark`, outside of brackets."""
    depth = 0
    while at < len(text):
        if depth == 0 and text.startswith(mark, at):
            return at
        depth += (text[at] in "([{") - (text[at] in ")]}")
        at += 1
    raise ValueError(f"a launch is not closed by {mark!r}")


def _callee(text: str, end: int) -> int:
    """Where the name of the kernel before `end` begins, with its template arguments."""
    at = end
    if text[:at].rstrip().endswith(">"):
        at, depth = len(text[:at].rstrip()) - 1, 0
        while at >= 0:
            depth += (text[at] == ">") - (text[at] == "<")
            if depth == 0:
                break
            at -= 1
    name = _NAME.search(text[:at])
    if name is None:
        raise ValueError(f"a launch of no name: {text[max(0, end - 40) : end]}")
    return name.start()
