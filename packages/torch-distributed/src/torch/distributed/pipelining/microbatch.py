"""A batch in parts along its first dim."""

import torch

__all__ = ["merge_chunks", "split_args_kwargs_into_chunks"]


def split_args_kwargs_into_chunks(args, kwargs, chunks, args_chunk_spec=None, kwargs_chunk_spec=None):
    """Positional and named arguments of each part; what is no tensor goes to all of them.

    >>> import torch
    >>> split_args_kwargs_into_chunks((torch.arange(4), 2), {}, 2)
    ([(tensor([0, 1]), 2), (tensor([2, 3]), 2)], [{}, {}])
    """
    if args_chunk_spec is not None or kwargs_chunk_spec is not None:
        raise NotImplementedError("pipelining: tensors are cut along their first dim; there are no specs for another")
    kwargs = kwargs or {}

    def parts(value):
        if not isinstance(value, torch.Tensor):
            return [value] * chunks
        if not value.dim() or value.shape[0] % chunks:
            raise ValueError(
                f"pipelining: a batch of shape {tuple(value.shape)} does not fall into {chunks} equal parts"
            )
        return list(value.chunk(chunks))

    by_position = [parts(value) for value in args]
    by_name = {name: parts(value) for name, value in kwargs.items()}
    return (
        [tuple(one[i] for one in by_position) for i in range(chunks)],
        [{name: one[i] for name, one in by_name.items()} for i in range(chunks)],
    )


def merge_chunks(chunks, chunk_spec=None):
    """The whole of parts: tensors, or tuples of them, one behind the other."""
    if chunk_spec is not None:
        raise NotImplementedError(
            "pipelining: outputs are put together along their first dim; there is no spec for another"
        )
    if isinstance(chunks[0], torch.Tensor):
        return torch.cat(chunks)
    return type(chunks[0])(merge_chunks(list(one)) for one in zip(*chunks, strict=True))
