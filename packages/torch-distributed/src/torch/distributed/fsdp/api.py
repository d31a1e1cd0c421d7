"""Settings of sharded training."""

import enum
from dataclasses import dataclass, field

import torch

__all__ = [
    "BackwardPrefetch", "CPUOffload", "CPUOffloadPolicy", "FullOptimStateDictConfig", "FullStateDictConfig",
    "LocalOptimStateDictConfig", "LocalStateDictConfig", "MixedPrecision", "MixedPrecisionPolicy", "OffloadPolicy",
    "OptimStateDictConfig", "OptimStateKeyType", "ShardedOptimStateDictConfig", "ShardedStateDictConfig",
    "ShardingStrategy", "StateDictConfig", "StateDictSettings", "StateDictType",
]  # fmt: skip


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """In which dtypes :func:`fully_shard` computes; parameters are kept in their own.

    Args:
        param_dtype: of the parameters that forward and backward see
        reduce_dtype: in which gradients are summed; that of the parameters unless given
        output_dtype: to which outputs of the module are cast
        cast_forward_inputs: whether floating inputs are cast to ``param_dtype``
    """

    param_dtype: torch.dtype | None = None
    reduce_dtype: torch.dtype | None = None
    output_dtype: torch.dtype | None = None
    cast_forward_inputs: bool = True


@dataclass
class OffloadPolicy:
    """Nothing is kept elsewhere."""


@dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """Pieces are kept in the CPU's memory, where they are anyway."""

    pin_memory: bool = True


@dataclass(frozen=True)
class MixedPrecision:
    """In which dtypes ``FullyShardedDataParallel`` computes."""

    param_dtype: torch.dtype | None = None
    reduce_dtype: torch.dtype | None = None
    buffer_dtype: torch.dtype | None = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True
    _module_classes_to_ignore: tuple = ()


@dataclass
class CPUOffload:
    """Parameters in the CPU's memory, where they are anyway."""

    offload_params: bool = False


class ShardingStrategy(enum.Enum):
    """What is cut over the ranks, and whether whole parameters are let go of between forward and backward."""

    FULL_SHARD = enum.auto()
    SHARD_GRAD_OP = enum.auto()
    NO_SHARD = enum.auto()
    HYBRID_SHARD = enum.auto()
    _HYBRID_SHARD_ZERO2 = enum.auto()


class BackwardPrefetch(enum.Enum):
    """Accepted; whole parameters are fetched when they are needed."""

    BACKWARD_PRE = enum.auto()
    BACKWARD_POST = enum.auto()


class StateDictType(enum.Enum):
    """Whether a state has whole tensors or pieces."""

    FULL_STATE_DICT = enum.auto()
    LOCAL_STATE_DICT = enum.auto()
    SHARDED_STATE_DICT = enum.auto()


class OptimStateKeyType(enum.Enum):
    """Whether parameters are known by name or by number."""

    PARAM_NAME = enum.auto()
    PARAM_ID = enum.auto()


@dataclass
class StateDictConfig:
    """How a model's state is made."""

    offload_to_cpu: bool = False


@dataclass
class FullStateDictConfig(StateDictConfig):
    """Whole tensors, with ``rank0_only`` only on rank 0."""

    rank0_only: bool = False


@dataclass
class LocalStateDictConfig(StateDictConfig):
    """Pieces without a word on the whole; they are refused."""


@dataclass
class ShardedStateDictConfig(StateDictConfig):
    """Pieces as DTensors."""

    _use_dtensor: bool = True


@dataclass
class OptimStateDictConfig:
    """How an optimizer's state is made."""

    offload_to_cpu: bool = True


@dataclass
class FullOptimStateDictConfig(OptimStateDictConfig):
    """Whole tensors, with ``rank0_only`` only on rank 0."""

    rank0_only: bool = False


@dataclass
class LocalOptimStateDictConfig(OptimStateDictConfig):
    """Pieces without a word on the whole; they are refused."""

    offload_to_cpu: bool = False


@dataclass
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    """Pieces as DTensors."""

    _use_dtensor: bool = True


@dataclass
class StateDictSettings:
    """The form of states that :meth:`FullyShardedDataParallel.set_state_dict_type` asks for."""

    state_dict_type: StateDictType = StateDictType.FULL_STATE_DICT
    state_dict_config: StateDictConfig = field(default_factory=FullStateDictConfig)
    optim_state_dict_config: OptimStateDictConfig = field(default_factory=FullOptimStateDictConfig)
