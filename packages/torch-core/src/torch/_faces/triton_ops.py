"""``torch.sparse._triton_ops``: kernels in Triton for block-sparse matrices, of which there are none. Libraries import these
names whether or not they have a GPU to call them for.
"""

from torch._absent import absent_function

from .triton_ops_meta import REASON

for _name in (
    "broadcast_batch_dims", "bsr_dense_addmm", "bsr_dense_mm", "bsr_scatter_mm", "bsr_softmax", "launch_kernel", "prepare_inputs",
    "ptr_stride_extractor", "sampled_addmm", "scatter_mm", "tile_to_blocksize",
):  # fmt: skip
    globals()[_name] = absent_function("torch.sparse._triton_ops", _name, REASON)
