"""The folder in which compiled programs would lie."""

import getpass
import os
import tempfile


def cache_dir():
    """``$TORCHINDUCTOR_CACHE_DIR``, or a folder of the user's among the temporary ones; it is made."""
    folder = os.environ.get("TORCHINDUCTOR_CACHE_DIR") or os.path.join(
        tempfile.gettempdir(), f"torchinductor_{getpass.getuser()}"
    )
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder
    os.makedirs(folder, exist_ok=True)
    return folder


default_cache_dir = cache_dir
