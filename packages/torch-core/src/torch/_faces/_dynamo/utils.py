"""What programs ask the compiler about itself."""


def is_compile_supported(device_type):
    """Whether programs can be compiled for a device: there is no compiler."""
    return False
