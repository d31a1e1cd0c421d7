# ruff: noqa: F403
"""The layers, one file for each family."""

from .activation import *
from .adaptive import *
from .attention import *
from .batchnorm import *
from .container import *
from .conv import *
from .distance import *
from .dropout import *
from .linear import *
from .loss import *
from .module import *
from .normalization import *
from .padding import *
from .pooling import *
from .resize import *
from .rnn import *
from .sparse import *
from .transformer import *
