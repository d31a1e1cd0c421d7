# ruff: noqa: F401
"""Optimisers: rules by which parameters follow their gradients; one file for each algorithm."""

from . import lr_scheduler
from .adadelta import Adadelta
from .adafactor import Adafactor
from .adagrad import Adagrad
from .adam import Adam, AdamW
from .adamax import Adamax
from .asgd import ASGD
from .lbfgs import LBFGS
from .muon import Muon
from .nadam import NAdam
from .optimizer import Optimizer
from .radam import RAdam
from .rmsprop import RMSprop
from .rprop import Rprop
from .sgd import SGD, sgd
from .sparse_adam import SparseAdam


def __getattr__(name):
    if name == "swa_utils":
        import importlib

        return importlib.import_module("torch.optim.swa_utils")
    raise AttributeError(f"module 'torch.optim' has no attribute {name!r}")


def swap_in_optimizer_params_and_state(optimizer, swapin_parameters, swapin_optim_state):
    """Exchange the parameters of ``optimizer``, and the state that belongs to them, for others of the same count.

    ValueError when the counts differ; nothing is changed then.
    """
    swapin_parameters = list(swapin_parameters)
    have = [p for group in optimizer.param_groups for p in group["params"]]
    if len(have) != len(swapin_parameters):
        raise ValueError(f"optimizer has {len(have)} parameters, {len(swapin_parameters)} were given")
    new = iter(swapin_parameters)
    for group in optimizer.param_groups:
        group["params"] = [next(new) for _ in group["params"]]
    optimizer.state.clear()
    optimizer.state.update(swapin_optim_state)
