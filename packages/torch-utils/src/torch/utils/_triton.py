"""Triton compiles kernels for accelerators, of which there are none here."""


def has_triton_package():
    """Whether the package is installed.

    >>> has_triton()
    False
    """
    from importlib.util import find_spec

    return find_spec("triton") is not None


def has_triton():
    """Whether there is a device for Triton's kernels: no."""
    return False


has_triton_tma = has_triton_tma_device = has_triton_experimental_host_tma = has_triton_stable_tma_api = has_triton
has_triton_tensor_descriptor_host_tma = has_datacenter_blackwell_tma_device = has_triton
