"""``DistributedDataParallel``: a module whose gradients are averaged over the ranks of a group."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import enum

import torch
from torch import nn

from .. import _collectives as collectives
from .. import _objects
from .. import _world as world
from ..algorithms.join import Join, Joinable, JoinHook
from . import precision
from .reducer import Reducer
from .sparse import parameters_of_sparse_layers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from torch.futures import Future
    from typing_extensions import Self

__all__ = ["BuiltinCommHookType", "DistributedDataParallel"]


class BuiltinCommHookType(enum.Enum):
    """Communication hooks that :class:`DistributedDataParallel` has by number."""

    ALLREDUCE = 1
    FP16_COMPRESS = 2


BuiltinCommHookType.__module__ = "torch.distributed"


class DistributedDataParallel(nn.Module, Joinable):
    """Trains ``module`` in every process of a group, each with its part of the data, as one module on all of it.

    At the start all ranks take over the parameters and buffers of rank 0.  In backward the gradients are averaged over
    the ranks, in buckets that are sent while backward goes on; all ranks then take the same step.

    Args:
        module: with parameters on the CPU, the same on all ranks
        process_group: the ranks; all of them unless given
        broadcast_buffers: take over rank 0's buffers before each forward
        bucket_cap_mb: size of a bucket, 25 unless given
        find_unused_parameters: parameters may have no part in an output; costs a walk through the graph
        gradient_as_bucket_view: gradients are views of the buckets, which saves a copy
        static_graph: the parameters without part are the same in each iteration
        mixed_precision: a ``_MixedPrecision``, in which dtypes to compute and to send gradients

    Raises RuntimeError when the ranks' parameters differ in number, shape or dtype, and when the reduction of an
    iteration was not finished before the next.

    >>> import torch, torch.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
    >>> model(torch.ones(4, 2)).sum().backward()
    >>> model.module.weight.grad
    tensor([[4., 4.]])
    >>> dist.destroy_process_group()
    """

    __module__ = "torch.nn.parallel.distributed"

    def __init__(
        self,
        module: nn.Module,
        device_ids: Any = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool | None = None,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        delay_all_reduce_named_params: Any = None,
        param_to_hook_all_reduce: Any = None,
        mixed_precision: Any = None,
        device_mesh: Any = None,
        skip_all_reduce_unused_params: bool = False,
        bucket_cap_mb_list: Any = None,
        batched_grad_copy: bool = False,
        forward_sync_buffers: Any = None,
    ) -> None:
        nn.Module.__init__(self)
        Joinable.__init__(self)
        for name, value in {
            "delay_all_reduce_named_params": delay_all_reduce_named_params,
            "param_to_hook_all_reduce": param_to_hook_all_reduce,
            "bucket_cap_mb_list": bucket_cap_mb_list,
        }.items():
            if value is not None:
                raise NotImplementedError(f"DistributedDataParallel: {name} is not there")
        if device_mesh is not None:
            if process_group is not None:
                raise RuntimeError("Cannot specify both process_group and device_mesh arguments.")
            process_group = device_mesh.get_group()
        self.module = module
        self.process_group = world.resolve(process_group)
        ignored = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        self.parameters_to_ignore = ignored
        named = [(n, p) for n, p in module.named_parameters() if n not in ignored]
        self._named = [(n, p) for n, p in named if p.requires_grad]
        if not self._named:
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameters that require a gradient."
            )
        for name, parameter in named:
            if isinstance(parameter, nn.parameter.UninitializedParameter):
                raise RuntimeError(
                    f"DistributedDataParallel: parameter {name!r} has no shape yet. Run a forward pass first, so that the "
                    "lazy modules of the model get theirs"
                )
            if parameter.device.type != "cpu":
                raise ValueError(
                    f"DistributedDataParallel: parameter {name!r} is on {parameter.device}, not on the CPU"
                )
        if device_ids or output_device is not None:
            raise ValueError(
                "DistributedDataParallel device_ids and output_device arguments only work with single-device GPU modules; "
                f"this module is on the CPU, and got device_ids {device_ids}, output_device {output_device}"
            )
        self.device_ids = self.output_device = None
        self.device, self.device_type, self.is_multi_device_module = torch.device("cpu"), "cpu", False
        self.dim = dim
        self.broadcast_buffers = True if broadcast_buffers is None else broadcast_buffers
        if forward_sync_buffers is not None:
            self.broadcast_buffers = forward_sync_buffers
        self.find_unused_parameters, self.gradient_as_bucket_view = find_unused_parameters, gradient_as_bucket_view
        self.static_graph = static_graph
        self.bucket_bytes_cap = int((25 if bucket_cap_mb is None else bucket_cap_mb) * 1024 * 1024)
        if self.bucket_bytes_cap <= 0:
            raise ValueError(f"DistributedDataParallel: bucket_cap_mb must be positive, got {bucket_cap_mb}")
        self.require_backward_grad_sync = self.require_forward_param_sync = True
        self.mixed_precision = mixed_precision
        if mixed_precision is not None:
            precision.check(mixed_precision, self)
        if init_sync:
            _compare(self._named, self.process_group)
            _copy_from(0, [*(p for _, p in named), *self._buffers_to_sync()], self.process_group)
        self.reducer = self._make_reducer()

    def _make_reducer(self):
        reducer = Reducer(
            self._named,
            self.process_group,
            self.bucket_bytes_cap,
            self.find_unused_parameters,
            self.gradient_as_bucket_view,
            self.static_graph,
            parameters_of_sparse_layers(self.module),
        )
        if self.mixed_precision is not None:
            reducer.set_hook(precision.hook(self.mixed_precision, self.process_group))
        return reducer

    def _buffers_to_sync(self):
        return [b for n, b in self.module.named_buffers() if n not in self.parameters_to_ignore]

    # ---- an iteration

    def forward(self, *inputs, **kwargs):
        reducing = torch.is_grad_enabled() and self.require_backward_grad_sync
        self.reducer.divisor = self.process_group.size()
        if self._join_config.enable:
            Join.notify_join_context(self)
            self._anyone_reduces(reducing)
            if not self.reducer.divide_by_all:
                self.reducer.divisor = self._join_config.join.active
        if self.will_sync_module_buffers():
            _copy_from(self._authority(), self._buffers_to_sync(), self.process_group)
        if self.mixed_precision is None:
            outputs = self.module(*inputs, **kwargs)
        else:
            outputs = precision.forward(self, inputs, kwargs)
        self.require_forward_param_sync = self.require_backward_grad_sync or not torch.is_grad_enabled()
        if reducing:
            self.reducer.prepare(list(_tensors(outputs)) if self.find_unused_parameters or self.static_graph else ())
        else:
            self.reducer.armed = False
        return outputs

    def _anyone_reduces(self, mine):
        """Ranks without data cannot know whether the others are in no_sync."""
        count = torch.tensor([int(mine)])
        collectives.all_reduce(count, group=self.process_group)
        return int(count) > 0

    def _authority(self):
        """The rank whose buffers all take over: with uneven inputs, one that still has data."""
        if not self._join_config.enable:
            return 0
        mine = torch.tensor([self.process_group.rank() if self._join_config.has_data else -1])
        collectives.all_reduce(mine, collectives.ReduceOp.MAX, group=self.process_group)
        return int(mine)

    def will_sync_module_buffers(self) -> bool:
        """Whether the next forward takes over buffers."""
        return self.require_forward_param_sync and self.broadcast_buffers and bool(self._buffers_to_sync())

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Within it gradients add up on each rank by itself; the first backward after it averages them."""
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def train(self, mode: bool = True) -> Self:
        super().train(mode)
        return self

    def register_comm_hook(self, state: Any, hook: Callable[[Any, Any], Future]) -> None:
        """Let ``hook(state, bucket)`` send each bucket; it returns a future of the tensor of averages."""
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        if self.reducer.hook is not None:
            raise RuntimeError("register_comm_hook or register_builtin_comm_hook can only be called once.")
        if self.reducer.sparse:
            names = ", ".join(self.reducer.names[n] for n in self.reducer.sparse)
            raise NotImplementedError(
                f"register_comm_hook: hooks send lines of memory, the gradients of {names} are sparse"
            )
        self.reducer.set_hook((state, hook))

    def _register_builtin_comm_hook(self, comm_hook_type) -> None:
        """``register_comm_hook`` with one of the hooks that have a number."""
        from ..algorithms.ddp_comm_hooks import default_hooks

        hooks = {
            BuiltinCommHookType.ALLREDUCE: default_hooks.allreduce_hook,
            BuiltinCommHookType.FP16_COMPRESS: default_hooks.fp16_compress_hook,
        }
        if comm_hook_type not in hooks:
            raise ValueError(f"_register_builtin_comm_hook: expected a BuiltinCommHookType, got {comm_hook_type!r}")
        self.register_comm_hook(self.process_group, hooks[comm_hook_type])

    def _set_static_graph(self):
        self.static_graph = self.reducer.static = True

    def _get_ddp_logging_data(self) -> dict[str, Any]:
        """What is known of the training so far, by the names under which programs look for it.

        ``can_set_static_graph`` says whether all iterations up to now had the same parameters without part; it is not
        there before the first.
        """
        reducer = self.reducer
        known = {
            "module_name": type(self.module).__name__,
            "backend_name": world.get_backend(self.process_group),
            "world_size": self.process_group.size(),
            "rank": self.process_group.rank(),
            "dtypes": ", ".join(sorted({str(p.dtype).removeprefix("torch.") for p in reducer.parameters})),
            "num_parameter_tensors": len(reducer.parameters),
            "total_parameter_size_bytes": sum(p.numel() * p.element_size() for p in reducer.parameters),
            "bucket_sizes": ", ".join(
                str(sum(p.numel() * p.element_size() for p in b.parameters)) for b in reducer.buckets
            ),
            "bucket_cap_bytes": self.bucket_bytes_cap,
            "broadcast_buffers": int(self.broadcast_buffers),
            "find_unused_parameters": int(self.find_unused_parameters),
            "gradient_as_bucket_view": int(self.gradient_as_bucket_view),
            "static_graph": int(self.static_graph),
            "is_multi_device_module": int(self.is_multi_device_module),
            "has_rebuilt_buckets": int(reducer.rebuilt),
            "iteration": reducer.iterations,
        }
        if reducer.iterations:
            known["can_set_static_graph"] = int(reducer.alike)
        return known

    # ---- uneven inputs

    def join(
        self, divide_by_initial_world_size: bool = True, enable: bool = True, throw_on_early_termination: bool = False
    ) -> Any:
        """Within it ranks may have different numbers of batches: those that are done take part with zeros.

        Gradients are divided by the number of all ranks, or (False) of those that still have data.
        """
        return Join(
            [self], enable, throw_on_early_termination, divide_by_initial_world_size=divide_by_initial_world_size
        )

    def join_hook(self, **kwargs):
        return _Hook(self, divide_by_initial_world_size=kwargs.get("divide_by_initial_world_size", True))

    @property
    def join_device(self):
        return self.device

    @property
    def join_process_group(self):
        return self.process_group

    # ---- copies

    def __getstate__(self):
        state = copy.copy(self.__dict__)
        del state["process_group"], state["reducer"]
        return state

    def __setstate__(self, state):
        super().__setstate__(state)
        self.process_group = world.default_group()
        self.reducer = self._make_reducer()

    def scatter(self, inputs, kwargs, device_ids):
        """Inputs for several devices of this process, of which there is one.

        >>> dist = torch.distributed
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
        >>> net.scatter((torch.ones(1),), {}, ["cpu"])
        (((tensor([1.]),),), ({},))
        >>> dist.destroy_process_group()
        """
        return (inputs,), (kwargs,)

    def parallel_apply(self, replicas, inputs, kwargs):
        """The outputs of replicas on several devices of this process, of which there is one.

        >>> dist = torch.distributed
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
        >>> net.parallel_apply([torch.nn.ReLU()], [(torch.tensor([-1.0, 2.0]),)], [{}])
        [tensor([0., 2.])]
        >>> dist.destroy_process_group()
        """
        return [replica(*args, **named) for replica, args, named in zip(replicas, inputs, kwargs)]

    def gather(self, outputs, output_device):
        """Outputs of several devices of this process, of which there is one.

        >>> dist = torch.distributed
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
        >>> net.gather([torch.ones(1)], "cpu")
        [tensor([1.])]
        >>> dist.destroy_process_group()
        """
        return outputs

    def to_kwargs(self, inputs, kwargs, device_id):
        """Inputs where the module is."""
        return (inputs,), (kwargs,)

    @staticmethod
    def _set_params_and_buffers_to_ignore_for_model(module, params_and_buffers_to_ignore):
        module._ddp_params_and_buffers_to_ignore = params_and_buffers_to_ignore


class _Hook(JoinHook):
    """What a rank that has no more data does while others go on."""

    def __init__(self, ddp, divide_by_initial_world_size):
        self.ddp, self.by_all = ddp, divide_by_initial_world_size
        ddp.reducer.divide_by_all = self.by_all

    def main_hook(self):
        ddp = self.ddp
        reducing = ddp._anyone_reduces(False)
        if ddp.will_sync_module_buffers():
            _copy_from(ddp._authority(), ddp._buffers_to_sync(), ddp.process_group)
        if reducing:
            ddp.reducer.shadow()

    def post_hook(self, is_last_joiner):
        mine = torch.tensor([self.ddp.process_group.rank() if is_last_joiner else -1])
        collectives.all_reduce(mine, collectives.ReduceOp.MAX, group=self.ddp.process_group)
        named = [*self.ddp.module.parameters(), *self.ddp._buffers_to_sync()]
        _copy_from(int(mine), named, self.ddp.process_group)


def _compare(named, group):
    """All ranks must have parameters of the same names, shapes and dtypes."""
    mine = [(name, tuple(p.shape), str(p.dtype)) for name, p in named]
    everyone = [None] * group.size()
    _objects.all_gather_object(everyone, mine, group)
    for rank, theirs in enumerate(everyone):
        if theirs == everyone[0]:
            continue
        for first, other in zip(everyone[0], theirs, strict=False):
            if first != other:
                raise RuntimeError(
                    f"DistributedDataParallel: rank 0 has parameter {first[0]!r} of shape {first[1]} ({first[2]}) where rank "
                    f"{rank} has {other[0]!r} of shape {other[1]} ({other[2]})"
                )
        raise RuntimeError(
            f"DistributedDataParallel: rank 0 has {len(everyone[0])} parameters that require gradients, rank {rank} has "
            f"{len(theirs)}"
        )


def _copy_from(root, tensors, group):
    """All take over the tensors of one rank, which travel as one line for each dtype."""
    by_dtype: dict = {}
    for tensor in tensors:
        by_dtype.setdefault(tensor.dtype, []).append(tensor.detach())
    for alike in by_dtype.values():
        line = torch.cat([tensor.reshape(-1) for tensor in alike])
        collectives.broadcast(line, group=group, group_src=root)
        if group.rank() != root:
            with torch.no_grad():
                for tensor, piece in zip(alike, line.split([t.numel() for t in alike]), strict=True):
                    tensor.copy_(piece.view(tensor.shape))


def _tensors(value):
    """All tensors in nested lists, dictionaries, tuples and data classes."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _tensors(one)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _tensors(one)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from _tensors(getattr(value, field.name))
