"""What programs ask the compiler about itself."""

import functools
import warnings


def is_compile_supported(device_type):
    """Whether programs can be compiled for a device: there is no compiler."""
    return False


@functools.cache
def warn_once(msg, stacklevel=1):
    """Warn of something the first time only.

    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     warn_once("the sea is salty"), warn_once("the sea is salty")
    (None, None)
    >>> len(told)
    1
    """
    warnings.warn(msg, stacklevel=stacklevel + 1)
