"""Thread-local storage of our libraries: what is loaded at run time shares some 1,600 bytes of it with everybody else."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

DYNAMIC, TLS = 2, 7  # program header types PT_DYNAMIC and PT_TLS
FLAGS, STATIC_TLS = 30, 0x10  # DT_FLAGS and its bit DF_STATIC_TLS
OURS = 256  # bytes, of all our libraries together


def libraries():
    parts = (find_spec("torch").submodule_search_locations, find_spec("torch.autograd").submodule_search_locations)
    parts += (find_spec("torch.multiprocessing").submodule_search_locations,)
    found = {p.resolve() for folders in parts for folder in folders for p in Path(folder).rglob("*.so*")}
    return sorted(found)


def segments(data, kind):
    """(offset, bytes in the file, bytes in memory) of each program header of one type."""
    headers, size, count = (int.from_bytes(data[a:b], "little") for a, b in ((32, 40), (54, 56), (56, 58)))
    for at in range(headers, headers + size * count, size):
        if int.from_bytes(data[at : at + 4], "little") == kind:
            yield tuple(int.from_bytes(data[at + i : at + i + 8], "little") for i in (8, 32, 40))


def thread_local_bytes(path):
    """Size of the segment PT_TLS of a 64-bit ELF file that claims static room; others get theirs by thread."""
    data = path.read_bytes()
    assert data[:5] == b"\x7fELF\x02", path
    flags = 0
    for offset, size, _ in segments(data, DYNAMIC):
        for at in range(offset, offset + size, 16):
            if int.from_bytes(data[at : at + 8], "little") == FLAGS:
                flags = int.from_bytes(data[at + 8 : at + 16], "little")
    return sum(memory for _, _, memory in segments(data, TLS)) if flags & STATIC_TLS else 0


@pytest.mark.skipif(sys.platform != "linux", reason="ELF files are of Linux")
def test_all_our_libraries_take_at_most_256_bytes_of_static_thread_local_storage():
    sizes = {f"{path.parent.name}/{path.name}": thread_local_bytes(path) for path in libraries()}
    assert any("/libtorch_core" in name for name in sizes), sizes
    assert any("/libtorch_autograd" in name for name in sizes), sizes
    assert 0 < sum(sizes.values()) <= OURS, sizes


def names_needed_from_others(path):
    """The thread-local symbols that an ELF file takes from another one: undefined entries of type STT_TLS."""
    data = path.read_bytes()
    at, size, count = (int.from_bytes(data[a:b], "little") for a, b in ((40, 48), (58, 60), (60, 62)))
    sections = [data[at + size * i : at + size * (i + 1)] for i in range(count)]
    for section in sections:
        if int.from_bytes(section[4:8], "little") != 11:  # SHT_DYNSYM
            continue
        start, length = (int.from_bytes(section[a:b], "little") for a, b in ((24, 32), (32, 40)))
        strings = sections[int.from_bytes(section[40:44], "little")]
        names = int.from_bytes(strings[24:32], "little")
        for symbol in range(start, start + length, 24):
            if data[symbol + 4] & 15 == 6 and data[symbol + 6 : symbol + 8] == b"\0\0":
                first = names + int.from_bytes(data[symbol : symbol + 4], "little")
                yield data[first : data.index(b"\0", first)].decode()


def test_our_thread_local_names_are_our_own():
    """std::call_once would take two of libstdc++, which cannot be had when a library loaded before us used them."""
    for path in libraries():
        assert [n for n in names_needed_from_others(path) if not n.startswith("_ZN5torch")] == [], path


@pytest.mark.skipif(find_spec("sklearn") is None, reason="scikit-learn is not installed")
@pytest.mark.parametrize(
    "order",
    [
        "import torch; torch.ones(2, requires_grad=True).sum().backward(); import sklearn.linear_model",
        "import sklearn.linear_model; import torch; torch.ones(2, requires_grad=True).sum().backward()",
        "import sklearn.linear_model, torch.multiprocessing; torch.ones(2).requires_grad_()",
    ],
)
def test_scikit_learn_loads_before_and_after_us(order):
    done = subprocess.run(
        [sys.executable, "-c", order + "; print('both')"], capture_output=True, text=True, timeout=120
    )
    assert done.stdout == "both\n", done.stderr
