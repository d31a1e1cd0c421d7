"""``torch.save`` and ``torch.load``: any object graph in a file, read back without running anything in it.

Works with only NumPy, where tensors are ndarrays, and returns tensors when torch-core is installed. Reads all formats
of PyTorch since 2016, safetensors, ``.npy`` and ``.npz``; writes the zip that PyTorch reads, its older formats, safetensors.
Also known as ``torch.serialization``.
"""

import pickle  # noqa: F401  (what programs give on as pickle_module)

from ._convert import convert
from ._errors import CorruptPickleError, FileFormatError, SourceChangeWarning, UnsafeGlobalError
from ._inspect import get_unsafe_globals_in_checkpoint, inspect
from ._load import load
from ._names import (
    _get_layout,  # noqa: F401  (a word of pickles)
    check_module_version_greater_or_equal,
    mkdtemp,
    normalize_storage_type,
    storage_to_tensor_type,
)
from ._options import (
    LoadEndianness,
    get_crc32_options,
    get_default_load_endianness,
    get_default_load_expansion,
    get_default_mmap_options,
    set_crc32_options,
    set_default_load_endianness,
    set_default_load_expansion,
    set_default_mmap_options,
    skip_data,
)
from ._pickles.safe import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals
from ._save import DEFAULT_PROTOCOL, save
from ._storage.location import (
    MAP_LOCATION,
    default_restore_location,
    location_tag,
    register_package,
    validate_cuda_device,
)
from .npy import load_npy, load_npz, save_npy, save_npz
from .safetensors import load_safetensors, save_safetensors
from .sharded import load_sharded, save_sharded

__all__ = [
    "DEFAULT_PROTOCOL",
    "CorruptPickleError",
    "FileFormatError",
    "LoadEndianness",
    "MAP_LOCATION",
    "SourceChangeWarning",
    "UnsafeGlobalError",
    "add_safe_globals",
    "check_module_version_greater_or_equal",
    "clear_safe_globals",
    "convert",
    "default_restore_location",
    "get_crc32_options",
    "get_default_load_endianness",
    "get_default_load_expansion",
    "get_default_mmap_options",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "inspect",
    "load",
    "load_npy",
    "load_npz",
    "load_safetensors",
    "load_sharded",
    "location_tag",
    "mkdtemp",
    "normalize_storage_type",
    "register_package",
    "safe_globals",
    "save",
    "save_npy",
    "save_npz",
    "save_safetensors",
    "save_sharded",
    "set_crc32_options",
    "set_default_load_endianness",
    "set_default_load_expansion",
    "set_default_mmap_options",
    "skip_data",
    "storage_to_tensor_type",
    "validate_cuda_device",
]

_READING = {
    "StorageType", "_get_restore_location", "_is_torchscript_zip", "_is_zipfile", "_maybe_decode_ascii", "_open_file_like",
    "_open_zipfile_reader",
}  # fmt: skip


def __getattr__(name):  # by hand, as torch._seams is not there where NumPy serves in place of torch-core
    if name == "PyTorchFileReader":
        from ._file_reader import PyTorchFileReader

        return PyTorchFileReader
    if name in _READING:
        from . import _reading

        return getattr(_reading, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
