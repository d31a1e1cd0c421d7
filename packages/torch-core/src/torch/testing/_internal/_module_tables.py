"""Modules with arguments and inputs that fit them: what tests of modules are made from."""

from __future__ import annotations

import torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def _case(name: str, args: tuple = (), size: Any = None, make: Callable[[], Any] | None = None, **more: Any) -> dict:
    """One row: ``input_size`` of normal noise, or ``input_fn``."""
    row: dict[str, Any] = {"module_name": name, "constructor_args": args, **more}
    if make is not None:
        row["input_fn"] = make
    else:
        row["input_size"] = size
    return row


def _tokens(*size: int) -> Callable[[], Any]:
    return lambda: torch.randint(4, size)


def _pair(make: Callable[[], Any]) -> Callable[[], Any]:
    return lambda: (make(), make())


module_tests = [
    _case("Linear", (10, 8), (4, 10)),
    _case("Linear", (10, 8, False), (4, 10), desc="no_bias", check_gradgrad=False),
    *(_case(name, (), (2, 3, 4)) for name in (
        "ReLU", "ReLU6", "Tanh", "Sigmoid", "ELU", "SELU", "GELU", "SiLU", "Mish", "Softplus", "Softsign", "Softshrink",
        "Hardshrink", "Hardtanh", "Hardswish", "Hardsigmoid", "LeakyReLU", "LogSigmoid", "Tanhshrink", "CELU",
        "Identity", "Flatten",
    )),
    _case("Threshold", (2.0, 1.0), (2, 3, 4), desc="threshold_value"),
    _case("PReLU", (3,), (2, 3, 4), desc="multiparam"),
    _case("GLU", (), (5, 6)),
    *(_case(name, (1,), (10, 20)) for name in ("Softmax", "Softmin", "LogSoftmax")),
    _case("Softmax2d", (), (1, 3, 10, 20)),
]  # fmt: skip

_MORE = [
    *(_case(f"Conv{d}d", (4, 5, 3), (2, 4, *[7] * d)) for d in (1, 2, 3)),
    _case("Conv2d", (4, 6, 3, 2, 1, 1, 2), (2, 4, 7, 7), desc="groups"),
    *(_case(f"ConvTranspose{d}d", (3, 4, 3, 2, 1, 1), (1, 3, *[5] * d)) for d in (1, 2, 3)),
    *(_case(f"{kind}Pool{d}d", (2,), (2, 3, *[6] * d)) for kind in ("Max", "Avg") for d in (1, 2, 3)),
    *(_case(f"Adaptive{kind}Pool{d}d", (3,), (1, 3, *[6] * d)) for kind in ("Max", "Avg") for d in (1, 2, 3)),
    *(_case(f"BatchNorm{d}d", (3,), (4, 3, *[5] * d)) for d in (1, 2, 3)),
    *(_case(f"InstanceNorm{d}d", (3, 1e-3, 0.3), (4, 3, *[5] * d)) for d in (1, 2, 3)),
    _case("LayerNorm", ([5], 1e-3), (4, 5, 5)),
    _case("GroupNorm", (3, 6, 1e-3), (4, 6, 5)),
    _case("LocalResponseNorm", (3,), (1, 5, 7)),
    _case("LPPool2d", (2, 2), (1, 3, 7, 7)),
    *(_case(f"{kind}Pad2d", (1,), (2, 3, 4, 4)) for kind in ("Reflection", "Replication", "Zero")),
    _case("ConstantPad2d", (1, 2.0), (2, 3, 4, 4)),
    _case("Embedding", (4, 3), make=_tokens(2, 3), check_gradgrad=False),
    _case("PixelShuffle", (3,), (1, 9, 4, 4)),
    _case("PixelUnshuffle", (2,), (1, 2, 4, 4)),
    _case("Upsample", (None, 2.0), (1, 2, 4), desc="nearest_scale_1d"),
    _case("Upsample", ((12,),), (1, 2, 4), desc="nearest_1d"),
    _case("Fold", ((4, 4), (2, 2)), (2, 16, 9)),
    _case("Unfold", ((2, 2),), (2, 4, 3, 3)),
    _case("Bilinear", (5, 7, 8), make=lambda: (torch.randn(4, 5), torch.randn(4, 7))),
    _case("CosineSimilarity", (), make=_pair(lambda: torch.randn(4, 6))),
    _case("PairwiseDistance", (), make=_pair(lambda: torch.randn(4, 6))),
    _case("TransformerEncoderLayer", (4, 2, 16, 0.0), (2, 3, 4)),
]

criterion_tests = [
    *(
        {"module_name": name, "input_size": (4, 5), "target_size": (4, 5)}
        for name in ("L1Loss", "MSELoss", "SmoothL1Loss", "HuberLoss", "SoftMarginLoss")
    ),
    {"module_name": "BCELoss", "input_fn": lambda: torch.rand(4, 5), "target_fn": lambda: torch.rand(4, 5)},
    {"module_name": "BCEWithLogitsLoss", "input_size": (4, 5), "target_fn": lambda: torch.rand(4, 5)},
    *(
        {"module_name": name, "input_size": (4, 5), "target_fn": lambda: torch.randint(5, (4,))}
        for name in ("CrossEntropyLoss", "MultiMarginLoss")
    ),
    {
        "module_name": "NLLLoss",
        "input_fn": lambda: torch.rand(4, 5).log(),
        "target_fn": lambda: torch.randint(5, (4,)),
    },
    {"module_name": "KLDivLoss", "input_fn": lambda: torch.rand(4, 5).log(), "target_fn": lambda: torch.rand(4, 5)},
]


def get_new_module_tests() -> list[dict[str, Any]]:
    """The rows that are not in ``module_tests``, in a list of one's own."""
    return [dict(row) for row in _MORE]


new_module_tests = get_new_module_tests()
