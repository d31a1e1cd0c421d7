"""What spread tensors send.

With ``TORCH_DISTRIBUTED_DEBUG=INFO``, an operator that puts a whole together on every rank says so, once.
"""

from .._debug import CommDebugMode, refuse_wholes

__all__ = ["CommDebugMode", "refuse_wholes"]
