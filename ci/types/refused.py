"""Calls that are wrong: type checkers must report each line that says so, and no other."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

t = torch.ones(2, 3)
net = nn.Linear(2, 3)
nn.Linear("3", 4)  # wrong
nn.Linear(3)  # wrong
nn.Linear(2, out_feature=3)  # wrong
nn.Conv2d(1, 2, kernel_size="3")  # wrong
nn.Conv2d(1, 2, 3, strides=2)  # wrong
nn.Dropout(prob=0.5)  # wrong
nn.Embedding(10.5, 3)  # wrong
nn.ReLU(inplace="yes", slope=1)  # wrong
nn.CrossEntropyLoss(weights=t)  # wrong
nn.ModuleList([1, 2])  # wrong
torch.optim.Adam(net.parameters(), learning_rate=1e-3)  # wrong
torch.optim.SGD(net.parameters(), lr="fast")  # wrong
torch.optim.Adam(net.parameters(), betas=0.9)  # wrong
torch.optim.lr_scheduler.StepLR(net, 10)  # wrong
DataLoader(TensorDataset(t), batchsize=2)  # wrong
DataLoader(TensorDataset(t), batch_size="2")  # wrong
F.relu([1.0])  # wrong
F.cross_entropy(t)  # wrong
F.softmax(t, dims=1)  # wrong
torch.add(t)  # wrong
torch.sum(t, dims=1)  # wrong
torch.cat(t, t)  # wrong
t.reshap(2)  # wrong
t.view("2")  # wrong
torch.zeross(2)  # wrong
torch.linalg.inverse_of(t)  # wrong
nn.Linaer(2, 3)  # wrong
torch.optim.Adm(net.parameters())  # wrong
text: str = t.sum()  # wrong
size: str = t.size(0)  # wrong
nn.init.normal_(t, std="1")  # wrong
torch.save()  # wrong
torch.manual_seed("0")  # wrong
net.train(mode=1.5)  # wrong
net.register_buffer(3, t)  # wrong
net.parameters(recursive=False)  # wrong
net.load_state_dict()  # wrong
name: str = nn.Parameter(t)  # wrong
moved: str = net.to("cpu")  # wrong
torch.compile(net, mood="fast")  # wrong


def fine(x: Tensor) -> Tensor:
    return x + 1
