"""A pole on a cart is kept upright by what a network learns from its own attempts.

python main.py                             # REINFORCE (Williams 1992)
python main.py --algorithm actor-critic    # with a learned estimate of what is still to come
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn, optim
from torch.distributions import Categorical

sys.path.append(str(Path(__file__).resolve().parents[1] / "common"))

from cart_pole import CartPole
from course import Course, options


class Policy(nn.Module):
    """States (*, 4) to logits of the two actions (*, 2) and an estimate of the return (*)."""

    def __init__(self, hidden: int = 64) -> None:
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(4, hidden), nn.Tanh())
        self.action, self.value = nn.Linear(hidden, 2), nn.Linear(hidden, 1)

    def forward(self, state: Tensor) -> tuple[Tensor, Tensor]:
        h = self.trunk(state)
        return self.action(h), self.value(h).squeeze(-1)


def returns(rewards: list[float], gamma: float) -> Tensor:
    """What is still to come at each step: G_t = r_t + gamma G_(t+1)."""
    total, found = 0.0, []
    for reward in reversed(rewards):
        total = reward + gamma * total
        found.append(total)
    return torch.tensor(found[::-1])


def attempt(world: CartPole, policy: Policy) -> tuple[Tensor, Tensor, list[float]]:
    """One episode: log probabilities of what was done (T), estimates (T), rewards."""
    state, done = world.reset(), False
    logs, values, rewards = [], [], []
    while not done:
        logits, value = policy(state)
        chances = Categorical(logits=logits)
        action = chances.sample()
        state, reward, done = world.step(int(action))
        logs.append(chances.log_prob(action))
        values.append(value)
        rewards.append(reward)
    return torch.stack(logs), torch.stack(values), rewards


def main() -> float:
    parser = options(__doc__, "reinforce.pt", epochs=10)
    parser.add_argument("--algorithm", choices=["reinforce", "actor-critic"], default="reinforce")
    parser.add_argument("--episodes", type=int, default=40, help="attempts of an epoch")
    parser.add_argument("--gamma", type=float, default=0.99, help="how much a later reward counts")
    parser.add_argument("--lr", type=float, default=1e-2)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    world, policy = CartPole(), Policy()
    adam = optim.Adam(policy.parameters(), lr=args.lr)
    course = Course(args, policy=policy, optimizer=adam)
    mean = 0.0
    for _ in course.epochs():
        lengths = []
        for _ in course.batches(range(args.episodes), args.episodes):
            logs, values, rewards = attempt(world, policy)
            to_come = returns(rewards, args.gamma)
            if args.algorithm == "reinforce":
                advantage = (to_come - to_come.mean()) / (to_come.std(correction=0) + 1e-6)
                loss = -(logs * advantage).sum()
            else:
                scaled = to_come * (1 - args.gamma)  # at most 1, so that the estimate has a fixed scale
                loss = -(logs * (scaled - values.detach())).sum() + F.smooth_l1_loss(values, scaled, reduction="sum")
            adam.zero_grad()
            loss.backward()
            adam.step()
            lengths.append(len(rewards))
        mean = sum(lengths) / len(lengths)
        course.report(steps=mean, longest=max(lengths))
    return mean


if __name__ == "__main__":
    main()
