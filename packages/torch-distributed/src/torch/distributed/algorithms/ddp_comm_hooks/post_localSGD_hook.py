"""Steps on each rank by itself after a while, with models averaged now and then (Lin 2018, post-local SGD)."""

from torch.futures import Future

from .default_hooks import allreduce_hook

__all__ = ["PostLocalSGDState", "post_localSGD_hook"]


class PostLocalSGDState:
    """Until iteration ``start_localSGD_iter`` all ranks average gradients, afterwards those of ``subgroup``, or none."""

    def __init__(self, process_group, subgroup, start_localSGD_iter, post_local_gradient_allreduce=True):
        self.process_group, self.subgroup = process_group, subgroup
        self.start_localSGD_iter, self.post_local_gradient_allreduce = (
            start_localSGD_iter,
            post_local_gradient_allreduce,
        )
        self.iter = 0


def post_localSGD_hook(state: PostLocalSGDState, bucket):
    """For ``register_comm_hook``; ``PeriodicModelAverager`` averages the models."""
    local = state.iter >= state.start_localSGD_iter
    state.iter += bucket.is_last()
    if not local:
        return allreduce_hook(state.process_group, bucket)
    if not state.post_local_gradient_allreduce:
        future = Future()
        future.set_result(bucket.buffer())
        return future
    if state.subgroup is None:
        raise ValueError("PostLocalSGDState: subgroup is needed: the ranks of a machine, as new_subgroups() makes them")
    return allreduce_hook(state.subgroup, bucket)
