"""The legacy classes of sparse CUDA tensors: names for ``isinstance``, of which nothing is made without a device."""


def __getattr__(name):
    from .._compat import classes

    if name.endswith("Tensor") and name.removesuffix("Tensor") in classes.PREFIXES:
        globals()[name] = made = classes.make(name, cuda=True, sparse=True)
        return made
    raise AttributeError(f"module 'torch.cuda.sparse' has no attribute {name!r}")
