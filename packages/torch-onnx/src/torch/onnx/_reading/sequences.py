"""Sequences: lists of tensors."""

from __future__ import annotations

import torch

from . import reader
from .shapes import ints


def _list(name, items):
    if not isinstance(items, list):
        raise TypeError(f"onnx.load: {name}: expected a sequence, got {type(items).__name__}")
    return items


def _place(name, items, position, end):
    items, place = _list(name, items), int(position)
    if not -len(items) <= place < end:
        raise IndexError(f"onnx.load: {name}: position {place} in a sequence of {len(items)}")
    return place


@reader("SequenceConstruct")
def construct(*tensors):
    return list(tensors)


@reader("SequenceEmpty")
def empty(dtype=1):
    return []


@reader("SequenceAt")
def at(items, position):
    return items[_place("SequenceAt", items, position, len(items))]


@reader("SequenceInsert")
def insert(items, tensor, position=None):
    end = len(_list("SequenceInsert", items))
    place = end if position is None else _place("SequenceInsert", items, position, end + 1)
    place = place + len(items) if place < 0 else place
    return [*items[:place], tensor, *items[place:]]


@reader("SequenceErase")
def erase(items, position=None):
    if not _list("SequenceErase", items) and position is None:
        raise IndexError("onnx.load: SequenceErase: the sequence is empty")
    place = len(items) - 1 if position is None else _place("SequenceErase", items, position, len(items))
    place = place + len(items) if place < 0 else place
    return [*items[:place], *items[place + 1 :]]


@reader("SequenceLength")
def length(items):
    return torch.tensor(len(_list("SequenceLength", items)))


@reader("ConcatFromSequence")
def concat(items, axis, new_axis=0):
    if not _list("ConcatFromSequence", items):
        raise RuntimeError("onnx.load: ConcatFromSequence: the sequence is empty")
    return torch.stack(items, axis) if new_axis else torch.cat(items, axis)


@reader("SplitToSequence")
def split(x, sizes=None, axis=0, keepdims=1):
    if sizes is None:
        parts = torch.split(x, 1, axis)
        return list(parts) if keepdims else [part.squeeze(axis) for part in parts]
    return list(torch.split(x, ints(sizes) if sizes.dim() else int(sizes), axis))
