"""Collectives between the devices of this process, under the names of ``torch.cuda.nccl``. Copies between devices carry
them (:mod:`torch.cuda.comm`), in the order of the tensors given, so that sums are the same bits every time; the library
NCCL carries those between processes, as backend ``nccl`` of ``torch.distributed``."""

from __future__ import annotations

import torch

from .streams import current_stream, stream

__all__ = [
    "NcclComm", "NcclCommList", "all_gather", "all_reduce", "broadcast", "check_error", "communicator", "cudaStream",
    "init_rank", "is_available", "reduce", "reduce_scatter", "unique_id", "version",
]  # fmt: skip

SUM, PROD, MAX, MIN, AVG = range(5)
_FUNCTIONS = {SUM: torch.add, PROD: torch.mul, MAX: torch.maximum, MIN: torch.minimum, AVG: torch.add}


def is_available(tensors) -> bool:
    """Whether collectives can work on these tensors: dense ones, contiguous, each on a device of its own.

    >>> torch.cuda.nccl.is_available([torch.ones(2, device="cuda")]), torch.cuda.nccl.is_available([torch.ones(2)])
    (True, False)
    """
    tensors, places = list(tensors), set()
    for x in tensors:
        if x.is_sparse or not x.is_cuda or not x.is_contiguous() or x.get_device() in places:
            return False
        places.add(x.get_device())
    return True


def _checked(tensors, name: str, what: str = "inputs") -> list:
    if isinstance(tensors, torch.Tensor) or not isinstance(tensors, (list, tuple)):
        raise TypeError(f"{name}: {what} should be a collection of tensors, got {type(tensors).__name__}")
    tensors, places = list(tensors), {}
    if not tensors:
        raise ValueError(f"{name}: expected at least one tensor in {what}")
    for i, x in enumerate(tensors):
        if x.is_sparse or not x.is_cuda or not x.is_contiguous():
            kind = "sparse" if x.is_sparse else f"on {x.device}" if not x.is_cuda else "not contiguous"
            raise RuntimeError(f"{name}: {what} must be dense, contiguous CUDA tensors, and number {i} is {kind}")
        if x.get_device() in places:
            raise RuntimeError(
                f"{name}: inputs must be on unique devices, and numbers {places[x.get_device()]} and {i} of {what} are both "
                f"on {x.device}"
            )
        if x.dtype != tensors[0].dtype:
            raise TypeError(f"{name}: {what} must have one dtype, got {tensors[0].dtype} and {x.dtype}")
        places[x.get_device()] = i
    return tensors


def _same_size(tensors, name: str) -> None:
    for i, x in enumerate(tensors):
        if x.numel() != tensors[0].numel():
            raise RuntimeError(
                f"{name}: input tensors must all have one size, and number {i} has {x.numel()} elements where the first "
                f"has {tensors[0].numel()}"
            )


def _fits(outputs, inputs, name: str, factor=lambda n, ranks: n) -> list:
    outputs = _checked(outputs, name, "outputs")
    if len(outputs) != len(inputs):
        raise ValueError(f"{name}: expected {len(inputs)} outputs, one for each input, got {len(outputs)}")
    for x, y in zip(inputs, outputs):
        wanted = factor(x.numel(), len(inputs))
        if y.device != x.device or y.dtype != x.dtype or y.numel() != wanted:
            raise RuntimeError(
                f"{name}: expected an output of {wanted} elements of {x.dtype} on {x.device}, got {y.numel()} of {y.dtype} "
                f"on {y.device}"
            )
    return outputs


class _In:
    """Within streams, one for each device; None keeps to the current ones."""

    def __init__(self, streams, inputs):
        if streams is None:
            self._blocks = []
            return
        if len(streams) != len(inputs):
            raise ValueError(f"expected a stream for each of {len(inputs)} inputs, got {len(streams)}")
        self._blocks = [stream(s) for s in streams if s is not None]

    def __enter__(self):
        self._device = torch.cuda.current_device()
        for block in self._blocks:
            block.__enter__()

    def __exit__(self, *error):
        for block in reversed(self._blocks):
            block.__exit__(*error)
        torch.cuda.set_device(self._device)


def _sum_on(device, tensors, op: int) -> torch.Tensor:
    if op not in _FUNCTIONS:
        raise ValueError(f"torch.cuda.nccl: expected op to be one of {sorted(_FUNCTIONS)}, got {op!r}")
    total = None
    for x in tensors:
        x = x.to(device, non_blocking=True)
        total = x.clone() if total is None else _FUNCTIONS[op](total, x)
    return total / len(tensors) if op == AVG else total


def all_reduce(inputs, outputs=None, op: int = SUM, streams=None, comms=None) -> None:
    """The sum of the inputs, or what ``op`` names, in every output; in the inputs where no outputs are given."""
    inputs = _checked(inputs, "all_reduce")
    _same_size(inputs, "all_reduce")
    outputs = inputs if outputs is None else _fits(outputs, inputs, "all_reduce")
    with _In(streams, inputs):
        total = _sum_on(inputs[0].device, inputs, op)
        for x in outputs:
            x.view(-1).copy_(total.view(-1))


def reduce(inputs, output=None, root: int = 0, op: int = SUM, streams=None, comms=None, *, outputs=None) -> None:
    """The sum of the inputs on the device of number ``root`` among them: in ``output``, else in that input."""
    inputs = _checked(inputs, "reduce")
    _same_size(inputs, "reduce")
    if not 0 <= root < len(inputs):
        raise ValueError(f"reduce: root must be one of {len(inputs)} inputs, got {root}")
    given = output if output is not None else outputs
    if isinstance(given, (list, tuple)):
        given = given[root]
    target = inputs[root] if given is None else given
    if (
        target.device != inputs[root].device
        or target.numel() != inputs[root].numel()
        or target.dtype != inputs[0].dtype
    ):
        raise RuntimeError(
            f"reduce: expected an output of {inputs[root].numel()} elements of {inputs[0].dtype} on "
            f"{inputs[root].device}, got {target.numel()} of {target.dtype} on {target.device}"
        )
    with _In(streams, inputs):
        target.view(-1).copy_(_sum_on(inputs[root].device, inputs, op).view(-1))


def broadcast(inputs, root: int = 0, streams=None, comms=None) -> None:
    """The input of number ``root`` in all others."""
    inputs = _checked(inputs, "broadcast")
    _same_size(inputs, "broadcast")
    if not 0 <= root < len(inputs):
        raise ValueError(f"broadcast: root must be one of {len(inputs)} inputs, got {root}")
    with _In(streams, inputs):
        for x in inputs:
            if x is not inputs[root]:
                x.view(-1).copy_(inputs[root].view(-1))


def all_gather(inputs, outputs, streams=None, comms=None) -> None:
    """All inputs, one behind the other, in every output."""
    inputs = _checked(inputs, "all_gather")
    _same_size(inputs, "all_gather")
    outputs = _fits(outputs, inputs, "all_gather", lambda n, ranks: n * ranks)
    with _In(streams, inputs):
        for y in outputs:
            for part, x in zip(y.view(-1).chunk(len(inputs)), inputs):
                part.copy_(x.view(-1))


def reduce_scatter(inputs, outputs, op: int = SUM, streams=None, comms=None) -> None:
    """The sum of the inputs, cut into one part for each output."""
    inputs = _checked(inputs, "reduce_scatter")
    _same_size(inputs, "reduce_scatter")
    if inputs[0].numel() % len(inputs):
        raise RuntimeError(
            f"reduce_scatter: {inputs[0].numel()} elements cannot be cut into {len(inputs)} equal parts, one for each device"
        )
    outputs = _fits(outputs, inputs, "reduce_scatter", lambda n, ranks: n // ranks)
    with _In(streams, inputs):
        parts = [x.view(-1).chunk(len(inputs)) for x in inputs]
        for i, y in enumerate(outputs):
            y.view(-1).copy_(_sum_on(y.device, [p[i] for p in parts], op))


class NcclCommList:
    """2017's communicators between devices; here a list of devices, for copies need none."""

    def __init__(self, devices):
        self.devices = [int(d) for d in devices]

    def __len__(self):
        return len(self.devices)


NcclComm = NcclCommList


def cudaStream() -> int:
    """2017's handle of the current stream."""
    return current_stream().cuda_stream


def communicator(inputs, outputs=None) -> NcclCommList:
    """2017's communicators between the devices of tensors."""
    inputs = _checked(inputs, "communicator")
    if outputs is not None and [x.device for x in outputs] != [x.device for x in inputs]:
        raise ValueError("communicator: inputs and outputs must be on the same devices")
    return NcclCommList(x.get_device() for x in inputs)


def check_error(status: int) -> None:
    """NcclError for a code other than 0."""
    if int(status) != 0:
        raise torch.cuda.nccl.NcclError(int(status))


def _library():
    """The binding of NCCL that torch-distributed compiles against the header of the wheel nvidia-nccl."""
    try:
        from torch.distributed._engines.nccl import library
    except ImportError:
        raise RuntimeError(
            "torch.cuda.nccl opens NCCL through torch-distributed, which is not installed; collectives between the devices "
            "of one process do without"
        ) from None
    return library


def version() -> tuple[int, int, int]:
    """NCCL's version. RuntimeError says what is missing to open it."""
    number = _library().versions()[0]
    return number // 10000, number // 100 % 100, number % 100


def unique_id() -> bytes:
    """What ranks connect by. RuntimeError says what is missing to open NCCL."""
    return _library().unique_id()


def init_rank(num_ranks, uid, rank):
    """Raises NotImplementedError: ``torch.distributed`` connects processes."""
    raise NotImplementedError(
        "torch.cuda.nccl.init_rank: communicators between processes are those of torch.distributed (backend='nccl')"
    )
