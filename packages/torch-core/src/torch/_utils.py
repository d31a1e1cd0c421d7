"""Names that plain pickles of PyTorch call, and that programs took from a module that was never meant for them.

``pickle.dumps(tensor)`` of PyTorch asks for ``torch._utils._rebuild_tensor_v2``; here ``pickle.loads`` finds it.
"""

import warnings

import torch  # by this name `torch._utils.torch.channels_last`, as PyTorch's pickles of protocol 4 say, is found

from ._copying import rebuild, rebuild_compressed, rebuild_sparse, set_state
from ._lazy import later


def _rebuild_tensor(storage, storage_offset, size, stride):
    return rebuild(torch.Tensor, storage.untyped(), _dtype(storage), storage_offset, size, stride, False)


def _rebuild_tensor_v2(storage, storage_offset, size, stride, requires_grad, backward_hooks, metadata=None):
    args = storage_offset, size, stride, requires_grad, backward_hooks
    return _rebuild_tensor_v3(storage, *args, _dtype(storage), metadata)


def _rebuild_tensor_v3(storage, storage_offset, size, stride, requires_grad, backward_hooks, dtype, metadata=None):
    tensor = rebuild(torch.Tensor, storage.untyped(), dtype, storage_offset, size, stride, False)
    for done_late, operator in (("conj", torch.Tensor.conj), ("neg", torch.Tensor.neg)):
        if metadata and metadata.get(done_late):
            tensor = operator(tensor)
    _warn_of_hooks(backward_hooks)
    return tensor.requires_grad_() if requires_grad else tensor


def _rebuild_parameter(data, requires_grad, backward_hooks):
    from .nn import Parameter

    _warn_of_hooks(backward_hooks)
    return Parameter(data, requires_grad)


def _rebuild_parameter_with_state(data, requires_grad, backward_hooks, state):
    parameter = _rebuild_parameter(data, requires_grad, backward_hooks)
    set_state(parameter, state)
    return parameter


def _rebuild_sparse_tensor(layout, data):
    if layout != torch.sparse_coo:
        return rebuild_compressed(torch.Tensor, layout, *data, False)
    indices, values, size, *coalesced = data
    return rebuild_sparse(torch.Tensor, indices, values, size, bool(coalesced and coalesced[0]), False)


def _rebuild_device_tensor_from_numpy(data, dtype, device, requires_grad):
    tensor = torch.from_numpy(data).to(device, dtype)
    return tensor.requires_grad_() if requires_grad else tensor


def _rebuild_meta_tensor_no_storage(dtype, size, stride, requires_grad):
    return torch.empty_strided(size, stride, dtype=dtype, device="meta", requires_grad=requires_grad)


def _rebuild_wrapper_subclass(cls, dtype, size, stride, storage_offset, layout, device, requires_grad):
    if layout != torch.strided:
        raise NotImplementedError(f"pickle: a {cls.__name__} of layout {layout}: wrappers have sizes and strides")
    return torch._C._hollow(cls, size, stride, storage_offset, dtype, torch.device(device), requires_grad)


def _get_obj_state(obj):
    """The attributes of an object as a pickle holds them: a dict, or a pair with those in slots.

    >>> import types
    >>> _get_obj_state(types.SimpleNamespace(a=1))
    {'a': 1}
    """
    own = getattr(type(obj), "__getstate__", None)
    if own is not None and own is not getattr(object, "__getstate__", None):
        return obj.__getstate__()
    import copyreg

    slots = {name: getattr(obj, name) for name in copyreg._slotnames(type(obj)) if hasattr(obj, name)}
    return (obj.__dict__, slots) if slots else obj.__dict__


def _set_obj_state(obj, state):
    """Set what `_get_obj_state` gave, and return the object; RuntimeError for a tuple of other than two.

    >>> import types
    >>> _set_obj_state(types.SimpleNamespace(), {"a": 1})
    namespace(a=1)
    """
    attributes, slots = state, None
    if isinstance(state, tuple):
        if len(state) != 2:
            raise RuntimeError(f"_set_obj_state: expected a pair of attributes and slots, got a tuple of {len(state)}")
        attributes, slots = state
    set_state(obj, attributes)
    set_state(obj, slots)
    return obj


def is_compiling():
    """Whether this runs while a program is captured: :func:`torch.compiler.is_compiling`.

    >>> torch._utils.is_compiling()
    False
    """
    return torch.compiler.is_compiling()


def _dtype(storage):
    return getattr(storage, "dtype", torch.uint8)  # bytes and elements of uint8 are written alike


def _warn_of_hooks(hooks):
    if hooks:
        warnings.warn("pickle: the hooks pickled with a tensor are left out; register them again", stacklevel=3)


def _flatten_dense_tensors(tensors):
    """The elements of tensors of one dtype in one tensor, one after another.

    >>> _flatten_dense_tensors([torch.ones(2, 1), torch.zeros(2)])
    tensor([1., 1., 0., 0.])
    """
    return torch.cat([tensor.reshape(-1) for tensor in tensors])


def _unflatten_dense_tensors(flat, tensors):
    """Views of a tensor that `_flatten_dense_tensors` made, in the shapes of the tensors that it was made of.

    >>> [part.tolist() for part in _unflatten_dense_tensors(torch.arange(4), [torch.ones(2, 1), torch.zeros(2)])]
    [[[0], [1]], [2, 3]]
    """
    parts = flat.split([tensor.numel() for tensor in tensors])
    return tuple(part.view(tensor.shape) for part, tensor in zip(parts, tensors))


_REPORTS = dict.fromkeys(("ExceptionWrapper", "KeyErrorMessage"), "utils.data.report")
__getattr__, __dir__ = later(globals(), names=_REPORTS, base="torch")


def _element_size(dtype):
    """Bytes of one element of a dtype.

    >>> torch._utils._element_size(torch.float64)
    8
    """
    if not isinstance(dtype, torch.dtype):
        raise RuntimeError(f"expected torch.dtype, but got {type(dtype)}")
    return dtype.itemsize


def _get_available_device_type():
    """The type of the accelerator that is there, or None."""
    return "cuda" if torch.cuda.is_available() else None


def _get_device_module(device_type):
    """``torch.cuda`` for "cuda": the module of a type of device; RuntimeError when it has none."""
    module = getattr(torch, device_type, None)
    if module is None:
        raise RuntimeError(
            f"Device '{device_type}' does not have a corresponding module registered as 'torch.{device_type}'."
        )
    return module


def _get_device_index(device, optional=False, allow_cpu=False):
    """The number of a device: an int as it is, that of "cuda:1", and with ``optional`` the current one where none is said."""
    if isinstance(device, str):
        device = torch.device(device)
    if isinstance(device, torch.device):
        if device.type == "cpu" and not allow_cpu:
            raise ValueError(f"Expected a non cpu device, but got: {device}")
        device = -1 if device.type == "cpu" else device.index
    if isinstance(device, int):
        return device
    if not optional:
        raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{device}")
    return torch.cuda.current_device()


def _take_tensors(tensors, size_limit):
    """Lists of tensors of one type, in order, each of about ``size_limit`` bytes; a larger tensor comes by itself.

    >>> from torch._utils import _take_tensors
    >>> [len(some) for some in _take_tensors([torch.ones(2)] * 3 + [torch.ones(1, dtype=torch.int64)], 16)]
    [2, 1, 1]
    """
    kept = {}
    for tensor in tensors:
        taken = kept.setdefault(tensor.type(), [])
        size = tensor.numel() * tensor.element_size()
        if taken and sum(t.numel() * t.element_size() for t in taken) + size > size_limit:
            yield taken
            taken = kept[tensor.type()] = []
        taken.append(tensor)
    yield from filter(None, kept.values())
