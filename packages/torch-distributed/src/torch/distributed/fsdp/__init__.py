"""Parameters spread over ranks: not there; every rank holds the whole model (DistributedDataParallel)."""

from .._absent import fill

REASON = "parameters are whole on each rank; DistributedDataParallel and ZeroRedundancyOptimizer are there"
fill(
    globals(),
    REASON,
    ["FullyShardedDataParallel", "FSDPModule", "UnshardHandle", "CPUOffload", "CPUOffloadPolicy", "OffloadPolicy",
     "MixedPrecision", "MixedPrecisionPolicy", "FullStateDictConfig", "LocalStateDictConfig", "ShardedStateDictConfig",
     "StateDictConfig", "StateDictSettings", "OptimStateDictConfig", "FullOptimStateDictConfig",
     "LocalOptimStateDictConfig", "ShardedOptimStateDictConfig", "FlatParameter"],
    ["fully_shard", "register_fsdp_forward_method", "share_comm_ctx"],
    {
        "ShardingStrategy": ["FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD", "HYBRID_SHARD", "_HYBRID_SHARD_ZERO2"],
        "BackwardPrefetch": ["BACKWARD_PRE", "BACKWARD_POST"],
        "OptimStateKeyType": ["PARAM_NAME", "PARAM_ID"],
        "StateDictType": ["FULL_STATE_DICT", "LOCAL_STATE_DICT", "SHARDED_STATE_DICT"],
    },
)  # fmt: skip
