"""Gradients are sent in buckets: lines of memory that hold those of several parameters, one behind the other."""

import torch

FIRST_BUCKET = 1 << 20  # bytes: a small one, so that sending begins soon
APART = 1 << 20  # bytes of a gradient that is sent as it lies, from its own memory


def assign(parameters, limits, apart=None) -> list:
    """Lists of indices of parameters that share a bucket, in the order given; each bucket has one dtype.

    ``limits`` are bytes after which a bucket is full; the last holds for all further ones. Parameters of ``apart``
    bytes or more have a bucket each.

    >>> import torch
    >>> parameters = [torch.zeros(3), torch.zeros(5), torch.zeros(2, dtype=torch.float64), torch.zeros(1)]
    >>> assign(parameters, [16, 100])
    [[0, 1], [2], [3]]
    >>> assign(parameters, [16, 100], apart=20)
    [[1], [2], [0, 3]]
    """
    done, open_ = [], {}
    count: dict = {}
    for i, parameter in enumerate(parameters):
        if apart is not None and parameter.numel() * parameter.element_size() >= apart:
            done.append([i])
            continue
        held = open_.setdefault(parameter.dtype, [[], 0])
        held[0].append(i)
        held[1] += parameter.numel() * parameter.element_size()
        which = count.get(parameter.dtype, 0)
        if held[1] >= limits[min(which, len(limits) - 1)]:
            done.append(held[0])
            count[parameter.dtype] = which + 1
            del open_[parameter.dtype]
    # What is left comes last, the buckets in the order in which their first parameters do.
    return done + sorted((indices for indices, _ in open_.values()), key=lambda indices: indices[0])


class Bucket:
    """The gradients of some parameters in one line of memory; a big one by itself may be sent from where it lies."""

    def __init__(self, index, numbers, parameters, apart=False):
        self.index, self.numbers, self.parameters = index, numbers, parameters
        self.apart = apart and len(numbers) == 1
        self.own = None  # the gradient's memory, where that is sent
        self.future = None
        self.missing: set = set()

    def __getattr__(self, name):
        if name not in ("line", "views"):
            raise AttributeError(name)
        self.line = torch.zeros(sum(p.numel() for p in self.parameters), dtype=self.parameters[0].dtype)
        self.make_views()
        return self.__dict__[name]

    def make_views(self):
        self.views, at = [], 0
        for parameter in self.parameters:
            self.views.append(self.line[at : at + parameter.numel()].view(parameter.shape))
            at += parameter.numel()


class GradBucket:
    """What a communication hook is given: the gradients of one bucket.

    The hook returns a future of the tensor that takes the place of ``buffer()``.
    """

    __module__ = "torch.distributed"

    def __init__(self, bucket: Bucket, last: bool):
        self._bucket, self._last = bucket, last

    def index(self) -> int:
        """The number of the bucket, counted in the order in which they are sent."""
        return self._bucket.index

    def buffer(self):
        """The line of all gradients."""
        return self._bucket.line

    def set_buffer(self, buffer) -> None:
        """Put another line in its place."""
        if buffer.numel() != self._bucket.line.numel():
            raise ValueError(
                f"GradBucket.set_buffer: expected {self._bucket.line.numel()} elements, got {buffer.numel()}"
            )
        self._bucket.line = buffer
        self._bucket.make_views()

    def gradients(self) -> list:
        """The gradients as views of the line, each of its parameter's shape."""
        return list(self._bucket.views)

    def parameters(self) -> list:
        """The parameters that they are of."""
        return list(self._bucket.parameters)

    def is_last(self) -> bool:
        """Whether no bucket follows in this iteration."""
        return self._last
