"""Commands that install what is missing, and who owns what is installed.

The public registry holds other people's packages under several of our names, `torch` first: each command says where
ours are. ``TORCH_INDEX_URL`` names an index of ours (``ci/release.py index`` makes one), or ``TORCH_WHEELHOUSE`` a folder of
wheels; it is `.wheelhouse`, as ``ci/start.py`` leaves it, where nothing is set.
"""

import os
from functools import cache


def command(*requirements: str, upgrade: bool = False) -> str:
    """Return the pip command that installs these requirements of ours.

    >>> command("torch-nn")
    'pip install --no-index --find-links ... torch-nn'
    >>> command("torch-core~=0.3.0", upgrade=True)
    "pip install -U --no-index --find-links ... 'torch-core~=0.3.0'"
    """
    from shlex import quote

    if index := os.environ.get("TORCH_INDEX_URL"):
        where = ["--index-url", index]
    else:
        where = ["--no-index", "--find-links", os.environ.get("TORCH_WHEELHOUSE") or ".wheelhouse"]
    wanted = ["-U"] * upgrade + [*where, *requirements]
    return "pip install " + " ".join(map(quote, wanted))


@cache  # reads the lists of installed files; programs may ask for a missing part again and again
def is_strangers(dist: str) -> bool:
    """Whether a distribution of this name is installed and is not ours: another package that has the same name.

    >>> is_strangers("torch-core"), is_strangers("torch-nowhere")
    (False, False)
    """
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        found = distribution(dist)
    except PackageNotFoundError:
        return False
    if dist == "torch-core":
        return False
    needs_core = any(r.startswith("torch-core") for r in found.requires or [])
    owns_part = any(str(f) == f"torch/{dist.removeprefix('torch-')}/__init__.py" for f in found.files or [])
    return not (needs_core or owns_part or _is_editable(found))


def _is_editable(found) -> bool:
    # An editable install of ours leaves a .pth file that points to packages/<name>/src, beside the packages. In a package
    # of a stranger's such a file holds weights.
    return any(len(f.parts) == 1 and f.suffix == ".pth" for f in found.files or [])


def stranger(dist: str) -> str:
    """Return what to do about a stranger's distribution.

    >>> print(stranger("torch-optim"))
    the installed 'torch-optim' is another project's package of the same name: pip uninstall torch-optim; pip install --no-index --find-links ... torch-optim
    """
    # The registry's torch writes over files of torch-core and of every part; pip takes it for an upgrade of ours.
    again = command(dist).replace("install", "install --force-reinstall", 1) if dist == "torch" else command(dist)
    return f"the installed {dist!r} is another project's package of the same name: pip uninstall {dist}; {again}"


def overwritten() -> str:
    """Return what to do where another torch was installed over files of ours: pip takes it for an upgrade."""
    return f"torch-core shares its folder with files of another torch: {stranger('torch')}"


def absent(what: str, dist: str) -> str:
    """Where something is that is not installed, or hidden by a stranger's distribution, and the command that mends it.

    >>> absent("shops are", "torch-shop").partition(": ")[0]
    "shops are in the distribution 'torch-shop', which is not installed"
    """
    where = f"{what} in the distribution {dist!r}"
    if is_strangers(dist):
        return f"{where}; {stranger(dist)}"
    return f"{where}, which is not installed: {command(dist)}"
