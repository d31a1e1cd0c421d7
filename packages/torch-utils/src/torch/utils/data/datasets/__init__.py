"""Data sets with real files: digits, small photographs, folders of images, text and tables.

Each finds its files in a folder, says which file is wrong (``check``), and takes a ``transform``; images are tensors of
uint8, (C, H, W). The transforms themselves are in packages of their own.
"""

from importlib import import_module as _import_module

_PLACES = {
    "BrokenFile": "files",
    "CIFAR10": "cifar",
    "CSV": "table",
    "CSVStream": "table",
    "Check": "files",
    "Column": "columns",
    "FashionMNIST": "mnist",
    "ImageFolder": "folder",
    "MNIST": "mnist",
    "TextCorpus": "text",
    "Vocabulary": "text",
    "WikiText2": "text",
    "WikiText103": "text",
    "batchify": "text",
    "pillow_image": "folder",
    "read_idx": "mnist",
    "tensor_image": "folder",
}

__all__ = list(_PLACES)


def __getattr__(name):
    if name in _PLACES:
        value = getattr(_import_module(f"{__name__}.{_PLACES[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *_PLACES})
