"""In which order a stage computes the parts of a batch, forward and back."""

from .microbatch import merge_chunks, split_args_kwargs_into_chunks

__all__ = ["Schedule1F1B", "ScheduleGPipe"]


class _Schedule:
    __module__ = "torch.distributed.pipelining"

    def __init__(self, stage, n_microbatches, loss_fn=None, args_chunk_spec=None, kwargs_chunk_spec=None,
                 output_merge_spec=None, scale_grads=True):  # fmt: skip
        if n_microbatches < 1:
            raise ValueError(f"{type(self).__name__}: a batch has 1 part at least, got n_microbatches={n_microbatches}")
        self._stage, self._n_microbatches, self._loss_fn, self.scale_grads = stage, n_microbatches, loss_fn, scale_grads
        self._specs, self._merge = (args_chunk_spec, kwargs_chunk_spec), output_merge_spec

    def _order(self, stage, parts):
        """Pairs of "forward" or "backward" and a part."""
        raise NotImplementedError

    def step(self, *args, target=None, losses=None, return_outputs=True, **kwargs):
        """One batch, forward and (with a ``loss_fn``, on all ranks) back; on the last stage its outputs.

        The first stage is given the batch, the last the ``target`` and a list for the ``losses`` of the parts.
        """
        return self._run(args, kwargs, target, losses, self._loss_fn is not None, return_outputs)

    def eval(self, *args, target=None, losses=None, return_outputs=True, **kwargs):
        """One batch forward only."""
        import torch

        with torch.no_grad():
            return self._run(args, kwargs, target, losses, False, return_outputs)

    def _run(self, args, kwargs, target, losses, train, return_outputs):
        stage, n = self._stage, self._n_microbatches
        name = type(self).__name__
        if stage.is_first:
            parts, named = split_args_kwargs_into_chunks(args, kwargs, n, *self._specs)
        else:
            if args:
                raise ValueError(f"{name}: only the first stage is given a batch, this is stage {stage.stage_index}")
            parts, named = split_args_kwargs_into_chunks((), kwargs, n, *self._specs)
        if stage.is_last and train and target is None:
            raise RuntimeError(f"{name}: with a loss_fn, the last stage needs a target")
        targets = None
        if stage.is_last and target is not None and self._loss_fn is not None:
            targets = [one for (one,) in split_args_kwargs_into_chunks((target,), {}, n)[0]]
        stage.begin()
        found = {}
        for what, part in self._order(stage, n) if train else [("forward", part) for part in range(n)]:
            if what == "forward":
                output = stage.forward(part, parts[part], named[part], train)
                if targets is not None:
                    found[part] = self._loss_fn(output, targets[part])
            else:
                stage.backward(part, found.get(part))
        stage.finish()
        if train and self.scale_grads:
            stage.scale_grads(n)
        if losses is not None:
            losses[:] = [found[part].detach() for part in sorted(found)]
        return merge_chunks(stage.outputs, self._merge) if stage.is_last and return_outputs else None


class ScheduleGPipe(_Schedule):
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

    def _order(self, stage, parts):
        return [(what, part) for what in ("forward", "backward") for part in range(parts)]


class Schedule1F1B(_Schedule):
    """One part back as soon as one is forward (Narayanan 2019): a stage holds no more parts than stages follow, and its own."""

    def _order(self, stage, parts):
        ahead = min(parts, stage.num_stages - stage.stage_index)
        order = [("forward", part) for part in range(ahead)]
        for part in range(parts):
            order.append(("backward", part))
            if part + ahead < parts:
                order.append(("forward", part + ahead))
        return order
