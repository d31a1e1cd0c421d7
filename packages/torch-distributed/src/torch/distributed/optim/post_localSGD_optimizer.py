"""An optimizer that steps on each rank by itself and averages the models now and then."""

import torch

__all__ = ["PostLocalSGDOptimizer"]


class PostLocalSGDOptimizer(torch.optim.Optimizer):
    """``optim``, whose steps are followed by ``averager``; with ``post_localSGD_hook`` on the model."""

    def __init__(self, optim, averager):
        self.optim, self.averager = optim, averager
        self.param_groups = optim.param_groups

    @property
    def state(self):
        return self.optim.state

    def __repr__(self):
        return f"PostLocalSGDOptimizer({self.optim!r}, after {self.averager.step} steps)"

    def state_dict(self):
        """That of the optimizer, with the number of steps."""
        return self.optim.state_dict() | {"step": self.averager.step}

    def load_state_dict(self, state_dict):
        self.optim.load_state_dict({name: value for name, value in state_dict.items() if name != "step"})
        self.param_groups = self.optim.param_groups
        self.averager.step = state_dict.get("step", 0)

    def step(self, closure=None):
        """Step, and average if it is time to."""
        loss = self.optim.step() if closure is None else self.optim.step(closure)
        self.averager.average_parameters(self.param_groups)
        return loss

    def zero_grad(self, set_to_none: bool = True):
        self.optim.zero_grad(set_to_none)

    def add_param_group(self, param_group):
        self.optim.add_param_group(param_group)
