"""Schedules: a batch in parts, on its way through the stages of all ranks, forward and back."""

from . import orders
from .microbatch import merge_chunks, split_args_kwargs_into_chunks
from .orders import BACKWARD, FORWARD, INPUTS, WEIGHTS

__all__ = [
    "PipelineScheduleMulti", "PipelineScheduleSingle", "Schedule1F1B", "ScheduleDualPipeV", "ScheduleGPipe",
    "ScheduleInterleaved1F1B", "ScheduleInterleavedZeroBubble", "ScheduleLoopedBFS", "ScheduleZBVZeroBubble",
    "get_schedule_class",
]  # fmt: skip


class _Schedule:
    __module__ = "torch.distributed.pipelining"

    def __init__(self, stages, n_microbatches, loss_fn, specs, merge, scale_grads):
        name = type(self).__name__
        if n_microbatches < 1:
            raise ValueError(f"{name}: a batch has 1 part at least, got n_microbatches={n_microbatches}")
        self._stages = {stage.stage_index: stage for stage in stages}
        self._n_microbatches, self._loss_fn, self.scale_grads = n_microbatches, loss_fn, scale_grads
        self._specs, self._merge = specs, merge
        one = next(iter(stages))
        self._rank, self._ranks, self._count = one.group.rank(), one.group.size(), one.num_stages
        try:
            place = self._places(self._count, self._ranks)
            self._order_of_training = self._order(self._rank, self._ranks, self._count, n_microbatches)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
        mine = [stage for stage, rank in enumerate(place) if rank == self._rank]
        if sorted(self._stages) != mine or len(stages) != len(mine):
            raise ValueError(
                f"{name}: rank {self._rank} of {self._ranks} has stage {', '.join(map(str, mine))} of {self._count}, got "
                f"{', '.join(str(stage.stage_index) for stage in stages)}"
            )
        for stage in stages:
            stage.lie(place, self._stages)

    @staticmethod
    def _places(stages, ranks):
        """The rank of each stage."""
        return orders.looped(stages, ranks)

    @staticmethod
    def _order(rank, ranks, stages, parts):
        """What a rank does: see ``orders``."""
        raise NotImplementedError

    def step(self, *args, target=None, losses=None, return_outputs=True, **kwargs):
        """One batch, forward and (with a ``loss_fn``, on all ranks) back; on the last stage's rank its outputs.

        The rank of the first stage is given the batch, that of the last the ``target`` and a list for the ``losses`` of the
        parts.
        """
        return self._run(args, kwargs, target, losses, self._loss_fn is not None, return_outputs)

    def eval(self, *args, target=None, losses=None, return_outputs=True, **kwargs):
        """One batch forward only."""
        import torch

        with torch.no_grad():
            return self._run(args, kwargs, target, losses, False, return_outputs)

    def _run(self, args, kwargs, target, losses, train, return_outputs):
        stages, n = self._stages, self._n_microbatches
        name, last = type(self).__name__, stages.get(self._count - 1)
        batch = args if 0 in stages else ()  # the others are sent theirs, and may be called with the same line
        parts, named = split_args_kwargs_into_chunks(batch, kwargs, n, *self._specs)
        if last and train and target is None:
            raise RuntimeError(f"{name}: with a loss_fn, the last stage needs a target")
        targets = None
        if last and target is not None and self._loss_fn is not None:
            targets = [one for (one,) in split_args_kwargs_into_chunks((target,), {}, n)[0]]
        for stage in stages.values():
            stage.begin()
        found = {}
        forward = [(FORWARD, stage, part) for stage in sorted(stages) for part in range(n)]
        for what, index, part in self._order_of_training if train else forward:
            stage = stages[index]
            if what == FORWARD:
                output = stage.forward(part, parts[part], named[part], train)
                if targets is not None and stage is last:
                    found[part] = self._loss_fn(output, targets[part])
            elif what == BACKWARD:
                stage.backward(part, found.get(part))
            elif what == INPUTS:
                stage.backward_to_inputs(part, found.get(part))
            elif what == WEIGHTS:
                stage.backward_to_weights(part)
        for stage in stages.values():
            stage.finish()
            if train and self.scale_grads:
                stage.scale_grads(n)
        if losses is not None:
            losses[:] = [found[part].detach() for part in sorted(found)]
        return merge_chunks(last.outputs, self._merge) if last and return_outputs else None


class PipelineScheduleSingle(_Schedule):
    """One stage a rank."""

    def __init__(self, stage, n_microbatches, loss_fn=None, args_chunk_spec=None, kwargs_chunk_spec=None,
                 output_merge_spec=None, scale_grads=True):  # fmt: skip
        super().__init__(
            [stage], n_microbatches, loss_fn, (args_chunk_spec, kwargs_chunk_spec), output_merge_spec, scale_grads
        )


class PipelineScheduleMulti(_Schedule):
    """Several stages a rank."""

    def __init__(self, stages, n_microbatches, loss_fn=None, args_chunk_spec=None, kwargs_chunk_spec=None,
                 output_merge_spec=None, use_full_backward=None, scale_grads=True,
                 backward_requires_autograd=True):  # fmt: skip
        name = type(self).__name__
        if not isinstance(stages, (list, tuple)) or not stages:
            raise TypeError(f"{name}: expected a list of this rank's stages, got {stages!r}")
        if use_full_backward is not None or not backward_requires_autograd:
            raise NotImplementedError(f"{name}: which backward passes there are is the schedule's own")
        super().__init__(
            stages, n_microbatches, loss_fn, (args_chunk_spec, kwargs_chunk_spec), output_merge_spec, scale_grads
        )


class ScheduleGPipe(PipelineScheduleSingle):
    """All parts forward, then all back (Huang 2019): the results of all parts are held at once.

    >>> import torch, torch.distributed as dist
    >>> from torch.distributed.pipelining import PipelineStage, ScheduleGPipe
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> stage = PipelineStage(torch.nn.Linear(2, 1), 0, 1)
    >>> schedule = ScheduleGPipe(stage, 2, loss_fn=torch.nn.functional.mse_loss)
    >>> schedule.step(torch.ones(4, 2), target=torch.zeros(4, 1)).shape
    torch.Size([4, 1])
    >>> dist.destroy_process_group()
    """

    @staticmethod
    def _order(rank, ranks, stages, parts):
        return orders.breadth_first(rank, ranks, stages, parts)


class Schedule1F1B(PipelineScheduleSingle):
    """One part back as soon as one is forward (Narayanan 2019): a stage holds no more parts than stages follow, and its own."""

    @staticmethod
    def _order(rank, ranks, stages, parts):
        ahead = min(parts, stages - rank)
        order = [(FORWARD, rank, part) for part in range(ahead)]
        for part in range(parts):
            order.append((BACKWARD, rank, part))
            if part + ahead < parts:
                order.append((FORWARD, rank, part + ahead))
        return order


class ScheduleLoopedBFS(PipelineScheduleMulti):
    """All parts through one stage before the next (Lamy-Poirier 2022); rank r of n has stages r, r + n, r + 2n...

    >>> import torch, torch.distributed as dist
    >>> from torch.distributed.pipelining import PipelineStage, ScheduleLoopedBFS
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> stages = [PipelineStage(torch.nn.Linear(2, 2), 0, 2), PipelineStage(torch.nn.Linear(2, 1), 1, 2)]
    >>> schedule = ScheduleLoopedBFS(stages, 2, loss_fn=torch.nn.functional.mse_loss)
    >>> schedule.step(torch.ones(4, 2), target=torch.zeros(4, 1)).shape
    torch.Size([4, 1])
    >>> dist.destroy_process_group()
    """

    def __init__(self, stages, n_microbatches, loss_fn=None, output_merge_spec=None, scale_grads=True,
                 backward_requires_autograd=True):  # fmt: skip
        super().__init__(
            stages, n_microbatches, loss_fn, output_merge_spec=output_merge_spec, scale_grads=scale_grads,
            backward_requires_autograd=backward_requires_autograd,
        )  # fmt: skip

    @staticmethod
    def _order(rank, ranks, stages, parts):
        return orders.breadth_first(rank, ranks, stages, parts)


class ScheduleInterleaved1F1B(PipelineScheduleMulti):
    """One part back as soon as one is forward, with stages r, r + n, r + 2n... on rank r of n in turn (Narayanan 2021)."""

    @staticmethod
    def _order(rank, ranks, stages, parts):
        return orders.interleaved(rank, ranks, stages, parts)


class ScheduleInterleavedZeroBubble(PipelineScheduleMulti):
    """As :class:`ScheduleInterleaved1F1B`, with the gradients of weights where a rank would wait (Qi 2023)."""

    @staticmethod
    def _order(rank, ranks, stages, parts):
        return orders.interleaved(rank, ranks, stages, parts, two=True)


class _Folded(PipelineScheduleMulti):
    """Rank r of n has stages r and 2n - 1 - r: the form of a V."""

    @staticmethod
    def _places(stages, ranks):
        return orders.folded(stages, ranks)


class ScheduleZBVZeroBubble(_Folded):
    """Rank r of n has stages r and 2n - 1 - r, and gradients of weights where it would wait (Qi 2024)."""

    @staticmethod
    def _order(rank, ranks, stages, parts):
        return orders.zero_bubble_v(rank, ranks, stages, parts)


class ScheduleDualPipeV(_Folded):
    """Rank r of n has stages r and 2n - 1 - r; behind each part that goes forward another goes back (DeepSeek 2024).

    The two are computed one after the other, as they are in PyTorch unless a program computes both at once itself.
    """

    @staticmethod
    def _order(rank, ranks, stages, parts):
        return orders.dual_pipe_v(rank, ranks, stages, parts)


def get_schedule_class(schedule_name: str) -> type:
    """The schedule of a name, as options of programs give it.

    >>> get_schedule_class("interleaved1f1b").__name__
    'ScheduleInterleaved1F1B'
    """
    known = {name.removeprefix("Schedule").lower(): globals()[name] for name in __all__ if name.startswith("Schedule")}
    if schedule_name.lower() not in known:
        raise ValueError(f"Unknown schedule name: {schedule_name}. Valid options are {sorted(known)}")
    return known[schedule_name.lower()]
