"""What is printed on the way: the flags of 2018 by their names."""

from __future__ import annotations

import sys
from typing import Any

#: on stderr: loops of a program, PTX of it, every candidate of a tuner
FLAGS = {"debug_halide": False, "dump_ptx": False, "dump_cuda": False, "debug_tuner": False}
#: flags of other stages of the compiler of 2018
ACCEPTED = {"debug_lang", "debug_tc_mapper", "debug_cuda", "logtostderr", "llvm_dump_before_opt", "llvm_dump_after_opt"}


def say(flag: str, text: str) -> None:
    if FLAGS[flag]:
        print(f"tc: {text}", file=sys.stderr)


def set_flag(name: str, value: Any = True) -> None:
    if name in FLAGS:
        FLAGS[name] = bool(value)
    elif name not in ACCEPTED:
        raise ValueError(f"tc: no flag {name!r}: there are {', '.join(sorted({*FLAGS, *ACCEPTED}))}")


class SetDebugFlags:
    """Sets flags; as a context manager, for a block.

    >>> import torch.tc
    >>> with torch.tc.SetDebugFlags(debug_tuner=True):
    ...     pass
    """

    def __init__(self, **flags: Any):
        self.before = dict(FLAGS)
        for name, value in flags.items():
            set_flag(name, value)

    def __enter__(self) -> SetDebugFlags:
        return self

    def __exit__(self, *error: Any) -> None:
        FLAGS.update(self.before)


def _setter(name: str) -> Any:
    def setter(value: Any = True) -> None:
        set_flag(name, value)

    setter.__name__ = setter.__qualname__ = name
    setter.__doc__ = f"Set the flag ``{name}``."
    return setter


debug_lang, debug_halide, debug_tc_mapper = map(_setter, ("debug_lang", "debug_halide", "debug_tc_mapper"))
debug_tuner, dump_cuda, dump_ptx, logtostderr = map(_setter, ("debug_tuner", "dump_cuda", "dump_ptx", "logtostderr"))
