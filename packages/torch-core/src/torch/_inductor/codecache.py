"""What tells compiled programs apart: nothing is compiled."""


def extract_tensor_metadata_for_cache_key(tensor):
    """Raises NotImplementedError: nothing is compiled that could be kept."""
    from . import NO_COMPILER

    raise NotImplementedError(f"extract_tensor_metadata_for_cache_key: {NO_COMPILER}")
