"""Numbers of devices, as libraries ask for them."""

from .. import _utils
from .._C import device as Device


def _get_device_index(device, optional=False, allow_cpu=False):
    """The number of a CUDA device: an int as it is, that of "cuda:1", and with ``optional`` the current one where none is said.

    Another device raises ValueError, but for the CPU with ``allow_cpu``, which is -1; a name that is none RuntimeError.

    >>> from torch.cuda._utils import _get_device_index
    >>> _get_device_index("cuda:1"), _get_device_index(3), _get_device_index(torch.device("cpu"), allow_cpu=True)
    (1, 3, -1)
    """
    device = getattr(device, "idx", device)  # of torch.cuda.device
    if isinstance(device, str):
        device = Device(device)
    if isinstance(device, Device) and device.type != "cuda" and not (allow_cpu and device.type == "cpu"):
        raise ValueError(f"Expected a cuda{' or cpu' if allow_cpu else ''} device, but got: {device}")
    return _utils._get_device_index(device, optional, allow_cpu)
