"""One stream of several, and several of one."""

from __future__ import annotations

import itertools
from collections import deque
from typing import Any

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe


class _OfSeveral(IterDataPipe):
    def __init__(self, *datapipes: Any) -> None:
        if not datapipes:
            raise ValueError(f"{type(self).__name__}: expected at least one pipe")
        if not all(isinstance(d, IterDataPipe) for d in datapipes):
            raise TypeError(
                f"{type(self).__name__}: expected IterDataPipes, got {[type(d).__name__ for d in datapipes]}"
            )
        self.datapipes = datapipes


@functional_datapipe("concat")
class ConcaterIterDataPipe(_OfSeveral):
    """One stream behind another."""

    def __iter__(self) -> Any:
        for datapipe in self.datapipes:
            yield from datapipe

    def __len__(self) -> int:
        return sum(map(len, self.datapipes))


@functional_datapipe("zip")
class ZipperIterDataPipe(_OfSeveral):
    """Tuples of a sample of each stream, until the shortest ends."""

    def __iter__(self) -> Any:
        yield from zip(*self.datapipes, strict=False)

    def __len__(self) -> int:
        return min(map(len, self.datapipes))


@functional_datapipe("mux")
class MultiplexerIterDataPipe(_OfSeveral):
    """A sample of each stream in turn, until the shortest ends."""

    def __iter__(self) -> Any:
        yield from itertools.chain.from_iterable(zip(*self.datapipes, strict=False))

    def __len__(self) -> int:
        return min(map(len, self.datapipes)) * len(self.datapipes)


class _Source:
    """What the branches of one stream share: its iterator, and what one has read and others have not."""

    def __init__(self, datapipe, count, buffer_size, places):
        self.datapipe, self.buffer_size, self.places = datapipe, buffer_size, places
        self.waiting: list[deque] = [deque() for _ in range(count)]
        self.begun = [False] * count
        self.iterator = None

    def __getstate__(self):
        return {
            **self.__dict__,
            "iterator": None,
            "waiting": [deque() for _ in self.waiting],
            "begun": [False] * len(self.begun),
        }

    def begin(self, branch):
        """A branch that begins anew starts the stream anew for all."""
        if self.iterator is None or self.begun[branch]:
            self.iterator = iter(self.datapipe)
            self.begun = [False] * len(self.begun)
            for buffer in self.waiting:
                buffer.clear()
        self.begun[branch] = True

    def next(self, branch):
        while not self.waiting[branch]:
            sample = next(self.iterator)
            for place in self.places(sample):
                self.waiting[place].append(sample)
            if 0 <= self.buffer_size < max(map(len, self.waiting)) - 1:
                raise BufferError(
                    f"one branch of {self.datapipe!r} is more than buffer_size={self.buffer_size} samples behind another"
                )
        return self.waiting[branch].popleft()


class _Branch(IterDataPipe):
    def __init__(self, source: Any, number: int) -> None:
        self.main_datapipe, self.instance_id = source, number

    def __iter__(self) -> Any:
        self.main_datapipe.begin(self.instance_id)
        while True:
            try:
                yield self.main_datapipe.next(self.instance_id)
            except StopIteration:
                return

    def __len__(self) -> int:
        if isinstance(self.main_datapipe.places, _To):
            raise TypeError(f"{type(self).__name__} instance doesn't have valid length")
        return len(self.main_datapipe.datapipe)


class _All:
    """A sample goes to all branches."""

    def __init__(self, count):
        self.count = count

    def __call__(self, sample):
        return range(self.count)


class _To:
    """A sample goes to the branch that a function says."""

    def __init__(self, function, count, drop_none):
        self.function, self.count, self.drop_none = function, count, drop_none

    def __call__(self, sample):
        place = self.function(sample)
        if place is None and self.drop_none:
            return ()
        if place is None or not 0 <= int(place) < self.count:
            raise ValueError(f"demux: the classifier gave {place!r}, expected a number below {self.count}")
        return (int(place),)


@functional_datapipe("fork")
class ForkerIterDataPipe(IterDataPipe):
    """The stream ``num_instances`` times, for as many readers."""

    def __new__(cls, datapipe: Any, num_instances: int, buffer_size: int = 1000, copy: Any = None) -> Any:
        if num_instances < 1:
            raise ValueError(f"fork: num_instances must be at least 1, got {num_instances}")
        if copy is not None:
            raise NotImplementedError("fork: samples are shared by the branches; copy them in a map()")
        if num_instances == 1:
            return [datapipe]
        source = _Source(datapipe, num_instances, buffer_size, _All(num_instances))
        return [_Branch(source, i) for i in range(num_instances)]


@functional_datapipe("demux")
class DemultiplexerIterDataPipe(IterDataPipe):
    """Several streams: a sample goes to the one that ``classifier_fn`` says."""

    def __new__(
        cls, datapipe: Any, num_instances: int, classifier_fn: Any, drop_none: bool = False, buffer_size: int = 1000
    ) -> Any:
        if num_instances < 1:
            raise ValueError(f"demux: num_instances must be at least 1, got {num_instances}")
        source = _Source(datapipe, num_instances, buffer_size, _To(classifier_fn, num_instances, drop_none))
        return [_Branch(source, i) for i in range(num_instances)]
