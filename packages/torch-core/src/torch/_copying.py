"""Deep copies and pickles of tensors. Tensors over one storage still share it afterwards."""

import sys
import warnings
from copy import deepcopy as copy_any
from weakref import WeakValueDictionary

from . import _C


def deepcopy(tensor, memo):
    """A copy over a copied storage; views copied in one ``copy.deepcopy`` share the copied storage."""
    if id(tensor) in memo:
        return memo[id(tensor)]
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "deepcopy: only tensors created explicitly by the user (graph leaves) support the deepcopy protocol; "
            "detach() this one first, or copy the whole graph's inputs"
        )
    if tensor.layout != _C.strided:
        from .sparse import parts, rebuilt

        members = parts(tensor.detach()).values()
        memo.setdefault(id(memo), []).extend(members)  # keeps their ids taken while the copy runs
        result = rebuilt(tensor, [deepcopy(member, memo) for member in members])
    elif is_hollow(tensor):
        result = _C._hollow(*_hollow_members(tensor)[:-1], False)
    else:
        copied = deepcopy_storage(tensor.untyped_storage(), memo)
        result = _C._tensor_over(copied, tensor.dtype, tensor.storage_offset(), tuple(tensor.shape), tensor.stride())
    if type(tensor) is not type(result):
        result = _C.Tensor._make_subclass(type(tensor), result)
    memo[id(tensor)] = result
    if tensor.requires_grad:
        result.requires_grad_()
    # Without torch-autograd no tensor has a gradient, and looking for one would load it.
    if "torch.autograd" in sys.modules and tensor.grad is not None:
        result.grad = copy_any(tensor.grad, memo)
    for name, value in (tensor._attributes or {}).items():
        setattr(result, name, copy_any(value, memo))
    return result


def is_hollow(tensor):
    """Whether a tensor is of a class that answers operators and has no memory: what it consists of are its attributes."""
    return type(tensor) is not _C.Tensor and _C._is_hollow(tensor)


def _hollow_members(tensor):
    shape, stride = tuple(tensor.shape), tensor.stride()
    return type(tensor), shape, stride, tensor.storage_offset(), tensor.dtype, tensor.device, tensor.requires_grad


def deepcopy_storage(storage, memo):
    """A copy, one for each storage of one ``copy.deepcopy``."""
    copied = memo.get(id(storage))
    if copied is None:
        copied = memo[id(storage)] = _C.UntypedStorage(storage.nbytes(), device=storage.device)
        if storage.device.type == "cpu":
            memoryview(copied)[:] = memoryview(storage)
        elif storage.device.type != "meta":
            bytes_of(copied).copy_(bytes_of(storage))
        memo.setdefault(id(memo), []).append(storage)  # keeps the id taken while the copy runs
    return copied


def bytes_of(storage):
    """The tensor of a storage's bytes, on whatever device."""
    return _C._tensor_over(storage, _C.uint8, 0, (storage.nbytes(),), (1,))


def restore_on(device, storage):
    """The storage of a device that a pickle holds as one of the CPU."""
    return bytes_of(storage).to(device).untyped_storage()


def copy(tensor):
    """Another tensor over the same storage, with the attributes of this one."""
    if tensor.layout != _C.strided:
        made = tensor.detach()
        if type(tensor) is not _C.Tensor:
            made = _C.Tensor._make_subclass(type(tensor), made)
    elif is_hollow(tensor):
        made = _C._hollow(*_hollow_members(tensor))
    else:
        made = rebuild(
            type(tensor),
            tensor.untyped_storage(),
            tensor.dtype,
            tensor.storage_offset(),
            tensor.shape,
            tensor.stride(),
            False,
        )
    if tensor.requires_grad:
        made.requires_grad_()
    set_state(made, tensor._attributes)
    return made


def reduce(tensor, protocol):
    """How ``pickle`` takes a tensor apart: its storage once, and what this tensor makes of it.

    Of a history nothing is kept but that there was one: what an operation made comes back as a leaf that requires a gradient.
    """
    warn_of_hooks(tensor, 4)
    if tensor.layout not in (_C.strided, _C.sparse_coo):
        from .sparse import parts

        members = (type(tensor), tensor.layout, *parts(tensor.detach()).values(), tuple(tensor.shape))
        return rebuild_compressed, (*members, tensor.requires_grad), dict(tensor._attributes or {}) or None
    if tensor.is_sparse:
        members = (type(tensor), tensor._indices(), tensor._values(), tuple(tensor.shape), tensor.is_coalesced())
        return rebuild_sparse, (*members, tensor.requires_grad), dict(tensor._attributes or {}) or None
    attributes = dict(tensor._attributes or {}) or None
    if is_hollow(tensor):
        return _C._hollow, _hollow_members(tensor), attributes
    state = (tensor.storage_offset(), tuple(tensor.shape), tensor.stride(), tensor.requires_grad)
    return rebuild, (type(tensor), PickledStorage(tensor.untyped_storage()), tensor.dtype, *state), attributes


def warn_of_hooks(tensor, stacklevel):
    """A warning when a pickle leaves out the hooks of a tensor."""
    if tensor.requires_grad and tensor._backward_hooks:  # without gradients, looking would load torch.autograd
        text = "pickle: the hooks of a tensor are not pickled; register them again after loading"
        warnings.warn(text, stacklevel=stacklevel)


def set_state(tensor, state):
    """Restores the attributes that ``reduce`` put aside."""
    for name, value in (state or {}).items():
        setattr(tensor, name, value)


class PickledStorage:
    """A storage on its way through a pickle: one object for each storage as long as a pickler holds it in its memo."""

    _living = WeakValueDictionary()

    def __new__(cls, storage):
        self = cls._living.get(id(storage))
        if self is None:
            self = super().__new__(cls)
            self.storage = storage
            cls._living[id(storage)] = self
        return self

    def __reduce_ex__(self, protocol):
        expect_blocks(self.storage.nbytes())
        device = self.storage.device
        if device.type not in ("cpu", "meta"):
            return restore_on, (str(device), PickledStorage(bytes_of(self.storage).cpu().untyped_storage()))
        if protocol >= 5:
            from pickle import PickleBuffer  # here, for the sake of `import torch.nn`

            return _C._restore, (PickleBuffer(self.storage),)
        return _C._restore, (_C._bytes(self.storage),)


_expected = 0


def expect_blocks(nbytes):
    """Tells malloc that Python's blocks of about that size are going to come and go.

    It gives large blocks back to the system one by one, and fetching their pages again costs more than filling them; but it
    keeps blocks smaller than the largest one that it ever saw freed. life.pickle.1e6: 0.8 ms instead of 2.4.
    """
    global _expected
    most = (32 << 20) - 4096  # malloc's own limit
    if _expected < nbytes < most:
        _expected = nbytes
        bytes(min(4 * nbytes, most))  # zeros by the page: none is touched


def rebuild(cls, storage, dtype, offset, size, stride, requires_grad):
    """The tensor that a pickle describes; its geometry is checked against the storage."""
    tensor = _C._tensor_over(storage, dtype, offset, tuple(size), tuple(stride))
    if cls is not _C.Tensor:
        tensor = _C.Tensor._make_subclass(cls, tensor)
    return tensor.requires_grad_() if requires_grad else tensor


def rebuild_sparse(cls, indices, values, size, coalesced, requires_grad):
    """The sparse tensor that a pickle describes; its indices are checked against its size."""
    tensor = _C._operator("sparse_coo_tensor")(indices, values, size, is_coalesced=coalesced)
    if cls is not _C.Tensor:
        tensor = _C.Tensor._make_subclass(cls, tensor)
    return tensor.requires_grad_() if requires_grad else tensor


def rebuild_compressed(cls, layout, compressed, plain, values, size, requires_grad):
    """The sparse tensor of a compressed layout that a pickle describes; its indices are checked against its size."""
    tensor = _C._operator("_sparse_compressed_tensor")(compressed, plain, values, layout=layout, size=tuple(size))
    if cls is not _C.Tensor:
        tensor = _C.Tensor._make_subclass(cls, tensor)
    return tensor.requires_grad_() if requires_grad else tensor


def module_load(input, other, assign=False):
    """What a parameter becomes when ``load_state_dict`` swaps it (``torch.__future__``): itself with the numbers of
    ``other``, or ``other`` if it is assigned, in either case detached. A class answers by ``__torch_function__``.

    >>> x = torch.zeros(2)
    >>> x.module_load(torch.tensor([1, 2])), x
    (tensor([1., 2.]), tensor([1., 2.]))
    """
    from .overrides import handle_torch_function, has_torch_function_variadic

    if has_torch_function_variadic(input, other):
        return handle_torch_function(_C.Tensor.module_load, (input, other), input, other, assign=assign)
    return other.detach() if assign else input.copy_(other).detach()
