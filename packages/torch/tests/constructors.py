"""Constructors with one argument that nobody should pass: objects of other kinds, numbers beyond any bound, and objects
that raise or lie while they are read. One clear error is wanted, or an object.

    python constructors.py --calls 60000 --seed 1
"""

import argparse
import inspect
import math
import random
import sys
import warnings

import torch
import torch.distributions as D
from torch import nn, optim
from torch.optim import lr_scheduler, swa_utils
from torch.utils import data

LAYER = nn.Linear(2, 2)
DATA = data.TensorDataset(torch.arange(6.0))
NORMAL = D.Normal(torch.zeros(2), torch.ones(2))
#: what arguments without a default are given, by name
GIVEN = {
    **dict.fromkeys(("in_features", "in1_features", "in2_features", "input_size", "hidden_size", "kernel_size", "kernel_sizes", "embedding_dim"), 3),
    **dict.fromkeys(("out_features", "in_channels", "out_channels", "num_features", "num_channels", "nhead", "num_heads", "upscale_factor"), 2),
    **dict.fromkeys(("downscale_factor", "output_size", "scale_factor", "step_size", "T_0", "batch_size", "num_samples", "total_count"), 2),
    **dict.fromkeys(("num_groups", "padding", "groups", "num_layers", "num_params", "reinterpreted_batch_ndims"), 1),
    **dict.fromkeys(("d_model", "embed_dim"), 4),
    **dict.fromkeys(("loc", "low", "lower_bound"), 0.0),
    **dict.fromkeys(("scale", "rate", "concentration", "concentration0", "concentration1", "high", "upper_bound"), 1.0),
    **dict.fromkeys(("df", "df1", "df2"), 3.0),
    **dict.fromkeys(("model", "module"), LAYER),
    **dict.fromkeys(("dataset", "data_source"), DATA),
    **dict.fromkeys(("base_dist", "base_distribution", "component_distribution"), NORMAL),
    **{name: [D.ExpTransform()] for name in ("transforms", "parts", "tseq")},
    "normalized_shape": [3], "num_embeddings": 5, "cutoffs": [2], "n_classes": 5, "dim": 0, "unflattened_size": (1, 2), "size": 3,
    "encoder_layer": nn.TransformerEncoderLayer(4, 2), "decoder_layer": nn.TransformerDecoderLayer(4, 2), "threshold": 0.1, "value": 2.0,
    "milestones": [1], "gamma": 0.9, "lr_lambda": lambda epoch: 0.9, "T_max": 3, "max_lr": 0.1, "base_lr": 0.01, "swa_lr": 0.1, "drop_last": False,
    "weights": [0.1, 0.9], "indices": [0, 1], "datasets": [DATA, DATA], "probs": torch.tensor([0.5, 0.5]), "temperature": torch.tensor(1.0),
    "mixture_distribution": D.Categorical(torch.ones(2)), "base_transform": D.ExpTransform(), "exponent": 2.0, "in_shape": (2,), "out_shape": (2,),
}  # fmt: skip


class Own(Exception):
    """Raised by the objects below."""


def _raises(self, *args):
    raise Own("no")


class LongerThanAny:
    def __len__(self):
        return 2**63

    def __getitem__(self, i):
        raise IndexError(i)


class Negative(LongerThanAny):
    def __len__(self):
        return -1


class Textual:
    def __index__(self):
        return "text"

    __len__ = __iter__ = __bool__ = __float__ = __index__


def hostile():
    """The values, by what they are called in a report."""
    loop: list = []
    loop.append(loop)
    plain = [
        object(),
        None,
        "abc",
        "",
        b"x",
        3,
        -3,
        0,
        2**70,
        2.5,
        math.nan,
        math.inf,
        [1, 2, 3],
        ["a"],
        [],
        loop,
        {"a": 1},
        {1},
        (1, -1),
        ...,
    ]
    plain += [
        1j,
        True,
        int,
        lambda *args: None,
        torch,
        torch.float32,
        torch.device("cpu"),
        LAYER,
        torch.ones(2, 3),
        torch.empty(0),
    ]
    plain += [torch.ones(2, device="meta"), torch.tensor([True]), LongerThanAny(), Negative(), Textual()]
    found = {f"{type(value).__name__} {i}": value for i, value in enumerate(plain)}
    methods = [
        "index",
        "len",
        "eq",
        "iter",
        "getitem",
        "hash",
        "bool",
        "float",
        "int",
        "repr",
        "getattr",
        "call",
        "contains",
        "del",
        "format",
        "str",
        "lt",
    ]
    for method in methods:
        found[f"raises in __{method}__"] = type("Raising", (), {f"__{method}__": _raises})()
    return found


def classes():
    """Every class with a constructor of torch's own, once."""
    seen = set()
    for module in (nn, optim, lr_scheduler, swa_utils, data, D):
        for name in sorted(dir(module)):
            cls = getattr(module, name)
            if (
                inspect.isclass(cls)
                and cls.__module__.startswith("torch.")
                and cls not in seen
                and not issubclass(cls, BaseException)
            ):
                seen.add(cls)
                yield cls


def arguments(cls):
    """The keywords that make one, and all that there are; None where some have no value above."""
    try:
        parameters = [
            p
            for p in list(inspect.signature(cls.__init__).parameters.values())[1:]
            if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        ]
    except (TypeError, ValueError):
        return None
    given = {}
    for p in parameters:
        if p.name == "params":
            given[p.name] = [nn.Parameter(torch.ones(2, 2))]
        elif p.name == "optimizer":
            given[p.name] = optim.SGD(LAYER.parameters(), 0.1, momentum=0.9)
        elif p.name == "sampler" and p.default is p.empty:
            given[p.name] = data.SequentialSampler(DATA)
        elif p.default is p.empty:
            if p.name not in GIVEN:
                return None
            given[p.name] = GIVEN[p.name]
    return given, [p.name for p in parameters]


def is_clear(error: Exception) -> bool:
    """Whether an error is one that says what is wrong: none of those that come from using what was not looked at."""
    if isinstance(error, Own):
        return True
    if isinstance(error, KeyError):
        return "initial_lr" in str(error)  # as in PyTorch
    kinds = (TypeError, ValueError, RuntimeError, AssertionError, OverflowError, BufferError)
    return isinstance(error, kinds) and not isinstance(error, RecursionError) and str(error) != ""


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--calls", type=int, default=6000)
    options.add_argument("--seed", type=int, default=0)
    given = options.parse_args()
    rng = random.Random(given.seed)
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    values = hostile()
    cases = []
    for cls in classes():
        found = arguments(cls)
        try:
            cls(**found[0])
        except Exception:  # takes what the table above does not have
            continue
        cases += [(cls, name) for name in found[1]]
    assert len(cases) > 900, len(cases)
    unclear = {}
    for _ in range(given.calls):
        cls, name = rng.choice(cases)
        what, value = rng.choice(list(values.items()))
        try:
            cls(**arguments(cls)[0] | {name: value})
        except Exception as error:
            if not is_clear(error):
                unclear[f"{cls.__module__}.{cls.__name__}({name}={what}): {type(error).__name__}: {error}"] = error
    print(f"{given.calls} calls, {len(cases)} arguments, {len(unclear)} unclear errors", *unclear, sep="\n")
    sys.exit(bool(unclear))


if __name__ == "__main__":
    main()
