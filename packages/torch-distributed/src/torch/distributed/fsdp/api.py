"""The names of :mod:`torch.distributed.fsdp` where libraries look for them."""

from torch.distributed import fsdp as _fsdp

globals().update({name: value for name, value in vars(_fsdp).items() if name[0].isupper()})
