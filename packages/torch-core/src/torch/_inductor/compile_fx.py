"""The name under which backends of one's own call the compiler."""

from . import compile


def compile_fx(model_, example_inputs_, inner_compile=None, config_patches=None, decompositions=None, **more):
    """What ``torch.compile`` makes of a graph; the settings of PyTorch's compiler change nothing."""
    return compile(model_, example_inputs_)


def compile_fx_inner(gm, example_inputs, **kwargs):
    """What ``torch.compile`` makes of a graph of operators."""
    return compile(gm, example_inputs)
