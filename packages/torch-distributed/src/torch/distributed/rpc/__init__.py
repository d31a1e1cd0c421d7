"""Calls of functions in other processes: not there.

Ranks exchange tensors and objects by collectives; a service calls another by HTTP, gRPC or Ray.
"""

from .._absent import fill

REASON = "exchange tensors and objects by collectives, or use a library for remote calls such as Ray or gRPC"


def is_available() -> bool:
    """False."""
    return False


fill(
    globals(),
    REASON,
    ["RRef", "WorkerInfo", "TensorPipeRpcBackendOptions", "RpcBackendOptions", "AllGatherStates"],
    ["init_rpc", "rpc_sync", "rpc_async", "remote", "shutdown", "get_worker_info"],
    {"BackendType": ["TENSORPIPE"]},
)
