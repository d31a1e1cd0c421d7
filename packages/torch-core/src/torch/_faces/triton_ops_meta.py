"""``torch.sparse._triton_ops_meta``: tuned settings of kernels in Triton, of which there are none."""

from torch._absent import absent_function

REASON = "there are no kernels in Triton to tune; products of block-sparse matrices run as batched products"


def get_meta(op, key, device_name=None, version=None, exact=False):
    """None: nothing is tuned.

    >>> from torch.sparse._triton_ops_meta import get_meta
    >>> print(get_meta("bsr_dense_addmm", (1, 2)))
    None
    """


for _name in (
    "update", "dump", "minimize", "create_blocked_tensor", "optimize_scatter_mm", "tune_bsr_dense_addmm", "tune__int_bsr_dense_addmm",
    "optimize_bsr_dense_addmm", "main",
):  # fmt: skip
    globals()[_name] = absent_function("torch.sparse._triton_ops_meta", _name, REASON)
