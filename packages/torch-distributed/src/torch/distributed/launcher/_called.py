"""The program that each rank of :func:`elastic_launch` runs: ``python -m torch.distributed.launcher._called FOLDER``."""

import multiprocessing.spawn
import os
import pickle
import sys
from pathlib import Path

from ..elastic.multiprocessing.errors import record
from .api import CALL


@record
def main(folder: str) -> None:
    """Call the function that was put into the folder, and put there what it returns."""
    # Functions of the starting program's main module are found as multiprocessing finds them: it is imported again.
    multiprocessing.spawn.prepare(pickle.loads(Path(folder, "main.pickle").read_bytes()))
    function, args = pickle.loads(Path(folder, CALL).read_bytes())
    result = pickle.dumps(function(*args))
    part = Path(folder, f".part.{os.environ['RANK']}")
    part.write_bytes(result)
    part.replace(Path(folder, f"result.{os.environ['RANK']}"))


if __name__ == "__main__":
    main(sys.argv[1])
