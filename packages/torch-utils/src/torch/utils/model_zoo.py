"""Weights from the network, by the name of 2017: `load_url` is `torch.hub.load_state_dict_from_url`."""

from .hub import load_state_dict_from_url

load_url = load_state_dict_from_url

__all__ = ["load_url"]


class _NoBar:
    """What stands for tqdm's bar where tqdm is not installed: it goes through things and shows nothing.

    >>> with _NoBar(range(2)) as bar:
    ...     print(list(bar), bar.update(3))
    [0, 1] None
    """

    def __init__(self, iterable=(), *args, **options):
        self._iterable = iterable

    def __iter__(self):
        return iter(self._iterable)

    def update(self, n=1):
        pass

    set_description = set_postfix = update

    def close(self):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass


def __getattr__(name):
    if name == "tqdm":  # torchvision takes it from here
        try:
            from tqdm.auto import tqdm
        except ModuleNotFoundError:
            tqdm = _NoBar

        return tqdm
    raise AttributeError(f"module 'torch.utils.model_zoo' has no attribute {name!r}")
