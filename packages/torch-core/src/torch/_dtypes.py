"""Dtypes of which no tensors exist here: programs compare with them, look them up and ask for their sizes. A tensor of
one raises NotImplementedError.
"""

import sys

from . import _C

#: name: bytes, floating point, complex, signed. The small float is of the Open Compute Project (MX 1.0).
NAMED = {
    "float4_e2m1fn_x2": (1, True, False, True),
    "qint8": (1, False, False, True),
    "quint8": (1, False, False, False),
    "qint32": (4, False, False, True),
    "quint4x2": (1, False, False, False),
    "quint2x4": (1, False, False, False),
    **{f"uint{bits}": (1, False, False, False) for bits in range(1, 8)},
    **{f"int{bits}": (1, False, False, True) for bits in range(1, 8)},
    "bits1x8": (1, False, False, False),
    "bits2x4": (1, False, False, False),
    "bits4x2": (1, False, False, False),
    "bits8": (1, False, False, False),
    "bits16": (2, False, False, False),
}

for _name, _what in NAMED.items():
    globals()[_name] = _C._named_dtype(_name, *_what)
# The only instances: whoever asks torch for one gets the same object, which pickles under its name.
for _name in NAMED:
    setattr(sys.modules["torch"], _name, globals()[_name])
