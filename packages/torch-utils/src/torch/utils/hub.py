"""Weights and models from the network or a folder; also known as ``torch.hub``.

A repository offers models in its ``hubconf.py``: each public function there makes one, and ``dependencies`` lists the modules
that it needs. That file is a stranger's program: it is run only when you trust its repository.
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib.util
import json
import os
import re
import shutil
import stat
import sys
import tempfile
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from torch._seams import need

from ._download import DownloadError, download_url_to_file

__all__ = [
    "DownloadError",
    "download_url_to_file",
    "get_dir",
    "help",
    "list",
    "load",
    "load_state_dict_from_url",
    "set_dir",
]

GITHUB = "https://github.com"
API = "https://api.github.com"
HASH_REGEX = re.compile(r"-([a-f0-9]{8,})\.")  # resnet18-5c106cde.pth
SOURCES = "github", "local"

_dir: str | None = None


def get_dir() -> str:
    """The folder of what was downloaded: set by `set_dir`, or ``$TORCH_HOME/hub``, or ``~/.cache/torch/hub``."""
    return os.path.join(_get_torch_home(), "hub") if _dir is None else _dir


def _get_torch_home() -> str:  # a name that other libraries import
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return os.path.expanduser(os.environ.get("TORCH_HOME") or os.path.join(cache, "torch"))


def set_dir(d: str | os.PathLike) -> None:
    """Sets the folder that `get_dir` returns."""
    global _dir
    _dir = os.path.expanduser(os.fspath(d))


def load_state_dict_from_url(
    url: str,
    model_dir: str | os.PathLike | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = True,
) -> Any:
    """What `torch.load` reads from the file at an address; fetched once, into ``get_dir()/checkpoints``.

    Args:
        model_dir: another folder
        map_location: as in `torch.load`
        progress: shows how much has come
        check_hash: the file's name ends in a dash and the first eight or more digits of its SHA256
            (``name-5c106cde.pth``), and both what is fetched and what is there already must match
        file_name: in the folder (default: that of the address)
        weights_only: False allows the file to run code

    >>> torch.utils.model_zoo.load_url("file:///no/such/weights.pth")
    Traceback (most recent call last):
        ...
    torch.utils._download.DownloadError: file:///no/such/weights.pth could not be fetched ([Errno 2] ...
    """
    serialize = need("serialize")
    folder = Path(model_dir) if model_dir is not None else Path(get_dir(), "checkpoints")
    name = file_name or os.path.basename(urlparse(url).path)
    if name in ("", ".", ".."):
        raise ValueError(f"load_state_dict_from_url: {url} ends in no file name; give file_name")
    found = HASH_REGEX.search(name) if check_hash else None
    if check_hash and found is None:
        raise ValueError(f"load_state_dict_from_url: check_hash needs a name such as model-5c106cde.pth, got {name!r}")
    path = folder / name
    if found is not None or not path.exists():
        download_url_to_file(url, str(path), found[1] if found else None, progress)
    return serialize.load(path, map_location=map_location, weights_only=weights_only)


def load(
    repo_or_dir: str | os.PathLike,
    model: str,
    *args: Any,
    source: str = "github",
    trust_repo: bool | str | None = "check",
    force_reload: bool = False,
    verbose: bool = True,
    skip_validation: bool = False,
    **kwargs: Any,
) -> Any:
    """The result of the function `model` in a repository's ``hubconf.py``, called with the other arguments.

    Args:
        repo_or_dir: "owner/name" or "owner/name:branch or tag" with source "github"; a folder with source "local"
        trust_repo: True runs the repository's program and remembers that you trust it; "check" asks unless you did before;
            False asks each time
        force_reload: fetch it again
        skip_validation: do not ask GitHub whether the branch or tag is the repository's own

    Example:
        >>> import pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "hubconf.py").write_text("def twice(x): return 2 * x")
        >>> load(folder, "twice", 4, source="local")
        8
    """
    folder = _folder(repo_or_dir, source, force_reload, trust_repo, "load", verbose, skip_validation)
    with _hubconf(folder) as module:
        return _entry(module, model)(*args, **kwargs)


def list(
    github: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: bool | str | None = "check",
    verbose: bool = True,
    source: str = "github",
) -> list[str]:
    """The names of the models that a repository offers."""
    folder = _folder(github, source, force_reload, trust_repo, "list", verbose, skip_validation)
    with _hubconf(folder) as module:
        return sorted(n for n, f in vars(module).items() if callable(f) and not n.startswith("_"))


def help(
    github: str,
    model: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: bool | str | None = "check",
    source: str = "github",
) -> str | None:
    """The docstring of one model that a repository offers."""
    folder = _folder(github, source, force_reload, trust_repo, "help", True, skip_validation)
    with _hubconf(folder) as module:
        return _entry(module, model).__doc__


# --- hubconf.py


@contextlib.contextmanager
def _hubconf(folder: Path):
    """The module hubconf of a folder, which can import what lies beside it meanwhile."""
    path = folder / "hubconf.py"
    if not path.is_file():
        raise FileNotFoundError(f"torch.hub: {folder} has no hubconf.py")
    sys.path.insert(0, str(folder))
    try:
        spec = importlib.util.spec_from_file_location("hubconf", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        lacking = [n for n in getattr(module, "dependencies", ()) if importlib.util.find_spec(n) is None]
        if lacking:
            raise RuntimeError(f"torch.hub: {path} needs {', '.join(lacking)}, which cannot be found: install them")
        yield module
    finally:
        with contextlib.suppress(ValueError):
            sys.path.remove(str(folder))


def _entry(module, model: str) -> Callable:
    if not isinstance(model, str):
        raise ValueError(f"torch.hub: a model is named by a str, got {type(model).__name__}")
    found = getattr(module, model, None)
    if model.startswith("_") or not callable(found):
        there = sorted(n for n, f in vars(module).items() if callable(f) and not n.startswith("_"))
        raise RuntimeError(f"torch.hub: hubconf.py has no function {model!r}; there are {', '.join(there) or 'none'}")
    return found


# --- repositories


def _folder(repo, source: str, force: bool, trust, call: str, verbose: bool, skip_validation: bool) -> Path:
    if source not in SOURCES:
        raise ValueError(f"torch.hub.{call}: source must be 'github' or 'local', got {source!r}")
    if trust not in (True, False, None, "check"):
        raise ValueError(f"torch.hub.{call}: trust_repo must be True, False or 'check', got {trust!r}")
    if source == "local":
        return Path(repo).expanduser().resolve()
    owner, name, ref = _parse(str(repo), call)
    base = Path(get_dir())
    base.mkdir(parents=True, exist_ok=True)
    _ask(base, owner, name, trust, call)
    with open(base / ".lock", "a") as lock:  # two processes would fetch it twice
        fcntl.flock(lock, fcntl.LOCK_EX)
        if ref is None:
            ref = _kept(base, owner, name, force) or _default_branch(owner, name)
        folder = base / _plain(f"{owner}_{name}_{ref}")
        if folder.is_dir() and not force:
            if verbose:
                print(f"Using cache found in {folder}", file=sys.stderr)
            return folder
        if not skip_validation:
            _validate(owner, name, ref)
        _fetch(f"{GITHUB}/{owner}/{name}/zipball/{ref}", folder, verbose)
    return folder


def _parse(repo: str, call: str) -> tuple[str, str, str | None]:
    parts = re.fullmatch(r"([\w.-]+)/([\w.-]+)(?::(.+))?", repo)
    if parts is None:
        raise ValueError(
            f"torch.hub.{call}: expected 'owner/name' or 'owner/name:branch', got {repo!r}; a folder needs source='local'"
        )
    owner, name, ref = parts.groups()
    if {owner, name} & {".", ".."}:
        raise ValueError(f"torch.hub.{call}: {repo!r} names no repository")
    # As git has it; an address with ".." in it could lead to a repository that the user was not asked to trust.
    if ref is not None and (
        re.search(r"\.\.|[\x00-\x20\x7f~^:?*\[\\%#]|//|@{", ref) or ref[0] in "/-" or ref[-1] in "/."
    ):
        raise ValueError(f"torch.hub.{call}: {ref!r} (in {repo!r}) cannot be the name of a branch or tag")
    return owner, name, ref


def _plain(name: str) -> str:
    return re.sub(r"[^\w.-]", "_", name)


def _kept(base: Path, owner: str, name: str, force: bool) -> str | None:
    """The default branch that was fetched before: no network is needed then."""
    there = (ref for ref in ("main", "master") if (base / _plain(f"{owner}_{name}_{ref}")).is_dir())
    return None if force else next(there, None)


def _default_branch(owner: str, name: str) -> str:
    return _ask_github(f"/repos/{owner}/{name}")["default_branch"]


def _validate(owner: str, name: str, ref: str) -> None:
    """A commit of a fork can be reached through the repository that it was forked from: ask only for branches and tags."""
    for kind in ("branches", "tags"):
        page = 1
        while found := _ask_github(f"/repos/{owner}/{name}/{kind}?per_page=100&page={page}"):
            if any(ref == one["name"] or (one["commit"]["sha"].startswith(ref) and len(ref) >= 7) for one in found):
                return
            page += 1
    raise ValueError(
        f"torch.hub: {ref!r} is neither a branch nor a tag of {owner}/{name}, nor the last commit of one; it may belong to a "
        "fork. skip_validation=True takes it all the same"
    )


def _ask_github(path: str) -> Any:
    headers = {"Accept": "application/vnd.github+json", "User-Agent": "torch-utils"}
    if token := os.environ.get("GITHUB_TOKEN"):
        headers["Authorization"] = f"token {token}"
    try:
        with urllib.request.urlopen(urllib.request.Request(API + path, headers=headers), timeout=30) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        reason = {404: "there is no such repository", 403: "GitHub limits the number of questions; set GITHUB_TOKEN"}
        raise DownloadError(f"{API}{path}: {error.code} {reason.get(error.code, error.reason)}") from None
    except OSError as error:
        raise DownloadError(
            f"{API}{path} could not be reached ({getattr(error, 'reason', error)}). Without a network, load a folder: "
            "torch.hub.load(folder, model, source='local')"
        ) from None


def _fetch(url: str, folder: Path, verbose: bool) -> None:
    """Fetch and unpack an archive; the folder appears when it is whole."""
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".fetch-") as scratch:
        archive = Path(scratch, "archive.zip")
        download_url_to_file(url, str(archive), progress=verbose)
        unpacked = Path(scratch, "unpacked")
        _unpack(url, archive, unpacked)
        tops = [p for p in unpacked.iterdir() if p.is_dir()]
        if len(tops) != 1:
            raise RuntimeError(f"torch.hub: {url} holds {len(tops)} folders at its top, one was expected")
        if folder.is_dir():
            shutil.rmtree(folder)
        os.replace(tops[0], folder)


def _unpack(url: str, archive: Path, folder: Path) -> None:
    """Folders and plain files of a downloaded archive; RuntimeError for one that holds anything else."""
    try:
        with zipfile.ZipFile(archive) as file:
            members = file.infolist()
            for member in members:
                kind = stat.S_IFMT(member.external_attr >> 16)
                if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
                    raise RuntimeError(f"torch.hub: {url} holds {member.filename!r}, which is a link or a device")
                parts = member.filename.replace("\\", "/").split("/")
                if ".." in parts or parts[0] == "" or ":" in parts[0]:
                    raise RuntimeError(
                        f"torch.hub: {url} holds {member.filename!r}, which would lie outside its folder"
                    )
            total, free = sum(member.file_size for member in members), shutil.disk_usage(archive.parent).free
            if total > free:
                raise RuntimeError(f"torch.hub: {url} unpacks to {total} bytes, and {archive.parent} has {free} free")
            names = [member.filename for member in members]
            if len(set(names)) < len(names):
                twice = next(name for name in names if names.count(name) > 1)
                raise RuntimeError(f"torch.hub: {url} holds {twice!r} more than once")
            file.extractall(folder)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise RuntimeError(f"torch.hub: {url} is no archive that can be unpacked ({error})") from None


def _ask(base: Path, owner: str, name: str, trust, call: str) -> None:
    """Make sure that the user trusts a repository; those trusted are listed in ``trusted_list``."""
    known = base / "trusted_list"
    entry = f"{owner}_{name}"
    trusted = known.exists() and entry in known.read_text().split()
    if trust in ("check", None) and trusted:
        return
    if trust is not True:
        question = f"torch.hub.{call} runs the program of {GITHUB}/{owner}/{name}. Do you trust it (y/N)? "
        if not sys.stdin or not sys.stdin.isatty():
            raise RuntimeError(
                f"torch.hub.{call} would run the program of {GITHUB}/{owner}/{name}, which is not trusted yet; "
                "trust_repo=True says that you do"
            )
        if input(question).strip().lower() not in ("y", "yes"):
            raise RuntimeError(f"torch.hub.{call}: {owner}/{name} is not trusted, so nothing was run")
        if trust is False:
            return
    if not trusted:
        with open(known, "a") as file:
            file.write(entry + "\n")


def __getattr__(name: str) -> Any:
    if name == "tqdm":  # libraries take it from here
        try:
            from tqdm import tqdm
        except ImportError:
            raise AttributeError("torch.hub.tqdm is that of the distribution tqdm: pip install tqdm") from None
        return tqdm
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
