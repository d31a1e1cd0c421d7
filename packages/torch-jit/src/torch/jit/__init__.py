"""``torch.jit``: programs. What is not there yet is the plain Python that the stand-in in torch-core answers with."""

from torch._faces import jit as _stand_in
from torch._faces.jit import *  # noqa: F403


def __getattr__(name):
    return getattr(_stand_in, name)
