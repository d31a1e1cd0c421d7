"""How torch was built, as text."""


def show():
    """The build and what it found on this machine.

    >>> print(torch.__config__.show())  # doctest: +ELLIPSIS
    torch ...
    """
    from . import doctor

    return doctor.report()


def parallel_info():
    """How many threads compute.

    >>> torch.__config__.parallel_info().partition(":")[0]
    'torch.get_num_threads()'
    """
    import torch

    return f"torch.get_num_threads(): {torch.get_num_threads()}\nthe pool is torch-core's own; OpenMP is not used"


def _cxx_flags():
    return "-std=c++20 -O3"
