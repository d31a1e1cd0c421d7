"""What becomes of the gradient of each row: "derivative", "composite", "not differentiable", "zero", "missing"."""

from torch.autograd import _C

TREATMENTS = _C._treatments()
