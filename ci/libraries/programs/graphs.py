"""torch_geometric: layers on graphs, batches of graphs, pooling."""

import torch
from common import fill, gradients, numbers, reload, train, whole
from torch_geometric import nn
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader
from torch_geometric.utils import add_self_loops, degree, softmax, to_dense_adj, to_undirected

DISTRIBUTIONS = ("torch-geometric",)


def _graph(seed=0):
    return Data(x=numbers(6, 4, seed=seed), edge_index=whole(6, 2, 12, seed=seed), y=torch.tensor([seed % 2]))


def layers():
    g = _graph()
    kinds = (
        nn.GCNConv(4, 3),
        nn.GATConv(4, 3, heads=2),
        nn.SAGEConv(4, 3),
        nn.GINConv(torch.nn.Linear(4, 3)),
        nn.TransformerConv(4, 3),
        nn.ChebConv(4, 3, 2),
    )
    return [fill(kind)(g.x, g.edge_index) for kind in kinds]


def batches():
    batch = Batch.from_data_list([_graph(i) for i in range(3)])
    return (
        batch.x,
        batch.edge_index,
        batch.batch,
        batch.num_graphs,
        [d.x for d in DataLoader([_graph(i) for i in range(4)], 2)],
    )


def pooling():
    batch = Batch.from_data_list([_graph(i) for i in range(3)])
    return [pool(batch.x, batch.batch) for pool in (nn.global_mean_pool, nn.global_max_pool, nn.global_add_pool)]


def utilities():
    e = _graph().edge_index
    return to_undirected(e), add_self_loops(e)[0], degree(e[0], 6), to_dense_adj(e), softmax(numbers(12), e[0])


class _Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.GCNConv(4, 8), torch.nn.Linear(8, 2)

    def forward(self, batch):
        return self.last(nn.global_mean_pool(self.first(batch.x, batch.edge_index).relu(), batch.batch))


def training():
    net, batch = fill(_Net()), Batch.from_data_list([_graph(i) for i in range(4)])
    return train(net, lambda: torch.nn.functional.cross_entropy(net(batch), batch.y))


def gradient_of_messages():
    layer, g = fill(nn.GATv2Conv(4, 3, heads=2)), _graph()
    layer(g.x, g.edge_index).square().sum().backward()
    return gradients(layer)


def saved_and_loaded():
    batch = Batch.from_data_list([_graph(i) for i in range(2)])
    return reload(fill(_Net()), _Net())(batch)
