"""Selective checkpoints: some results are kept instead of being computed again."""

from __future__ import annotations

import enum
from typing import Any

import torch

from .part import CheckpointError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing_extensions import Self


class CheckpointPolicy(enum.Enum):
    """What a policy says of an operator: keep its result, or compute it again. MUST and PREFER mean the same here."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4


SAC_IGNORED_OPS: set = set()


class SelectiveCheckpointContext:
    """What a policy is told beside the operator: whether this is the second run, and the operator's result if it is known."""

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute = is_recompute
        self.op_output = op_output


def create_selective_checkpoint_contexts(policy_fn_or_list: Any, allow_cache_entry_mutation: bool = False) -> Any:
    """The two contexts that ``checkpoint(..., context_fn=...)`` takes, of which the first keeps results for the second.

    Products and convolutions are asked about (``mm``, ``bmm``, ``addmm``, ``matmul``, ``linear``, ``convolution`` and the like); the
    rest is always computed again.

    Args:
        policy_fn_or_list: ``policy(ctx, op, *args)``, which gives a `CheckpointPolicy` or a bool (True: keep), where op
            is the function of torch; or a list of functions, or their names, whose results are kept
        allow_cache_entry_mutation: results that were changed in place meanwhile are used all the same

    Example:
        >>> import functools
        >>> from torch.utils.checkpoint import checkpoint
        >>> x = torch.ones(2, 2, requires_grad=True)
        >>> contexts = functools.partial(create_selective_checkpoint_contexts, [torch.mm])
        >>> checkpoint(lambda x: x.mm(x).sin(), x, use_reentrant=False, context_fn=contexts).sum().backward()
    """
    if callable(policy_fn_or_list):
        policy = policy_fn_or_list
    elif isinstance(policy_fn_or_list, (list, tuple, set)):
        kept = {op if isinstance(op, str) else getattr(op, "__name__", None) for op in policy_fn_or_list}
        if None in kept:
            raise TypeError(
                f"create_selective_checkpoint_contexts: a list holds functions of torch or their names, got {policy_fn_or_list}"
            )

        def policy(ctx, op, *args):
            return op.__name__ in kept

    else:
        raise TypeError(
            f"create_selective_checkpoint_contexts: expected a function or a list, got {type(policy_fn_or_list).__name__}"
        )
    results: list[tuple[str, Any, int]] = []
    return _Keeping(policy, results), _Using(policy, results, allow_cache_entry_mutation)


class _Hook:
    """A context in which this thread's products and convolutions ask `_asked`."""

    def __init__(self, policy: Any, results: Any) -> None:
        self._policy, self._results = policy, results

    def __enter__(self) -> Self:
        from torch import _seams

        self._before = _seams.set_hook(self._asked)
        return self

    def __exit__(self, *error: Any) -> None:
        from torch import _seams

        _seams.set_hook(self._before)

    def _keeps(self, op: str, args, again: bool) -> bool:
        function = getattr(torch, op, None) or getattr(torch.nn.functional, op)
        said = self._policy(SelectiveCheckpointContext(is_recompute=again), function, *args)
        if isinstance(said, bool):
            return said
        if said is CheckpointPolicy.MUST_CPU_OFFLOAD:
            raise NotImplementedError("checkpoint: results are kept where they are; MUST_CPU_OFFLOAD waits for CUDA")
        if not isinstance(said, CheckpointPolicy):
            raise TypeError(
                f"checkpoint: a policy gives a CheckpointPolicy or a bool, got {type(said).__name__} for {op}"
            )
        return said in (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)


class _Keeping(_Hook):
    """Of the first run."""

    def _asked(self, op, args):
        if not self._keeps(op, args, False):
            return None
        return lambda result: self._results.append((op, result, result._version))


class _Using(_Hook):
    """Of the second run."""

    def __init__(self, policy: Any, results: Any, mutable: Any) -> None:
        super().__init__(policy, results)
        self._mutable = mutable

    def __enter__(self) -> Self:
        self._next = 0
        return super().__enter__()

    def _asked(self, op, args):
        if not self._keeps(op, args, True):
            return None
        if self._next >= len(self._results) or self._results[self._next][0] != op:
            there = self._results[self._next][0] if self._next < len(self._results) else "none"
            raise CheckpointError(
                f"checkpoint: the policy keeps {op} when the part runs again, where at first it kept {there}: it does not do the "
                "same each time"
            )
        _, result, version = self._results[self._next]
        self._next += 1
        if result._version != version and not self._mutable:
            raise CheckpointError(
                f"checkpoint: the kept result of {op} was changed in place after it was kept; "
                "allow_cache_entry_mutation=True uses it all the same"
            )
        return result
