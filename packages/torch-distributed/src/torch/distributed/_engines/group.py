"""Collectives of tensors, told as exchanges of flat memory: what every engine does in the same way.

A group checks arguments and makes lines of elements; an engine runs the generators that come of it.
"""

import torch

from .. import _options, _reduce
from .._errors import MisfitError
from .._process_group import ProcessGroup, one, options
from . import frames, memory, sparse
from .frames import Request


class FlatGroup(ProcessGroup):
    """A process group whose engine defines ``_submit`` and ``_point_to_point``.

    Both are given a generator function of an object ``x`` with ``x.collectives``, the engine's collectives of lines.
    """

    def __init__(self, rank, ranks, name, backend, timeout):
        super().__init__(rank, len(ranks))
        self._ranks, self._name, self._backend, self._timeout = list(ranks), name, backend, timeout

    def name(self):
        return self._backend

    def _submit(self, name, request, steps, opts, tensors, details=""):
        """Start a collective; a Work."""
        raise NotImplementedError

    def _point_to_point(self, name, tensor, code, line, place, steps, found, tag, attended):
        """Start to send or receive; a Work, which tells in ``found`` who has sent."""
        raise NotImplementedError

    _device_type = "cpu"

    def _code(self, what, tensor):
        return memory.code(what, tensor, self._device_type)

    def _line(self, what, tensor):
        return self._code(what, tensor), memory.flat(tensor)

    # ---- collectives

    def broadcast(self, tensors, opts=None):
        opts = options(opts, _options.BroadcastOptions)
        tensor = one("broadcast", tensors)
        code, line = self._line("broadcast", tensor)
        root = self._place("broadcast", opts.rootRank)

        def steps(x):
            yield from x.collectives.broadcast(x, line, root)
            self._received(tensor, line)

        request = Request(frames.CODES["broadcast"], code, 0, root, line.numel())
        return self._submit("broadcast", request, steps, opts, [tensor], _shape(tensor, root=root))

    def allreduce(self, tensors, opts=None):
        opts = options(opts, _options.AllreduceOptions)
        tensor = one("all_reduce", tensors)
        if getattr(tensor, "layout", None) is torch.sparse_coo and self._device_type == "cpu":
            return self._allreduce_sparse(tensor, opts)
        code, line = self._line("all_reduce", tensor)
        op = _reduce.check("all_reduce", opts.reduceOp, tensor.dtype)

        def steps(x):
            yield from x.collectives.all_reduce(x, line, op)
            self._received(tensor, line)

        request = Request(frames.CODES["all_reduce"], code, op.value, numel=line.numel())
        return self._submit("all_reduce", request, steps, opts, [tensor], _shape(tensor, op=op.name))

    def _allreduce_sparse(self, tensor, opts):
        code = memory.code("all_reduce", tensor._values(), self._device_type)
        op = _reduce.check("all_reduce", opts.reduceOp, tensor.dtype)
        if op.name not in ("SUM", "AVG"):
            raise NotImplementedError(f"all_reduce: sparse tensors are summed or averaged, not reduced by {op.name}")

        def steps(x):
            yield from sparse.all_reduce(x, tensor, op)
            torch.autograd.graph.increment_version(tensor)

        request = Request(frames.CODES["all_reduce of sparse tensors"], code, op.value)  # of no length: lines differ
        return self._submit("all_reduce", request, steps, opts, [tensor], "sparse, " + _shape(tensor, op=op.name))

    def allreduce_coalesced(self, tensors, opts=None):
        opts = options(opts, _options.AllreduceCoalescedOptions)
        tensors = list(tensors)
        if not tensors:
            raise ValueError("all_reduce_coalesced: the list of tensors is empty")
        if len({t.dtype for t in tensors}) > 1:
            raise TypeError("all_reduce_coalesced: the tensors must have one dtype")
        code = [self._code("all_reduce_coalesced", t) for t in tensors][0]
        line = torch.cat([t.detach().reshape(-1) for t in tensors])
        op = _reduce.check("all_reduce_coalesced", opts.reduceOp, line.dtype)

        def steps(x):
            yield from x.collectives.all_reduce(x, line, op)
            at = 0
            for tensor in tensors:
                self._received(tensor, line[at : at + tensor.numel()])
                at += tensor.numel()

        request = Request(frames.CODES["all_reduce"], code, op.value, numel=line.numel())
        details = ", ".join(_shape(t) for t in tensors) + f", op={op.name}"
        return self._submit("all_reduce_coalesced", request, steps, opts, tensors, details)

    def reduce(self, tensors, opts=None):
        opts = options(opts, _options.ReduceOptions)
        tensor = one("reduce", tensors)
        code, line = self._line("reduce", tensor)
        op = _reduce.check("reduce", opts.reduceOp, tensor.dtype)
        root = self._place("reduce", opts.rootRank)

        def steps(x):
            yield from x.collectives.reduce(x, line, root, op)
            if x.rank == root:
                self._received(tensor, line)

        request = Request(frames.CODES["reduce"], code, op.value, root, line.numel())
        return self._submit("reduce", request, steps, opts, [tensor], _shape(tensor, root=root, op=op.name))

    def allgather(self, output_lists, tensors, opts=None):
        opts = options(opts, _options.AllgatherOptions)
        tensor = one("all_gather", tensors)
        outputs = self._list("all_gather", "tensor_list", output_lists[0], tensor.dtype)
        code, line = self._line("all_gather", tensor)
        # Ranks may bring tensors of different lengths; the one who receives knows them.
        even = all(out.numel() == line.numel() for out in outputs)
        if outputs[self._rank].numel() != line.numel():
            raise MisfitError(
                f"all_gather: tensor has {line.numel()} elements, its place {self._rank} in tensor_list "
                f"{outputs[self._rank].numel()}"
            )
        lines = [memory.flat(out) for out in outputs]

        def steps(x):
            yield from x.collectives.all_gather(x, line, lines)
            for out, filled in zip(outputs, lines, strict=True):
                self._received(out, filled)

        request = Request(frames.CODES["all_gather"], code, numel=line.numel() if even else 0)
        return self._submit(
            "all_gather", request, steps, opts, [outputs], _shape(tensor) if even else str(tensor.dtype)
        )

    def _allgather_base(self, output, input, opts=None):
        opts = options(opts, _options.AllgatherOptions)
        code, line = self._line("all_gather_into_tensor", input)
        self._line("all_gather_into_tensor", output)
        if output.dtype != input.dtype or output.numel() != input.numel() * self._size:
            raise MisfitError(
                f"all_gather_into_tensor: output {_shape(output)} must have {self._size} times the elements of input "
                f"{_shape(input)}, and its dtype"
            )
        into = memory.flat(output)

        def steps(x):
            yield from x.collectives.all_gather(
                x, line, list(into.view(x.size, -1)) if line.numel() else [into] * x.size
            )
            self._received(output, into)

        request = Request(frames.CODES["all_gather"], code, numel=line.numel())
        return self._submit("all_gather_into_tensor", request, steps, opts, [output], _shape(input))

    def gather(self, output_lists, tensors, opts=None):
        opts = options(opts, _options.GatherOptions)
        tensor = one("gather", tensors)
        code, line = self._line("gather", tensor)
        root = self._place("gather", opts.rootRank)
        outputs = self._list("gather", "gather_list", output_lists[0], tensor.dtype, line) if self._rank == root else []
        lines = [memory.flat(out) for out in outputs]

        def steps(x):
            yield from x.collectives.gather(x, line, lines, root)
            for out, filled in zip(outputs, lines, strict=True):
                self._received(out, filled)

        request = Request(frames.CODES["gather"], code, 0, root, line.numel())
        return self._submit("gather", request, steps, opts, [outputs], _shape(tensor, root=root))

    def scatter(self, tensors, input_lists, opts=None):
        opts = options(opts, _options.ScatterOptions)
        tensor = one("scatter", tensors)
        code, line = self._line("scatter", tensor)
        root = self._place("scatter", opts.rootRank)
        inputs = self._list("scatter", "scatter_list", input_lists[0], tensor.dtype, line) if self._rank == root else []
        lines = [memory.flat(one) for one in inputs]

        def steps(x):
            yield from x.collectives.scatter(x, line, lines, root)
            self._received(tensor, line)

        request = Request(frames.CODES["scatter"], code, 0, root, line.numel())
        return self._submit("scatter", request, steps, opts, [tensor], _shape(tensor, root=root))

    def reduce_scatter(self, outputs, input_lists, opts=None):
        output = one("reduce_scatter", outputs)
        inputs = self._list("reduce_scatter", "input_list", input_lists[0], output.dtype, output)
        joined = torch.cat([memory.flat(tensor) for tensor in inputs])
        return self._reduce_scatter_base(output, joined, opts, "reduce_scatter")

    def _reduce_scatter_base(self, output, input, opts=None, name="reduce_scatter_tensor"):
        opts = options(opts, _options.ReduceScatterOptions)
        code, line = self._line(name, input)
        self._line(name, output)
        if output.dtype != input.dtype or output.numel() * self._size != input.numel():
            raise MisfitError(
                f"{name}: input {_shape(input)} must have {self._size} times the elements of output {_shape(output)}, and "
                "its dtype"
            )
        op = _reduce.check(name, opts.reduceOp, output.dtype)
        into = memory.flat(output)

        def steps(x):
            yield from x.collectives.reduce_scatter(x, line, into, op)
            self._received(output, into)

        request = Request(frames.CODES["reduce_scatter"], code, op.value, numel=line.numel())
        return self._submit(name, request, steps, opts, [output], _shape(output, op=op.name))

    def alltoall(self, outputs, inputs, opts=None):
        opts = options(opts, _options.AllToAllOptions)
        inputs = self._list("all_to_all", "input_tensor_list", inputs)
        outputs = self._list("all_to_all", "output_tensor_list", outputs, inputs[0].dtype)
        self._list("all_to_all", "input_tensor_list", inputs, inputs[0].dtype)
        if inputs[self._rank].numel() != outputs[self._rank].numel():
            raise MisfitError(
                f"all_to_all: a rank sends itself {inputs[self._rank].numel()} elements and expects "
                f"{outputs[self._rank].numel()}"
            )
        coming, going = [memory.flat(t) for t in outputs], [memory.flat(t) for t in inputs]

        def steps(x):
            yield from x.collectives.all_to_all(x, going, coming)
            for out, filled in zip(outputs, coming, strict=True):
                self._received(out, filled)

        request = Request(frames.CODES["all_to_all"], self._code("all_to_all", inputs[0]))
        return self._submit("all_to_all", request, steps, opts, outputs, str(inputs[0].dtype))

    def alltoall_base(self, output, input, output_split_sizes, input_split_sizes, opts=None):
        opts = options(opts, _options.AllToAllOptions)
        code, line = self._line("all_to_all_single", input)
        self._line("all_to_all_single", output)
        if output.dtype != input.dtype:
            raise MisfitError(f"all_to_all_single: output is {output.dtype}, input {input.dtype}")
        into = memory.flat(output)
        coming = self._split("output", output, into, output_split_sizes)
        going = self._split("input", input, line, input_split_sizes)
        if coming[self._rank].numel() != going[self._rank].numel():
            raise MisfitError(
                f"all_to_all_single: a rank sends itself {going[self._rank].numel()} elements and expects "
                f"{coming[self._rank].numel()}"
            )

        def steps(x):
            yield from x.collectives.all_to_all(x, going, coming)
            self._received(output, into)

        request = Request(frames.CODES["all_to_all"], code)
        return self._submit("all_to_all_single", request, steps, opts, [output], str(input.dtype))

    def _split(self, what, tensor, line, sizes):
        """Pieces of the first dim, one for each rank."""
        rows = tensor.shape[0] if tensor.dim() else 0
        if not sizes:
            if rows % self._size:
                raise MisfitError(
                    f"all_to_all_single: dim 0 of {what} {_shape(tensor)} must be a multiple of the {self._size} ranks; "
                    f"or give {what}_split_sizes"
                )
            sizes = [rows // self._size] * self._size
        if len(sizes) != self._size or sum(sizes) != rows or min(sizes) < 0:
            raise MisfitError(
                f"all_to_all_single: {what}_split_sizes {list(sizes)} must be {self._size} numbers that add up to dim 0 of "
                f"{what} {_shape(tensor)}"
            )
        row = line.numel() // rows if rows else 0
        return list(line.split([size * row for size in sizes]))

    def barrier(self, opts=None):
        opts = options(opts, _options.BarrierOptions)
        return self._submit("barrier", Request(frames.CODES["barrier"]), lambda x: x.collectives.barrier(x), opts, [])

    # ---- point to point

    def send(self, tensors, dst, tag=0, attended=False):
        tensor = one("send", tensors)
        code, line = self._line("send", tensor)
        place = self._place("send", dst)
        return self._point_to_point(
            "send", tensor, code, line, place, lambda x: x.collectives.send(x, line, place, tag), None, tag, attended
        )

    def recv(self, tensors, src, tag=0, attended=False):
        return self._receive(one("recv", tensors), self._place("recv", src), tag, attended)

    def recv_anysource(self, tensors, tag=0, attended=False):
        return self._receive(one("recv", tensors), None, tag, attended)

    def _receive(self, tensor, place, tag, attended):
        code, line = self._line("recv", tensor)
        found: list = []

        def steps(x):
            yield from x.collectives.receive(x, line, place, tag, found)
            found[0] = x.group.place[found[0]]
            self._received(tensor, line)

        return self._point_to_point("recv", tensor, code, line, place, steps, found, tag, attended)

    def send_now(self, tensors, dst, tag=0):
        self.send(tensors, dst, tag, attended=True).wait()

    def recv_now(self, tensors, src, tag=0):
        work = self.recv_anysource(tensors, tag, True) if src is None else self.recv(tensors, src, tag, True)
        work.wait()
        return work.source_rank()

    # ---- checks

    def _place(self, what, place):
        if isinstance(place, bool) or not isinstance(place, int) or not 0 <= place < self._size:
            raise MisfitError(
                f"{what}: rank {place!r} is not in group {self._name}, whose ranks are 0 to {self._size - 1}"
            )
        return place

    def _list(self, what, name, tensors, dtype=None, like=None):
        if not isinstance(tensors, (list, tuple)) or len(tensors) != self._size:
            count = len(tensors) if isinstance(tensors, (list, tuple)) else type(tensors).__name__
            raise MisfitError(f"{what}: {name} must be a list of {self._size} tensors, one for each rank; got {count}")
        for i, tensor in enumerate(tensors):
            self._code(what, tensor)
            if dtype is not None and tensor.dtype != dtype:
                raise MisfitError(f"{what}: {name}[{i}] is {tensor.dtype}, the tensor is {dtype}")
            if like is not None and tensor.numel() != like.numel():
                raise MisfitError(
                    f"{what}: {name}[{i}] has {tensor.numel()} elements (shape {tuple(tensor.shape)}), the tensor "
                    f"{like.numel()}"
                )
        return list(tensors)

    def _received(self, tensor, line):
        """The tensor has new values: say so to the graphs that hold it."""
        memory.put_back(tensor, line)
        torch.autograd.graph.increment_version(tensor)

    def _check_tag(self, name, place, tag):
        if place == self._rank:
            raise ValueError(f"{name}: rank {self._ranks[place]} cannot {name} to itself")
        if isinstance(tag, bool) or not isinstance(tag, int) or not -(2**63) <= tag < 2**63:
            raise TypeError(f"{name}: tag must be an int of 64 bits, got {tag!r}")
        whom = "any rank" if place is None else f"rank {self._ranks[place]}"
        return f"{name} {'to' if name == 'send' else 'from'} {whom} (tag {tag}, group {self._name})"


def _shape(tensor, **more):
    parts = [str(tensor.dtype).removeprefix("torch."), f"shape {tuple(tensor.shape)}"]
    return ", ".join([*parts, *(f"{name} {value}" for name, value in more.items())])
