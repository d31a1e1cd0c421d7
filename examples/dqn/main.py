"""A pole on a cart is kept upright by a network that estimates what each push is worth (Mnih 2015).

python main.py            # with two networks that check each other (van Hasselt 2016)
python main.py --single   # as in 2015
"""

from __future__ import annotations

import copy
import random
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn, optim

sys.path.append(str(Path(__file__).resolve().parents[1] / "common"))

from cart_pole import CartPole
from course import Course, options


class Memory:
    """The last ``capacity`` steps: state, action, reward, next state, whether the attempt ended there."""

    def __init__(self, capacity: int) -> None:
        self.table = torch.zeros(capacity, 11)
        self.seen = 0

    def __len__(self) -> int:
        return min(self.seen, len(self.table))

    def add(self, state: Tensor, action: int, reward: float, following: Tensor, ended: bool) -> None:
        numbers = torch.tensor([action, reward, float(ended)])
        self.table[self.seen % len(self.table)] = torch.cat([state, numbers, following])
        self.seen += 1

    def draw(self, count: int) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        rows = self.table[torch.randint(len(self), (count,))]
        return rows[:, :4], rows[:, 4].long(), rows[:, 5], rows[:, 7:], rows[:, 6]

    def state_dict(self) -> dict[str, object]:
        return {"table": self.table, "seen": self.seen}

    def load_state_dict(self, state: dict[str, object]) -> None:
        self.table, self.seen = state["table"], state["seen"]  # type: ignore[assignment]


def network(hidden: int = 64) -> nn.Sequential:
    """States (N, 4) to the worth of both pushes (N, 2)."""
    return nn.Sequential(nn.Linear(4, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 2))


def loss_of(net: nn.Module, target: nn.Module, memory: Memory, count: int, gamma: float, single: bool) -> Tensor:
    """How far the estimates are from r + gamma max_a Q(s', a), the worth of s' by the slower network."""
    state, action, reward, following, ended = memory.draw(count)
    estimate = net(state).gather(1, action[:, None]).squeeze(1)
    with torch.no_grad():
        later = target(following)
        best = later.max(1).values if single else later.gather(1, net(following).argmax(1, keepdim=True)).squeeze(1)
        wanted = reward + gamma * best * (1 - ended)
    return F.smooth_l1_loss(estimate, wanted)


def main() -> float:
    parser = options(__doc__, "dqn.pt", epochs=12)
    parser.add_argument("--single", action="store_true", help="the slower network also chooses the push")
    parser.add_argument("--episodes", type=int, default=20, help="attempts of an epoch")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--gamma", type=float, default=0.98, help="how much a later reward counts")
    parser.add_argument("--greed", type=float, default=0.9, help="share of pushes that are not random, in the end")
    parser.add_argument("--lr", type=float, default=1e-3)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    world, net, memory = CartPole(), network(), Memory(10_000)
    target = copy.deepcopy(net)
    adam = optim.Adam(net.parameters(), lr=args.lr)
    course = Course(args, net=net, target=target, optimizer=adam, memory=memory)
    mean = 0.0
    for epoch in course.epochs():
        dice = random.Random(args.seed * 1000 + epoch)
        greed = args.greed * min(1.0, epoch / 5)
        lengths = []
        for _ in course.batches(range(args.episodes), args.episodes):
            state, done = world.reset(), False
            while not done:
                greedy = dice.random() < greed
                with torch.no_grad():
                    action = int(net(state).argmax()) if greedy else dice.randrange(2)
                following, reward, done = world.step(action)
                memory.add(state, action, reward, following, done and world.taken < world.longest)
                state = following
                if len(memory) >= args.batch_size:
                    loss = loss_of(net, target, memory, args.batch_size, args.gamma, args.single)
                    adam.zero_grad()
                    loss.backward()
                    adam.step()
                    with torch.no_grad():
                        for slow, fast in zip(target.parameters(), net.parameters()):
                            slow.lerp_(fast, 0.01)
            lengths.append(world.taken)
        mean = sum(lengths) / len(lengths)
        course.report(steps=mean, longest=max(lengths))
    return mean


if __name__ == "__main__":
    main()
