"""``torch.func`` under the name that it had as a distribution of its own, with the functions of modules of that time."""

from torch import _seams
from torch._seams import need as _need
from torch.func import functionalize, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp, vmap

__all__ = [
    "FunctionalModule", "FunctionalModuleWithBuffers", "combine_state_for_ensemble", "functionalize", "grad", "grad_and_value", "hessian",
    "jacfwd", "jacrev", "jvp", "make_functional", "make_functional_with_buffers", "vjp", "vmap",
]  # fmt: skip


class FunctionalModuleWithBuffers:
    """A module as a function of its parameters and buffers: ``f(parameters, buffers, *args)``."""

    def __init__(self, stateless_model, param_names, buffer_names):
        self.stateless_model, self.param_names, self.buffer_names = stateless_model, param_names, buffer_names

    @classmethod
    def _create_from(cls, model, disable_autograd_tracking=False):
        """The function, the parameters and the buffers; the module itself is left as it is."""
        import copy

        model = copy.deepcopy(model)
        parameters, buffers = dict(model.named_parameters()), dict(model.named_buffers())
        if disable_autograd_tracking:
            for parameter in parameters.values():
                parameter.requires_grad_(False)
        return cls(model, tuple(parameters), tuple(buffers)), tuple(parameters.values()), tuple(buffers.values())

    def __call__(self, parameters, buffers, *args, **kwargs):
        given = dict(zip(self.param_names, parameters, strict=True)) | dict(
            zip(self.buffer_names, buffers, strict=True)
        )
        return _need("func").functional_call(self.stateless_model, given, args, kwargs)

    forward = __call__


class FunctionalModule(FunctionalModuleWithBuffers):
    """A module without buffers as a function of its parameters: ``f(parameters, *args)``."""

    def __call__(self, parameters, *args, **kwargs):
        return super().__call__(parameters, (), *args, **kwargs)

    forward = __call__


def make_functional(model, disable_autograd_tracking=False):
    """A module as a function of its parameters, and these as a tuple. ValueError when it has buffers.

    >>> function, parameters = make_functional(torch.nn.Linear(1, 1))
    >>> function((torch.ones(1, 1), torch.ones(1)), torch.tensor([[2.0]]))
    tensor([[3.]])
    """
    if next(model.buffers(), None) is not None:
        raise ValueError(f"make_functional({type(model).__name__}): it has buffers; use make_functional_with_buffers")
    return FunctionalModule._create_from(model, disable_autograd_tracking)[:2]


def make_functional_with_buffers(model, disable_autograd_tracking=False):
    """A module as a function of its parameters and buffers, and both as tuples."""
    return FunctionalModuleWithBuffers._create_from(model, disable_autograd_tracking)


def combine_state_for_ensemble(models):
    """Modules of one class as one function for :func:`vmap`, with their parameters and buffers stacked along a new first dim."""
    models = list(models)
    parameters, buffers = _need("func").stack_module_state(models)
    function, _, _ = make_functional_with_buffers(models[0])
    return function, tuple(parameters.values()), tuple(buffers.values())


__getattr__, __dir__ = _seams.later(globals(), names={"make_fx": "fx.experimental.proxy_tensor"}, base="torch")
