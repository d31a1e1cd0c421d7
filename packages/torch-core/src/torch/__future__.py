"""Switches between old and new behaviour of ``Module.to``, which casts and moves parameters in place here.

>>> torch.__future__.get_overwrite_module_params_on_conversion()
False
"""


def _switch(what):
    def get() -> bool:
        """False."""
        return False

    def set(value: bool) -> None:
        """Accepts False. NotImplementedError otherwise: conversions keep the parameters that a module has."""
        if value:
            raise NotImplementedError(f"torch.__future__.set_{what}: Module.to and the like keep the parameter objects")

    get.__name__, set.__name__ = f"get_{what}", f"set_{what}"
    return get, set


get_overwrite_module_params_on_conversion, set_overwrite_module_params_on_conversion = _switch(
    "overwrite_module_params_on_conversion"
)
get_swap_module_params_on_conversion, set_swap_module_params_on_conversion = _switch("swap_module_params_on_conversion")
