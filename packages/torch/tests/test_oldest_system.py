"""What wheels ask of the system that they are installed on."""

import platform
import re
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

#: glibc of RHEL 9, and of the images that wheels are built in, whose own functions have no newer version than that.
OLDEST, BUILT_WITH = (2, 34), (2, 36)
BUILT_ELSEWHERE = sys.platform != "linux" or tuple(map(int, platform.libc_ver()[1].split("."))) > BUILT_WITH


@pytest.mark.skipif(
    BUILT_ELSEWHERE, reason="what newer versions of glibc have is asked for, once it is built with them"
)
def test_libraries_load_with_glibc_2_34():
    places = [folder for part in ("torch", "torch.autograd", "torch.jit", "torch.multiprocessing")
              for folder in find_spec(part).submodule_search_locations]  # fmt: skip
    found = {file.resolve() for place in places for file in Path(place).rglob("*.so*")}
    assert any("libtorch_core" in file.name for file in found), found
    newer = {}
    for file in found:
        versions = set(re.findall(rb"GLIBC_(\d+)\.(\d+)(?=\0)", file.read_bytes()))
        if wanted := {v for v in (tuple(map(int, pair)) for pair in versions) if v > OLDEST}:
            newer[file.name] = sorted(wanted)
    assert not newer
