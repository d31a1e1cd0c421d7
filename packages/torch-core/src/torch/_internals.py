"""Names of ``torch._C`` that libraries read although they are PyTorch's own business: questions with an answer here."""

import sys

from . import _C
from ._parts import need


def _get_tracing_state():
    """What records the operators of this thread, or None: torch.jit.trace is told about by its own part."""
    reads = sys.modules.get("torch.jit._reads")
    return reads.current() if reads is not None else None


def _log_api_usage_once(event):
    """A count of calls for PyTorch's makers; nothing is counted."""


_log_api_usage_metadata = _log_api_usage_once


def _get_accelerator(check=False):
    """The device that is the accelerator here: the CPU, when there is no other."""
    return _C.device("cpu")


def _get_privateuse1_backend_name():
    """The name of a device that a plug-in brings."""
    return "privateuseone"


def _is_alias_of(tensor, other):
    """Whether two tensors share a storage."""
    return tensor.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()


def _get_default_device():
    """The name of the device on which tensors are made."""
    return str(_C._default_device())


def _are_functorch_transforms_active():
    """Whether a function of torch.func runs that gives out tensors of its own: never."""
    return False


def _set_grad_enabled(mode):
    """Whether this thread records gradients from here on."""
    need("autograd").set_grad_enabled(bool(mode))


def _current_graph_task_id():
    """The number of the backward pass that runs on this thread, -1 outside of one."""
    engine = sys.modules.get("torch.autograd._C")
    return (engine._current_pass() if engine else 0) or -1


def _current_autograd_node():
    """The node whose derivative is being computed on this thread, or None."""
    engine = sys.modules.get("torch.autograd._C")
    return engine._current_node() if engine else None


_is_tracing = _get_cudnn_enabled = _are_functorch_transforms_active
_has_xpu = _has_mps = _has_cuda = False


def _mps_is_available():
    """Whether there is a GPU of Apple's: no."""
    return False


def _show_config():
    """How torch-core was built."""
    from . import __config__

    return __config__.show()


_is_current_rpc_agent_set = _are_functorch_transforms_active


class _ExcludeDispatchKeyGuard:
    """Within it autocast is off for the devices of the keys; NotImplementedError for keys of anything else, since operators
    cannot be told to pass over another part of what they do.

    >>> key = torch._C.DispatchKey.AutocastCPU
    >>> with torch.autocast("cpu"), torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(key)):
    ...     torch.is_autocast_enabled("cpu")
    False
    """

    def __init__(self, keys):
        names = sorted(key.name for key in keys._keys)
        if others := [name for name in names if not name.startswith("Autocast")]:
            raise NotImplementedError(
                f"torch._C._ExcludeDispatchKeyGuard: operators here do not pass over {', '.join(others)}; use torch.no_grad or torch.autocast"
            )
        self._devices = [device for device in ("cpu", "cuda") if f"Autocast{device.upper()}" in names]

    def __enter__(self):
        import torch

        self._before = [(device, torch.is_autocast_enabled(device)) for device in self._devices]
        for device in self._devices:
            torch.set_autocast_enabled(device, False)

    def __exit__(self, *error):
        import torch

        for device, before in self._before:
            torch.set_autocast_enabled(device, before)


class _Keys(type):
    """Names of parts of PyTorch's dispatcher, made when asked for."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        key = cls.__new__(cls)
        key.name = name
        setattr(cls, name, key)
        return key


class DispatchKey(metaclass=_Keys):
    """A part of what PyTorch does in an operator, by name; a program passes it on."""

    def __repr__(self):
        return f"DispatchKey.{self.name}"


class DispatchKeySet:
    """Some parts of what PyTorch does in an operator."""

    def __init__(self, *keys):
        self._keys = frozenset(keys)

    def has(self, key):
        """Whether the part is among them."""
        return key in self._keys

    def add(self, key):
        """The parts with one more."""
        return DispatchKeySet(*self._keys, key)

    def __or__(self, other):
        return DispatchKeySet(*self._keys, *other._keys)

    def __eq__(self, other):
        return isinstance(other, DispatchKeySet) and self._keys == other._keys

    def __hash__(self):
        return hash(self._keys)


_TensorMeta = type(_C.Tensor)


class _OfPrograms:
    """What programs consist of, for libraries that name it: torch-jit has it, and it is not installed."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError(
            f"torch._C.{type(self).__name__}: programs are in the distribution 'torch-jit', which is not installed"
        )


def _parse_to(*args, **kwargs):
    """What ``Module.to`` was asked for: device, dtype, non_blocking, memory format.

    >>> torch._C._nn._parse_to("cpu", torch.float64)
    (device(type='cpu'), torch.float64, False, None)
    """
    names = ("device", "dtype", "non_blocking", "copy")
    device = dtype = None
    flags = []
    for value in args:
        if isinstance(value, _C.dtype):
            dtype = value
        elif isinstance(value, _C.Tensor):
            device, dtype = value.device, value.dtype
        elif isinstance(value, bool):
            flags.append(value)
        elif value is not None:
            device = _C.device(value)
    if (tensor := kwargs.pop("tensor", None)) is not None:
        device, dtype = tensor.device, tensor.dtype
    form = kwargs.pop("memory_format", None)
    if wrong := set(kwargs) - set(names):
        raise TypeError(f"to() got an unexpected keyword argument {min(wrong)!r}")
    if kwargs.get("device") is not None:
        device = _C.device(kwargs["device"])
    dtype = kwargs.get("dtype", dtype)
    return device, dtype, bool(kwargs.get("non_blocking", flags[0] if flags else False)), form


def _switch(answer):
    """A setting of PyTorch's fusers: accepted, and without effect, since programs run as they were written."""
    return lambda *args: answer


for _name in (
    "_jit_set_texpr_fuser_enabled",
    "_jit_set_nvfuser_enabled",
    "_jit_set_nvfuser_guard_mode",
    "_jit_override_can_fuse_on_cpu",
    "_jit_override_can_fuse_on_gpu",
    "_jit_set_profiling_executor",
    "_jit_set_profiling_mode",
    "_jit_can_fuse_on_cpu",
    "_jit_can_fuse_on_gpu",
    "_jit_texpr_fuser_enabled",
    "_jit_nvfuser_enabled",
    "_jit_cat_wo_conditionals",
    "_jit_set_autocast_mode",
    "_jit_set_inline_everything_mode",
    "_jit_get_inline_everything_mode",
    "_debug_set_autodiff_subgraph_inlining",
    "_debug_set_fusion_group_inlining",
    "_debug_get_fusion_group_inlining",
    "_set_graph_executor_optimize",
    "_set_math_sdp_allow_fp16_bf16_reduction",
):
    globals()[_name] = _switch(False)
for _name in ("_jit_set_num_profiled_runs", "_jit_set_bailout_depth"):
    globals()[_name] = _switch(0)
_jit_set_fusion_strategy = _switch([])


_OF_OVERRIDES = {
    **{name: name for name in ("DisableTorchFunction", "DisableTorchFunctionSubclass", "_EnableTorchFunction")},
    **{
        name: name
        for name in ("_is_torch_function_enabled", "_is_torch_function_all_disabled", "_is_torch_function_mode_enabled")
    },
    "_has_torch_function": "has_torch_function",
    "_has_torch_function_unary": "has_torch_function_unary",
    "_has_torch_function_variadic": "has_torch_function_variadic",
}


# Names of programs: torch.jit has them.
_OF_PROGRAMS = {
    "AnyType", "Block", "BoolType", "ClassType", "ComplexType", "DeviceObjType", "DictType", "EnumType", "FloatType",
    "FutureType", "Graph", "IntType", "ListType", "Node", "NoneType", "NumberType", "OptionalType", "PyObjectType",
    "StringType", "TensorType", "TupleType", "Type", "UnionType", "Use", "Value", "parse_ir", "parse_type",
}  # fmt: skip


def __getattr__(name):
    from ._names import OF_PROGRAMS

    if name in OF_PROGRAMS or name.startswith("_jit_"):
        from ._parts import import_module

        module, _, there = OF_PROGRAMS.get(name, "torch.jit._passes").partition(":")
        try:
            return getattr(import_module(module), there or name)
        except ModuleNotFoundError:
            from ._install import absent

            raise AttributeError(f"torch._C.{name}: {absent('programs are', 'torch-jit')}") from None
    if name == "_LinAlgError":
        from .linalg import LinAlgError

        return LinAlgError
    if name == "Tag":
        from ._tags import Tag

        return Tag
    if name in ("_distributed_c10d", "_distributed_rpc", "_onnx"):
        from . import _faces_of_c

        return getattr(_faces_of_c, name)()
    if name == "_cpu":
        from types import SimpleNamespace

        from . import cpu

        return SimpleNamespace(_get_cpu_capability=cpu.get_capabilities)
    if name == "_nn":
        from . import nn

        return nn.functional
    if name == "_functorch":
        from ._functorch import _batches

        return _batches
    if name == "PyTorchFileReader":
        from .serialize import PyTorchFileReader

        return PyTorchFileReader
    if name == "_DisableTorchDispatch":
        from ._dispatch import DisableTorchDispatch

        return DisableTorchDispatch
    if name == "_len_torch_dispatch_stack":
        from ._dispatch import modes

        return lambda: len(modes())
    if name in _OF_PROGRAMS:
        from ._parts import import_module

        try:
            return getattr(import_module("torch.jit._ir"), name)
        except ModuleNotFoundError:
            made = globals()[name] = type(name, (_OfPrograms,), {"__doc__": _OfPrograms.__doc__})
            return made
    if name in _OF_OVERRIDES:
        from . import overrides

        return getattr(overrides, _OF_OVERRIDES[name])
    raise AttributeError(f"module 'torch._C' has no attribute {name!r}")
