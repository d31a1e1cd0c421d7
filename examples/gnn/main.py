"""Communities of a network, learned from a few members: a graph convolutional network (Kipf 2017).

The graph is made: members of a community know each other more often than others, and what is said of each is mostly noise.

python main.py
python main.py --without-graph    # what can be told from the members by themselves
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn, optim

sys.path.append(str(Path(__file__).resolve().parents[1] / "common"))

from course import Course, options


def made_graph(members: int, communities: int, features: int, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Edges (2, E) in both directions, features (members, features), and the community of each member."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.arange(members) % communities
    same = labels[:, None] == labels
    chance = torch.where(same, 7.0 / (members / communities), 5.0 / members)
    known = torch.rand(members, members, generator=generator).triu(1) < chance.triu(1)
    one, other = known.nonzero(as_tuple=True)
    edges = torch.stack([torch.cat([one, other]), torch.cat([other, one])])
    marks = torch.randn(communities, features, generator=generator)
    return edges, marks[labels] + 3 * torch.randn(members, features, generator=generator), labels


def propagation(edges: Tensor, members: int) -> Tensor:
    """D^-1/2 (A + I) D^-1/2 as a sparse tensor: each member beside its neighbours, by their numbers of edges."""
    loops = torch.arange(members)
    index = torch.cat([edges, torch.stack([loops, loops])], 1)
    degree = torch.bincount(index[0], minlength=members).float()
    weight = (degree[index[0]] * degree[index[1]]).rsqrt()
    return torch.sparse_coo_tensor(index, weight, (members, members)).coalesce()


class GraphConvolution(nn.Module):
    """X to P X W: what the neighbours say, weighed."""

    def __init__(self, into: int, out: int) -> None:
        super().__init__()
        self.weight = nn.Linear(into, out)

    def forward(self, x: Tensor, spread: Tensor | None) -> Tensor:
        h: Tensor = self.weight(x)
        return h if spread is None else torch.sparse.mm(spread, h)


class Net(nn.Module):
    def __init__(self, features: int, hidden: int, communities: int) -> None:
        super().__init__()
        self.first, self.second = GraphConvolution(features, hidden), GraphConvolution(hidden, communities)

    def forward(self, x: Tensor, spread: Tensor | None) -> Tensor:
        h = F.dropout(torch.relu(self.first(x, spread)), 0.3, self.training)
        return self.second(h, spread)


def main() -> float:
    parser = options(__doc__, "gnn.pt", epochs=8)
    parser.add_argument("--members", type=int, default=800)
    parser.add_argument("--communities", type=int, default=5)
    parser.add_argument("--known", type=int, default=8, help="members of each community whose community is known")
    parser.add_argument("--without-graph", action="store_true")
    parser.add_argument("--updates", type=int, default=10, help="steps of an epoch, each on the whole graph")
    parser.add_argument("--lr", type=float, default=0.01)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    edges, features, labels = made_graph(args.members, args.communities, 24, args.seed)
    spread = None if args.without_graph else propagation(edges, args.members)
    known = torch.arange(args.members) < args.known * args.communities
    net = Net(24, 32, args.communities)
    adam = optim.Adam(net.parameters(), lr=args.lr, weight_decay=5e-4)
    course = Course(args, net=net, optimizer=adam)
    print(f"{args.members} members, {edges.shape[1] // 2} edges, {int(known.sum())} of known community")
    right = 0.0
    for _ in course.epochs():
        net.train()
        loss = torch.zeros(())
        for _ in course.batches(range(args.updates), args.updates):
            loss = F.cross_entropy(net(features, spread)[known], labels[known])
            adam.zero_grad()
            loss.backward()
            adam.step()
        net.eval()
        with torch.no_grad():
            right = (net(features, spread).argmax(1) == labels)[~known].float().mean().item()
        course.report(loss=loss.item(), others_right=right)
    return right


if __name__ == "__main__":
    main()
