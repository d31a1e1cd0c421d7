"""``CUDA_HOME``: where CUDA's toolkit lies, or None without it or without torch-core-cuda. Setups ask for it before they add
their CUDA sources."""

import importlib.util

from . import cuda

CUDA_HOME = cuda.find_home() if importlib.util.find_spec("torch._cuda") else None
