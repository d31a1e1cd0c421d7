"""Starting a job from a program: not there."""

from .._absent import fill

fill(
    globals(),
    "call torch.distributed.run.main([...]), or torch.multiprocessing.spawn",
    ["LaunchConfig", "elastic_launch"],
    ["launch_agent"],
)
