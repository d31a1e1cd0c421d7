"""What ``Module.to``, other conversions and ``load_state_dict`` do with the parameters that a module has.

>>> torch.__future__.get_swap_module_params_on_conversion()
False
"""

_swap = _overwrite = False


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Whether conversions make new parameters; else those that a module has take new data."""
    global _overwrite
    _overwrite = value


def get_overwrite_module_params_on_conversion() -> bool:
    """Whether conversions make new parameters."""
    return _overwrite


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Whether parameters change places with what they become (``torch.utils.swap_tensors``), and stay the same objects
    whatever class, layout or device that has; ``load_state_dict`` asks ``Tensor.module_load`` what a parameter becomes."""
    global _swap
    _swap = value


def get_swap_module_params_on_conversion() -> bool:
    """Whether parameters change places with what they become."""
    return _swap
