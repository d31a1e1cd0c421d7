"""Weights from the network, by the name of 2017: `load_url` is `torch.hub.load_state_dict_from_url`."""

from .hub import load_state_dict_from_url

load_url = load_state_dict_from_url

__all__ = ["load_url"]


def __getattr__(name):
    if name == "tqdm":  # torchvision takes it from here
        from tqdm.auto import tqdm

        return tqdm
    raise AttributeError(f"module 'torch.utils.model_zoo' has no attribute {name!r}")
