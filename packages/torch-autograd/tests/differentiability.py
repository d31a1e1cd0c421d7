"""What becomes of the gradient of each row: "derivative", "composite", "not differentiable", "zero", "missing"."""

from torch.autograd import _C

DIFFERENTIABILITY = _C._differentiability()
