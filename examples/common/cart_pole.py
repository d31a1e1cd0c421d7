"""A toy world in gym's manner: a pole on a cart."""

from __future__ import annotations

import math

import torch
from torch import Tensor


class CartPole:
    """A pole hinged to a cart that is pushed left or right 50 times a second (Barto, Sutton and Anderson 1983).

    `reset` and `step` are gym's: the state is position, speed, angle and angular speed; each step that the pole stands
    is worth 1; it ends beyond 2.4 m or 12 degrees, or after ``longest`` steps.
    """

    GRAVITY, CART, POLE, HALF, FORCE, TAU = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02

    def __init__(self, longest: int = 200) -> None:
        self.longest = longest

    def reset(self) -> Tensor:
        self.taken = 0
        self.state = torch.rand(4) * 0.1 - 0.05
        return self.state

    def step(self, action: int) -> tuple[Tensor, float, bool]:
        x, speed, angle, turn = self.state.tolist()
        push = self.FORCE if action == 1 else -self.FORCE
        mass = self.CART + self.POLE
        cos, sin = math.cos(angle), math.sin(angle)
        common = (push + self.POLE * self.HALF * turn**2 * sin) / mass
        bend = (self.GRAVITY * sin - cos * common) / (self.HALF * (4 / 3 - self.POLE * cos**2 / mass))
        pull = common - self.POLE * self.HALF * bend * cos / mass
        rates = torch.tensor([speed, pull, turn, bend])
        self.state = self.state + self.TAU * rates
        self.taken += 1
        fallen = abs(float(self.state[0])) > 2.4 or abs(float(self.state[2])) > math.radians(12)
        return self.state, 1.0, fallen or self.taken >= self.longest
