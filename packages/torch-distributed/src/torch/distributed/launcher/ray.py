"""Ranks as actors of Ray: on whatever machines its cluster has, and started again when one fails.

::

    from torch.distributed.launcher.ray import run

    results = run(train, 8, arguments=(0.1,), resources={"num_cpus": 2}, max_restarts=1)

``train`` calls ``init_process_group()`` as under ``torchrun``.  Ray comes from the ``ray`` wheel and is started with
``ray start`` or ``ray.init``.
"""

import os
import socket

__all__ = ["run"]


def _ray():
    try:
        import ray
    except ImportError as error:
        raise RuntimeError(f"torch.distributed.launcher.ray needs Ray ({error}): pip install ray") from None
    return ray


class _Rank:
    """The actor; Ray makes one process of each."""

    def address(self):
        """(a name of the machine, a port that is free on it just now)."""
        with socket.socket() as free:
            free.bind(("", 0))
            port = free.getsockname()[1]
        import ray

        return ray.util.get_node_ip_address(), port

    def run(self, variables, function, arguments, keywords):
        os.environ.update(variables)
        return function(*arguments, **keywords)


def _environment(nodes, rank, address, attempt):
    """What ``env://`` and libraries look for, as ``torchrun`` sets it."""
    node = nodes[rank]
    machines = list(dict.fromkeys(nodes))
    local = nodes[:rank].count(node)
    return {
        "RANK": str(rank), "WORLD_SIZE": str(len(nodes)), "LOCAL_RANK": str(local),
        "LOCAL_WORLD_SIZE": str(nodes.count(node)), "GROUP_RANK": str(machines.index(node)),
        "GROUP_WORLD_SIZE": str(len(machines)), "MASTER_ADDR": address[0], "MASTER_PORT": str(address[1]),
        "TORCHELASTIC_RESTART_COUNT": str(attempt),
    }  # fmt: skip


def run(
    function,
    ranks: int,
    *,
    arguments=(),
    keywords=None,
    resources=None,
    strategy: str = "PACK",
    max_restarts: int = 0,
    placement_timeout: float = 600.0,
) -> list:
    """Call ``function`` in ``ranks`` processes of a Ray cluster; the results by rank.

    Args:
        resources: of each rank, as ``ray.remote`` takes them: ``{"num_cpus": 2}``
        strategy: of the placement: PACK on few machines, SPREAD over many, or their STRICT forms
        max_restarts: how often all ranks are started anew after one has failed

    Raises RuntimeError when the resources do not come within ``placement_timeout`` seconds, and what the first rank that
    failed has raised, after the last restart.
    """
    ray = _ray()
    if not ray.is_initialized():
        ray.init(address=os.environ.get("RAY_ADDRESS"))
    resources = {"num_cpus": 1} | dict(resources or {})
    bundle = {"CPU": resources["num_cpus"]} | dict(resources.get("resources", {}))
    if "num_gpus" in resources:
        bundle["GPU"] = resources["num_gpus"]
    group = ray.util.placement_group([bundle] * ranks, strategy=strategy)
    try:
        try:
            ray.get(group.ready(), timeout=placement_timeout)
        except ray.exceptions.GetTimeoutError:
            raise RuntimeError(
                f"the Ray cluster has not had {ranks} times {bundle} within {placement_timeout:g} s; it has "
                f"{ray.cluster_resources()}"
            ) from None
        for attempt in range(max_restarts + 1):
            try:
                return _attempt(ray, group, function, ranks, arguments, keywords or {}, resources, attempt)
            except ray.exceptions.RayError as error:
                if attempt == max_restarts:
                    raise getattr(error, "cause", None) or error from None
                print(f"torch.distributed.launcher.ray: {error}\nrestart {attempt + 1} of {max_restarts}", flush=True)
    finally:
        ray.util.remove_placement_group(group)
    return []


def _attempt(ray, group, function, ranks, arguments, keywords, resources, attempt):
    strategies = ray.util.scheduling_strategies
    actors = [
        ray.remote(_Rank)
        .options(
            **resources,
            scheduling_strategy=strategies.PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=rank),
        )
        .remote()
        for rank in range(ranks)
    ]
    try:
        addresses = ray.get([actor.address.remote() for actor in actors])
        nodes = [host for host, _ in addresses]
        waiting = [
            actor.run.remote(_environment(nodes, rank, addresses[0], attempt), function, arguments, keywords)
            for rank, actor in enumerate(actors)
        ]
        order, done = list(waiting), {}
        while waiting:  # one by one, so that the first failure is seen while the others still wait for it
            ready, waiting = ray.wait(waiting)
            for reference in ready:
                done[reference] = ray.get(reference)
        return [done[reference] for reference in order]
    finally:
        for actor in actors:
            ray.kill(actor)
