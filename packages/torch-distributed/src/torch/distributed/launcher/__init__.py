"""Starting jobs from a program: see :mod:`torch.distributed.run` and :func:`torch.multiprocessing.spawn`."""

from .api import LaunchConfig, elastic_launch, launch_agent

__all__ = ["LaunchConfig", "elastic_launch", "launch_agent"]
