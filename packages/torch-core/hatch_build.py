"""torch-core builds itself with the hook that it ships: taken from src/, where nothing is installed yet."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCES = Path(__file__).parent / "src"
sys.path.insert(0, str(SOURCES))

from torch_core.hatch import CMakeHook  # noqa: E402


class CoreHook(CMakeHook):
    def installed(self, stage: Path) -> None:
        """Write the stub from the rows of the library that was just built."""
        if "TORCH_SANITIZE" in os.environ.get("TORCH_CMAKE_ARGS", ""):
            return  # a sanitized library loads only into a process that was started for it
        with tempfile.TemporaryDirectory() as scratch:
            torch = Path(scratch, "torch")
            torch.mkdir()
            for path in {p.name: p for p in [*(SOURCES / "torch").iterdir(), *stage.iterdir()]}.values():
                (torch / path.name).symlink_to(path.resolve())
            (torch / "__init__.pyi").unlink(missing_ok=True)
            paths = os.pathsep.join([scratch, str(SOURCES)])
            command = [sys.executable, "-B", "-m", "torch_core.stubs", str(stage / "__init__.pyi")]
            if subprocess.run(command, env=os.environ | {"PYTHONPATH": paths}, cwd=scratch).returncode:
                self.app.abort("torch-core: the built library cannot be imported; the reason is above")


def get_build_hook() -> type[CMakeHook]:
    return CoreHook
