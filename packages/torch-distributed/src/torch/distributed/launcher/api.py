"""Starting a job from a program: a function, or a command, on as many ranks as a :class:`LaunchConfig` says.

A function is run in processes that are started anew: it and its arguments are pickled, and what it returns comes back
by the number of the rank.
"""

import multiprocessing.spawn
import pickle
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..elastic.multiprocessing.api import LogsSpecs

__all__ = ["LaunchConfig", "elastic_launch", "launch_agent"]

CALL = "call.pickle"


@dataclass
class LaunchConfig:
    """How many machines and processes, and where they meet; as the options of ``torchrun``.

    >>> LaunchConfig(min_nodes=1, max_nodes=1, nproc_per_node=2, rdzv_backend="static").max_restarts
    3
    """

    min_nodes: int
    max_nodes: int
    nproc_per_node: int
    logs_specs: Any = None
    run_id: str = ""
    role: str = "default_role"
    rdzv_endpoint: str = ""
    rdzv_backend: str = "etcd"
    rdzv_configs: dict[str, Any] = field(default_factory=dict)
    rdzv_timeout: int = -1
    max_restarts: int = 3
    monitor_interval: float = 0.1
    start_method: str = "spawn"
    log_line_prefix_template: str | None = None
    metrics_cfg: dict[str, str] = field(default_factory=dict)
    local_addr: str | None = None

    def __post_init__(self):
        if not 1 <= self.min_nodes <= self.max_nodes:
            raise ValueError(f"LaunchConfig: min_nodes={self.min_nodes} and max_nodes={self.max_nodes} are no range")
        if self.nproc_per_node < 1:
            raise ValueError(f"LaunchConfig: nproc_per_node={self.nproc_per_node} must be positive")
        if self.log_line_prefix_template is not None:
            raise NotImplementedError("LaunchConfig: log_line_prefix_template is not there; lines begin with [role0]:")
        if self.logs_specs is not None and not isinstance(self.logs_specs, LogsSpecs):
            raise TypeError(f"LaunchConfig: logs_specs must be a DefaultLogsSpecs, got {self.logs_specs!r}")

    def _options(self) -> list:
        least, most = self.min_nodes, self.max_nodes
        options = [
            f"--nnodes={most if least == most else f'{least}:{most}'}",
            f"--nproc-per-node={self.nproc_per_node}",
        ]
        options += [f"--rdzv-backend={self.rdzv_backend}", f"--role={self.role}", f"--max-restarts={self.max_restarts}"]
        options += [f"--monitor-interval={self.monitor_interval}", f"--start-method={self.start_method}"]
        conf = dict(self.rdzv_configs)
        node_rank = conf.pop("rank", None)
        if self.rdzv_timeout > 0:
            conf.setdefault("join_timeout", self.rdzv_timeout)
        if node_rank is not None and most > 1:
            options.append(f"--node-rank={node_rank}")
        if conf:
            options.append("--rdzv-conf=" + ",".join(f"{key}={value}" for key, value in conf.items()))
        if (logs := self.logs_specs) is not None:
            options += [f"--log-dir={logs.root_log_dir}"] if logs.root_log_dir is not None else []
            options += [f"--redirects={_text(logs._redirects)}", f"--tee={_text(logs._tee)}"]
            if logs._local_ranks_filter is not None:
                options.append(f"--local-ranks-filter={','.join(map(str, sorted(logs._local_ranks_filter)))}")
        options += [f"--rdzv-endpoint={self.rdzv_endpoint}"] if self.rdzv_endpoint else []
        return options + ([f"--rdzv-id={self.run_id}"] if self.run_id else [])


def _text(streams) -> str:
    """As options of ``torchrun`` say it."""
    if isinstance(streams, dict):
        return ",".join(f"{rank}:{int(std)}" for rank, std in streams.items()) or "0"
    return str(int(streams))


class elastic_launch:
    """``elastic_launch(config, entrypoint)(*args)``: what each rank of this machine returned, by its number.

    ``entrypoint`` is a function that can be pickled, or the name of a program; of a program nothing comes back.
    ChildFailedError when the job fails more often than ``max_restarts``.
    """

    def __init__(self, config: LaunchConfig, entrypoint, health_check_server=None):
        if health_check_server is not None:
            raise NotImplementedError("elastic_launch: health_check_server is not there")
        if not callable(entrypoint) and not isinstance(entrypoint, str):
            raise TypeError(f"elastic_launch: entrypoint must be a function or a program, got {entrypoint!r}")
        self._config, self._entrypoint = config, entrypoint

    def __call__(self, *args) -> dict:
        return launch_agent(self._config, self._entrypoint, list(args))


def launch_agent(config: LaunchConfig, entrypoint, args: list, health_check_server=None) -> dict:
    """Run a function or a program as a job, and return by rank what it returned on this machine."""
    if health_check_server is not None:
        raise NotImplementedError("launch_agent: health_check_server is not there")
    from .. import run

    if isinstance(entrypoint, str):
        run.run(run.parse_args([*config._options(), "--no-python", entrypoint, *map(str, args)]))
        return {}
    with tempfile.TemporaryDirectory(prefix="torch_launch_") as folder:
        call = Path(folder, CALL)
        try:
            call.write_bytes(pickle.dumps((entrypoint, tuple(args))))
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise TypeError(
                f"elastic_launch: {entrypoint!r} and its arguments must be pickled for processes that start anew: {error}"
            ) from None
        about_main = multiprocessing.spawn.get_preparation_data("launch")
        Path(folder, "main.pickle").write_bytes(
            pickle.dumps({k: v for k, v in about_main.items() if k.startswith(("init_main", "sys_path", "dir"))})
        )
        command = ["--module", "torch.distributed.launcher._called", folder]
        run.run(run.parse_args([*config._options(), *command]))
        found = {int(one.suffix[1:]): one for one in Path(folder).glob("result.*")}
        return {rank: pickle.loads(found[rank].read_bytes()) for rank in sorted(found)}
