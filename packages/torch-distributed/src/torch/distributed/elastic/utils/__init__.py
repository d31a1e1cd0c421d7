"""Small things that starters of jobs need."""

from .logging import get_logger

__all__ = ["get_env_variable_or_raise", "get_logger"]


def get_env_variable_or_raise(env_name: str) -> str:
    """A variable of the environment; ValueError where it is not set.

    >>> get_env_variable_or_raise("NOT_SET_ANYWHERE")
    Traceback (most recent call last):
    ValueError: Environment variable NOT_SET_ANYWHERE expected, but not set
    """
    import os

    value = os.environ.get(env_name)
    if value is None:
        raise ValueError(f"Environment variable {env_name} expected, but not set")
    return value
