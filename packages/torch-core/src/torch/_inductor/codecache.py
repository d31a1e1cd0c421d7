"""What tells compiled programs apart: nothing is compiled to native code."""

from .._absent import absent_function

extract_tensor_metadata_for_cache_key = absent_function(
    "torch._inductor.codecache",
    "extract_tensor_metadata_for_cache_key",
    "nothing is compiled to native code that could be kept",
)
