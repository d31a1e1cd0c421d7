"""Methods of 2016 and 2017 that have other names today."""

import warnings


def resize(self, *sizes):
    """The elements in another shape; reshape() is its name today."""
    warnings.warn("non-inplace resize is deprecated: use reshape", FutureWarning, stacklevel=3)
    sizes = sizes[0] if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes
    count = 1
    for n in sizes:
        count *= n
    if count != self.numel():
        raise RuntimeError(
            f"resize: requested resize to {tuple(sizes)} ({count} elements in total), but the given tensor has a size of "
            f"{tuple(self.shape)} ({self.numel()} elements); resize_ changes the number of elements"
        )
    return self.reshape(tuple(sizes))


def resize_as(self, tensor):
    """The elements in the shape of another tensor; reshape() is its name today."""
    return resize(self, tensor.shape)


def masked_copy(self, mask, source):
    """masked_scatter, by its name of 2016."""
    return self.masked_scatter(mask, source)


def masked_copy_(self, mask, source):
    """masked_scatter_, by its name of 2016."""
    return self.masked_scatter_(mask, source)
