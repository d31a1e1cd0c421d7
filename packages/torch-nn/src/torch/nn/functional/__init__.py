# ruff: noqa: F403
"""The functions behind the layers: ``import torch.nn.functional as F``.

Where an operator of the core has the right signature, the name here is the operator itself; nothing of Python stands
between the call and it.  One file for each family.
"""

from .activation import *
from .attention import *
from .conv import *
from .ctc import *
from .distance import *
from .dropout import *
from .embedding import *
from .interpolate import *
from .linear import *
from .loss import *
from .normalization import *
from .padding import *
from .pooling import *
from .sampling import *
from .shuffle import *
