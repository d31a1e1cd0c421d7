"""``torch.utils._pytree`` is torch-core's ``torch._pytree``, under the name that programs know."""

import sys

import torch._pytree

sys.modules[__name__] = torch._pytree
