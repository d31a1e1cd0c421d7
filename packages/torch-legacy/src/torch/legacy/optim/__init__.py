"""Optimizers as functions of the loss: ``x, history = method(opfunc, x, config, state)``.

``opfunc(x)`` gives the loss at x, a number, and its gradient. x is changed in place. ``config`` is a dictionary of settings;
``state`` keeps what the method remembers from call to call, and is ``config`` itself unless given.
"""

from .adaptive import adadelta, adagrad, adam, adamax, rmsprop, rprop
from .batch import cg, lbfgs
from .gradient import asgd, nag, sgd, sqrt_nothrow

__all__ = [
    "adadelta", "adagrad", "adam", "adamax", "asgd", "cg", "lbfgs", "nag", "rmsprop", "rprop", "sgd", "sqrt_nothrow",
]  # fmt: skip
