"""Methods whose code is imported when they are first called."""

from .._C import Tensor

# What torch.autograd puts onto the type when it is imported; before that, touching one imports it.
GRADIENT_NAMES = (
    "grad", "grad_fn", "is_leaf", "backward", "register_hook", "retain_grad", "retains_grad", "requires_grad_", "output_nr",
    "_grad", "_backward_hooks", "detach_", "register_post_accumulate_grad_hook",
)  # fmt: skip

#: Of the methods below that PyTorch had in 2018.
EXAMPLES = {
    name: f"\n\n>>> {code}\n{shown}\n"
    for name, code, shown in (
        ("renorm", "torch.tensor([[3.0, 4.0], [0.3, 0.4]]).renorm(2, 0, 1.0)", "tensor([[0.6000, 0.8000],\n        [0.3000, 0.4000]])"),
        ("renorm_", "torch.tensor([[3.0, 4.0]]).renorm_(2, 0, 1.0)", "tensor([[0.6000, 0.8000]])"),
        ("btrifact", "torch.tensor([[[4.0, 1.0], [1.0, 3.0]]]).btrifact()[1]", "tensor([[1, 2]], dtype=torch.int32)"),
        ("apply_", "torch.tensor([1.0, 2.0]).apply_(lambda x: x + 1)", "tensor([2., 3.])"),
        ("map_", "torch.tensor([1.0, 2.0]).map_(torch.tensor([3.0, 4.0]), lambda x, y: x * y)", "tensor([3., 8.])"),
        ("map2_", "torch.ones(1).map2_(torch.ones(1), torch.ones(1), lambda x, y, z: x + y + z)", "tensor([3.])"),
        ("resize", "torch.arange(4).resize(2, 2)", "tensor([[0, 1],\n        [2, 3]])"),
        ("resize_as", "torch.arange(4).resize_as(torch.zeros(2, 2))", "tensor([[0, 1],\n        [2, 3]])"),
        ("masked_copy", "torch.zeros(2).masked_copy(torch.tensor([True, False]), torch.ones(1))", "tensor([1., 0.])"),
        ("masked_copy_", "torch.zeros(2).masked_copy_(torch.tensor([True, False]), torch.ones(1))", "tensor([1., 0.])"),
        ("is_nonzero", "torch.tensor([3.0]).is_nonzero()", "True"),
    )
}  # fmt: skip

METHODS_OF = {
    "_operators.composed": (
        "adjoint", "cov", "corrcoef", "renorm", "renorm_", "fill_diagonal_", "float_power_", "hash_tensor",
    ),
    "_copying": ("module_load",),
    "_operators.lu": ("lu", "btrifact"),
    "_operators.counting": ("histogram", "nonzero_static"),
    "_operators.copies": ("narrow_copy", "unsafe_chunk", "unsafe_split", "unsafe_split_with_sizes"),
    "_operators.callbacks": ("apply_", "map_", "map2_"),
    "_compat.methods": ("resize", "resize_as", "masked_copy", "masked_copy_"),
    "_operators.predicates": ("is_nonzero",),
    "_quantized.tensor": (
        "dequantize", "int_repr", "q_scale", "q_zero_point", "qscheme", "q_per_channel_axis", "q_per_channel_scales",
        "q_per_channel_zero_points",
    ),
}  # fmt: skip

#: Of UntypedStorage.
STORAGE_METHODS = (
    "__getitem__", "__setitem__", "__iter__", "__repr__", "__copy__", "__deepcopy__", "__reduce_ex__", "__getattr__",
)  # fmt: skip


class LoadsAutograd:
    """Stands for an attribute that torch-autograd provides, until that part is there."""

    def __init__(self, name):
        self.name = name

    def __get__(self, tensor, kind=None):
        self._load()
        return getattr(kind if tensor is None else tensor, self.name)

    def __set__(self, tensor, value):
        self._load()
        setattr(tensor, self.name, value)

    def _load(self):
        import torch.autograd  # noqa: F401  (replaces this object on the type)

        if Tensor.__dict__.get(self.name) is self:
            from torch import _install

            upgrade = _install.command("torch-autograd", upgrade=True)
            raise AttributeError(f"the installed torch-autograd has no Tensor.{self.name}: {upgrade}")


def of_storage(name):
    """A method of UntypedStorage that torch.storage replaces with the real one."""

    def method(self, *args):
        from .. import storage  # noqa: F401

        return getattr(self, *args) if name == "__getattr__" else getattr(self, name)(*args)

    return method


def of_module(module, name):
    """A method that a module of torch-core holds as a function, imported when first called."""

    def method(self, *args, **kwargs):
        return getattr(__import__(f"torch.{module}", fromlist=[name]), name)(self, *args, **kwargs)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"``torch.{module}.{name}(self, ...)``." + EXAMPLES.get(name, "")
    return method
