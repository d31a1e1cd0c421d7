"""torch-core builds itself with the hook that it ships: taken from src/, where nothing is installed yet."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "src"))

from torch_core.hatch import CMakeHook


def get_build_hook() -> type[CMakeHook]:
    return CMakeHook
