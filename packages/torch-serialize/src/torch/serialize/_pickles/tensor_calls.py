r"""A tensor as `save` writes it, told by its bytes and made in one step instead of twenty opcodes.

``((h? h? X.... h? <numel> tQ <offset> <size> <stride> <grad> h? )R tR``: a rebuild function, which is on the stack, is called
with a storage's persistent id and what follows it. 100 tensors of 10 x 10 (`life.file.load_small`): 10.1 million
instructions opcode by opcode, 8.3 million so.
"""

from __future__ import annotations

import pickle
import re
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from .words import Word

_INT = rb"(?:K.|M..|J.{4})"
_INTS = rb"(?:\)|I\x85|II\x86|III\x87|\(I{4,64}t)".replace(b"I", _INT)
_CALL = re.compile(  # behind the first MARK
    rb"\(h(.)h(.)X(.)\0\0\0(\d+)h(.)"
    + rb"((INT)tQ(INT INTS INTS[\x88\x89]))".replace(b" ", b"").replace(b"INTS", _INTS).replace(b"INT", _INT)
    + rb"h(.)\)RtR",
    re.DOTALL,
)


class TensorCalls:
    """Finds and makes the tensors of one pickle.

    Args:
        call: calls what a name stands for with a tuple of arguments, if that is allowed
        persistent_load: gives the object for a persistent id
    """

    def __init__(self, call: Callable[[Any, tuple], Any], persistent_load: Callable[[Any], Any]):
        self._call = call
        self._load = persistent_load
        self._numbers: dict[bytes, tuple] = {}

    @staticmethod
    def at(data: bytes, position: int) -> re.Match | None:
        """The call that starts at the MARK before `position`, if that is one."""
        match = _CALL.match(data, position)
        return match if match is not None and len(match[4]) == match[3][0] else None

    def made(self, match: re.Match, function, memo: dict[int, Any]):
        word, cls, _, key, location, numbers, numel, view, hooks = match.groups()
        known = self._numbers.get(numbers)
        if known is None:  # the expression lets through nothing but numbers and tuples of them
            known = self._numbers[numbers] = pickle.loads(b"(%b%bt." % (numel, view))
        count, *rest = known
        storage = self._load((memo[word[0]], memo[cls[0]], key.decode(), memo[location[0]], count))
        if type(function) is Word and function.proven and memo[hooks[0]] is OrderedDict:
            return function.proven(storage, *rest)
        return self._call(function, (storage, *rest, self._call(memo[hooks[0]], ())))
