"""Running several modules at once, each on its inputs, in threads."""

from __future__ import annotations

import torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from torch.nn import Module


__all__ = ["parallel_apply"]


def parallel_apply(
    modules: Sequence[Module],
    inputs: Sequence[Any],
    kwargs_tup: Sequence[dict[str, Any]] | None = None,
    devices: Sequence[torch.device | str | int | None] | None = None,
) -> list[Any]:
    """``[module(*input, **kwargs) ...]``, in one thread each; the first error is raised here.

    >>> torch.nn.parallel.parallel_apply([torch.nn.ReLU()], [(torch.tensor([-1.0, 2.0]),)])
    [tensor([0., 2.])]
    """
    import threading

    if len(modules) != len(inputs):
        raise AssertionError(f"The number of modules {len(modules)} is not equal to the number of inputs {len(inputs)}")
    kwargs_tup = kwargs_tup or [{}] * len(modules)
    results = [None] * len(modules)
    grad = torch.is_grad_enabled()

    def work(i):
        try:
            with torch.set_grad_enabled(grad):
                args = inputs[i] if isinstance(inputs[i], (tuple, list)) else (inputs[i],)
                results[i] = (modules[i](*args, **kwargs_tup[i]), None)
        except Exception as error:
            results[i] = (None, error)

    if len(modules) == 1:
        work(0)
    else:
        threads = [threading.Thread(target=work, args=(i,)) for i in range(len(modules))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for _, error in results:
        if error is not None:
            raise error
    return [output for output, _ in results]
