"""Optimisers: rules by which parameters follow their gradients; one file for each algorithm, loaded at first use."""

from __future__ import annotations

from torch import _seams

from .optimizer import Optimizer as Optimizer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torch import Tensor


_MODULES = {
    "adadelta": ("Adadelta",),
    "adafactor": ("Adafactor",),
    "adagrad": ("Adagrad",),
    "adam": ("Adam",),
    "adamw": ("AdamW",),
    "adamax": ("Adamax",),
    "asgd": ("ASGD",),
    "lbfgs": ("LBFGS",),
    "lr_scheduler": (),
    "muon": ("Muon",),
    "nadam": ("NAdam",),
    "radam": ("RAdam",),
    "rmsprop": ("RMSprop",),
    "rprop": ("Rprop",),
    "sgd": ("SGD", "sgd"),
    "sparse_adam": ("SparseAdam",),
    "swa_utils": (),
}
_FILES = {name: file for file, names in _MODULES.items() for name in names}

__all__ = ["Optimizer", "lr_scheduler", *_FILES, "swap_in_optimizer_params_and_state"]


if TYPE_CHECKING:  # what type checkers see; at run time these come when asked for
    from . import lr_scheduler as lr_scheduler
    from . import swa_utils as swa_utils
    from .adadelta import Adadelta as Adadelta
    from .adafactor import Adafactor as Adafactor
    from .adagrad import Adagrad as Adagrad
    from .adam import Adam as Adam
    from .adamax import Adamax as Adamax
    from .adamw import AdamW as AdamW
    from .asgd import ASGD as ASGD
    from .lbfgs import LBFGS as LBFGS
    from .muon import Muon as Muon
    from .nadam import NAdam as NAdam
    from .radam import RAdam as RAdam
    from .rmsprop import RMSprop as RMSprop
    from .rprop import Rprop as Rprop
    from .sgd import SGD as SGD
    from .sgd import sgd as sgd
    from .sparse_adam import SparseAdam as SparseAdam
else:

    def __getattr__(name):
        file = _FILES.get(name, name)
        if file not in _MODULES:
            raise AttributeError(f"module 'torch.optim' has no attribute {name!r}")
        import importlib

        module = importlib.import_module(f"{__name__}.{file}")
        # `sgd` names a function and the file it is in: the function wins
        globals().update({public: getattr(module, public) for public in _MODULES[file]})
        return globals().get(name, module)


def __dir__():
    return sorted({*globals(), *_MODULES, *_FILES})


_seams.complete_package(__name__)


def swap_in_optimizer_params_and_state(
    optimizer: Optimizer, swapin_parameters: dict[str, Tensor], swapin_optim_state: dict[str, Any]
) -> None:
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
