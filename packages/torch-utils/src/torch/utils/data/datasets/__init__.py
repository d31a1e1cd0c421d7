"""Data sets with real files: digits, small photographs, folders of images, text and tables.

Each finds its files in a folder, says which file is wrong (``check``), and takes a ``transform``; images are tensors of
uint8, (C, H, W). The transforms themselves are in packages of their own.
"""

from torch import _seams

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

__getattr__, __dir__ = _seams.later(globals(), names=_PLACES)
