"""``torch.utils._pytree`` is torch-core's ``torch._pytree``, under the name that programs know."""

import sys

import torch._pytree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torch._pytree import *  # noqa: F403

sys.modules[__name__] = torch._pytree
