"""Tensors with two of every four elements, which tensor cores multiply: classes for libraries that name them."""

REASON = "tensors with two of every four elements are computed by tensor cores, for which this stack has no kernels"


class SparseSemiStructuredTensor:
    """Raises NotImplementedError when made."""

    _DEFAULT_ALG_ID = 0
    _FORCE_CUTLASS = False
    _FUSE_TRANSPOSE = False
    _PROTOTYPE_WARNING_SHOWN = False
    _DTYPE_SHAPE_CONSTRAINTS: dict = {}

    def __new__(cls, *args, **kwargs):
        raise NotImplementedError(f"torch.sparse.{cls.__name__}: {REASON}")

    from_dense = classmethod(__new__)


class SparseSemiStructuredTensorCUTLASS(SparseSemiStructuredTensor):
    """Raises NotImplementedError when made."""


class SparseSemiStructuredTensorCUSPARSELT(SparseSemiStructuredTensor):
    """Raises NotImplementedError when made."""


def to_sparse_semi_structured(original_tensor, transposed=False):
    """Raises NotImplementedError.

    >>> torch.sparse.to_sparse_semi_structured(torch.ones(4, 4))
    Traceback (most recent call last):
    NotImplementedError: torch.sparse.SparseSemiStructuredTensor: tensors with two of every four elements are computed ...
    """
    return SparseSemiStructuredTensor(original_tensor)
