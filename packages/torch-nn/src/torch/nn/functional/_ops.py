"""The operators of the core that torch.nn.functional is made of, those without a public name in ``torch`` included.

``ops.name`` is the operator itself; it is looked up once and then an ordinary attribute.
"""

from torch._seams import operator as _operator

__all__ = ["ops"]


class _Operators:
    def __getattr__(self, name):
        operator = _operator(name)
        setattr(self, name, operator)
        return operator


ops = _Operators()
