"""The names of `torch.utils.data.collate`."""

import re as _re

from ..collate import *  # noqa: F403

#: dtypes of NumPy that do not become tensors: bytes, strings, objects
np_str_obj_array_pattern = _re.compile(r"[SaUO]")
