"""The parameters of one module, kept in pieces: whole while the module computes, and their gradients summed in pieces.

In forward, one gathering makes the whole parameters, as outputs of a node of the graph; what autograd saves of them is
noted by number, and gathered again when backward asks for it.  The node's own backward has all their gradients at once,
sums them over the ranks, and leaves each rank the sum for its pieces.
"""

import math
import weakref

import torch
from torch.autograd import Function

from .. import _collectives as collectives
from .._composable_state import _State
from .._reduce import ReduceOp
from ..tensor._dtensor import DTensor, Piece, wrap
from ..tensor._layout import Spec, chunk
from ..tensor.placement_types import Replicate, Shard, _StridedShard


class Slot:
    """A parameter: the modules and names under which it is found, and its piece along ``dim``.

    It travels as lines, one for each index of ``dim``, so that what belongs to a rank lies together.  A DTensor, of
    what ``parallelize_module`` has cut, is on each rank the parameter that is cut once more.
    """

    def __init__(self, places, parameter, mesh, dim=0):
        self.places, self.dim = places, dim
        self.spread = parameter._spec if isinstance(parameter, DTensor) else None
        whole = parameter.detach() if self.spread is None else parameter._local_tensor
        self.shape, self.dtype = whole.shape, whole.dtype
        self.length = self.shape[dim]
        self.ranks, self.rank = mesh.size(mesh.ndim - 1), mesh.get_local_rank(mesh.ndim - 1)
        piece = self.cut(whole).clone(memory_format=torch.contiguous_format)
        self.piece = Piece(piece, self._spec(mesh), requires_grad=parameter.requires_grad)
        self.line_shape = self.shape[:dim] + self.shape[dim + 1 :]
        self.line = self.line_shape.numel()

    def _spec(self, mesh):
        """How the pieces lie: on the mesh, or on the one that has its dims and those that the parameter lay on before."""
        above = () if self.spread is None else self.spread.placements
        parts = [n for n, p in zip(self.spread.mesh.shape if above else (), above, strict=True) if p == Shard(self.dim)]
        here = _StridedShard(self.dim, split_factor=math.prod(parts)) if parts else Shard(self.dim)
        placements = (here,) if mesh.ndim == 1 else (Replicate(), here)
        if self.spread is None:
            return Spec(mesh, placements, self.shape)
        return Spec(mesh._beside(self.spread.mesh), (*placements, *above), self.spread.shape)

    def cut(self, whole):
        """This rank's piece of a tensor of the parameter's shape."""
        start, end = chunk(self.length, self.ranks, self.rank)
        return whole.narrow(self.dim, start, end - start)

    def flat(self, tensor):
        """The lines of a parameter, a piece or a gradient, one after the other."""
        return tensor.movedim(self.dim, 0).reshape(-1)

    def of_lines(self, flat):
        """The inverse of :meth:`flat`."""
        return flat.reshape(-1, *self.line_shape).movedim(0, self.dim).contiguous()

    def adopt(self):
        """Take over a piece that was put in the place of ours (``to_empty``, ``load_state_dict(assign=True)``)."""
        module, name = self.places[0]
        shown = module._parameters.get(name)
        if shown is self.piece or not isinstance(shown, DTensor):
            return
        if shown._spec != self.piece._spec:
            raise RuntimeError(
                f"fully_shard: {name} of {type(module).__name__} was replaced by a tensor that lies otherwise: "
                f"{tuple(shown.shape)}, {shown.placements}; its piece is of {tuple(self.piece.shape)}, {self.piece.placements}"
            )
        self.piece = shown
        self.show(shown)

    def show_whole(self, value):
        self.show(value if self.spread is None else wrap(value, self.spread))

    def show(self, value):
        for module, name in self.places:
            module._parameters[name] = value


class ShardedParameters(_State):
    """The slots of a module, by dtype in one line each."""

    def __init__(self, slots, mesh, policy, reshard, modules=()):
        self.slots, self.mesh, self.policy = slots, mesh, policy
        self.shard_group = mesh.get_group(mesh.ndim - 1)
        self.replicas = mesh.get_group(0) if mesh.ndim == 2 else None
        self.reshard_after_forward = reshard
        self.sync = True
        self.all_reduces = True
        self.reshard_after_backward = True
        self.divide = None  # by what to divide gradients: the number of ranks
        self.modules = frozenset(modules)  # whose parameters these are
        self.awaited: set = set()  # those of them that the forward pass under way has not come to
        self.whole = None  # tensors by slot, while they are there
        self.coming = None  # gatherings under way, with the versions of the pieces that were sent
        self.next_forward, self.next_backward = (), ()  # what to gather while this module computes
        self.places: dict = {}  # the address of a whole parameter's memory: its number
        self.owed: dict = {}  # whole gradients by slot, of passes without sync
        self.hooks, self.depth = None, 0  # of the forward pass under way
        self.linked = False  # whether backward through the whole parameters reaches the pieces

    # ---- whole parameters

    def begin(self):
        """Begin to gather the parameters, which will be needed soon."""
        if self.whole is None and self.coming is None and self.slots:
            self._adopt()
            self.coming = self._versions(), self._begun()

    def _adopt(self):
        for slot in self.slots:
            slot.adopt()

    def _versions(self):
        return [slot.piece._version for slot in self.slots]

    def _begun(self):
        size, found = self.shard_group.size(), []
        for dtype in dict.fromkeys(self._dtype(slot) for slot in self.slots):
            mine = [i for i, slot in enumerate(self.slots) if self._dtype(slot) == dtype]
            lengths = [-(-self.slots[i].length // size) * self.slots[i].line for i in mine]
            line = torch.zeros(sum(lengths), dtype=dtype)
            for part, i in zip(line.split(lengths), mine, strict=True):
                piece = self.slots[i].flat(self.slots[i].piece._local_tensor)
                part[: piece.numel()].copy_(piece)
            everyone = torch.empty(size, line.numel(), dtype=dtype)
            work = collectives.all_gather_into_tensor(everyone, line, group=self.shard_group, async_op=True)
            found.append((mine, lengths, everyone, work))
        return found

    def gather(self):
        """The whole parameters, without history."""
        whole = [None] * len(self.slots)
        coming, self.coming = self.coming, None
        if coming is not None and coming[0] != self._versions():  # of before the last step, and of no use
            for *_, work in coming[1]:
                work.wait()
            coming = None
        for mine, lengths, everyone, work in self._begun() if coming is None else coming[1]:
            work.wait()
            for columns, i in zip(everyone.split(lengths, 1), mine, strict=True):
                slot = self.slots[i]
                whole[i] = slot.of_lines(columns.reshape(-1)[: slot.shape.numel()])
                if whole[i].untyped_storage().nbytes() != whole[i].numel() * whole[i].element_size():
                    whole[i] = whole[i].clone()
        return whole

    def _dtype(self, slot):
        floating = slot.dtype.is_floating_point
        return self.policy.param_dtype if self.policy.param_dtype is not None and floating else slot.dtype

    @staticmethod
    def begin_next(modules):
        for module in modules:
            module._fsdp.begin()

    def unshard(self):
        """Let the module have whole parameters that lead to the pieces' gradients."""
        if self.whole is None:
            self._adopt()
        if self.whole is None or (torch.is_grad_enabled() and not self.linked):
            pieces = [slot.piece for slot in self.slots]
            with torch._C.DisableTorchFunctionSubclass():
                self._keep(Unshard.apply(self, *pieces) if pieces else ())
            self.linked = torch.is_grad_enabled()
        for slot, tensor in zip(self.slots, self.whole, strict=True):
            slot.show_whole(tensor)

    def _keep(self, whole):
        self.whole = list(whole)
        self.places = {one.untyped_storage().data_ptr(): i for i, one in enumerate(self.whole) if one.numel()}

    def reshard(self):
        """Let the module have the pieces, and go of the whole."""
        self.whole, self.places, self.linked = None, {}, False
        for slot in self.slots:
            slot.show(slot.piece)

    # ---- what autograd saves

    def pack(self, tensor):
        number = self.places.get(tensor.untyped_storage().data_ptr())
        if number is None or not self.reshard_after_forward:
            return tensor
        return Saved(number, tensor.shape, tensor.stride(), tensor.storage_offset(), tensor.dtype)

    def unpack(self, saved):
        if not isinstance(saved, Saved):
            return saved
        if self.whole is None:
            self._keep(self.gather())
            self.begin_next(self.next_backward)
        whole = self.whole[saved.number].detach()
        return torch.as_strided(whole, saved.shape, saved.stride, saved.offset)

    # ---- gradients

    def reduce(self, grads):
        """The pieces' gradients: the sum over all ranks, divided by their number."""
        for i, owed in self.owed.items():
            grads[i] = owed if grads[i] is None else grads[i] + owed
        self.owed = {}
        result = [None] * len(grads)
        needed = [i for i, slot in enumerate(self.slots) if slot.piece.requires_grad]
        for dtype in dict.fromkeys(self._reduce_dtype(self.slots[i]) for i in needed):
            mine = [i for i in needed if self._reduce_dtype(self.slots[i]) == dtype]
            self._reduce_alike(mine, dtype, grads, result)
        return result

    def _reduce_dtype(self, slot):
        return self.policy.reduce_dtype or self._dtype(slot)

    def _reduce_alike(self, mine, dtype, grads, result):
        size = self.shard_group.size()
        lengths = [-(-self.slots[i].length // size) * self.slots[i].line for i in mine]
        table = torch.zeros(size, sum(lengths), dtype=dtype)
        for columns, i, length in zip(table.split(lengths, 1), mine, lengths, strict=True):
            if grads[i] is None or not length:
                continue
            flat = self.slots[i].flat(grads[i]).to(dtype)
            for r in range(size):
                part = flat[r * length : (r + 1) * length]
                columns[r, : part.numel()].copy_(part)
        line = torch.empty(sum(lengths), dtype=dtype)
        collectives.reduce_scatter_tensor(line, table.view(-1), ReduceOp.SUM, group=self.shard_group)
        ranks = size
        if self.replicas is not None and self.all_reduces:
            collectives.all_reduce(line, group=self.replicas)
            ranks *= self.replicas.size()
        line.div_(ranks if self.divide is None else self.divide)
        for part, i in zip(line.split(lengths), mine, strict=True):
            slot = self.slots[i]
            result[i] = slot.of_lines(part[: slot.piece._local_tensor.numel()]).to(slot.dtype).clone()

    def owe(self, grads):
        """Keep the whole gradients for a later pass with sync."""
        for i, grad in enumerate(grads):
            if grad is not None:
                self.owed[i] = self.owed[i] + grad if i in self.owed else grad.clone()


class Saved:
    """A tensor that autograd saved and that lies in a whole parameter."""

    __slots__ = ("dtype", "number", "offset", "shape", "stride")

    def __init__(self, number, shape, stride, offset, dtype):
        self.number, self.shape, self.stride, self.offset, self.dtype = number, shape, stride, offset, dtype


class Unshard(Function):
    """Pieces to whole parameters; backward from their gradients to those of the pieces."""

    @staticmethod
    def forward(ctx, parameters, *pieces):
        ctx.parameters = weakref.proxy(parameters)
        ctx.set_materialize_grads(False)
        whole = parameters.gather()
        frozen = [one for one, slot in zip(whole, parameters.slots, strict=True) if not slot.piece.requires_grad]
        ctx.mark_non_differentiable(*frozen)
        return tuple(whole)

    @staticmethod
    def backward(ctx, *grads):
        parameters = ctx.parameters
        parameters.linked = False
        with torch.no_grad():
            if not parameters.sync:
                parameters.owe(grads)
                pieces = [None] * len(grads)
            else:
                pieces = parameters.reduce(list(grads))
        if parameters.reshard_after_backward:
            parameters.reshard()
        return None, *pieces
