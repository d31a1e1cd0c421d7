"""Functions with modes, writes in place and aliases, and modules (``compile_cases``)."""

import contextlib

import torch
from compile_cases import case, tensors
from torch import nn
from torch.nn import functional as F

# --- elements that are written ---


@case(lambda: [(torch.randn(3, 4), 0.1), (torch.randn(3, 4), 0.1), (torch.full((3, 4), -1.0), 0.1)], True)
def numbers_at_places():
    def f(x, least):
        y = x * 2
        y[y < least] = least
        y[:, y[0] > 0.5] = 3
        y[0, 1] = 7.5
        y[1:] = 1
        return y

    return f


@case(
    lambda: [(torch.randn(5, requires_grad=True), torch.tensor(float(i), requires_grad=True)) for i in range(4)], True
)
def tensor_at_a_mask():
    def f(x, v):
        y = x * 2
        y[y > 0] = v
        return y

    return f


# --- modes ---


@case(lambda: [(torch.randn(3, requires_grad=True),), (torch.randn(3),), (torch.randn(3, requires_grad=True),)], True)
def no_grad_within():
    def f(x):
        with torch.no_grad():
            y = x * 2
        return y + x, y, torch.is_grad_enabled()

    return f


@case(lambda: [(torch.randn(3, requires_grad=True),)] * 2, True)
def no_grad_decorator():
    @torch.no_grad()
    def g(x):
        return x * 2

    return lambda x: g(x) + x


@case(tensors((3, 4)), True)
def dropout():
    return lambda x: F.dropout(x, 0.5, True) + torch.rand(4) + torch.randn_like(x)


@case(tensors((3, 4)), False)
def seeds():
    def f(x):
        torch.manual_seed(3)
        return x + torch.rand(4)

    return f


@case(tensors((3, 4)), False)
def own_generator():
    g = torch.Generator().manual_seed(1)
    return lambda x: x + torch.rand(4, generator=g)


@case(tensors((3, 4)), None)
def nullcontext():
    def f(x):
        with contextlib.nullcontext():
            return x + 1

    return f


# --- in place, views and aliases ---


@case(tensors((3, 4)), True)
def in_place_on_input():
    def f(x):
        x.mul_(2)
        x[0] = 7
        x[:, 1] += 1
        return x.sum()

    return f


@case(tensors((3, 4)), True)
def returns_its_input():
    return lambda x: (x, x.add_(1), x.view(-1), x[0])


@case(tensors((3, 4)), True)
def same_output_twice():
    def f(x):
        y = x + 1
        return y, y, [y], y.t()

    return f


@case(lambda: [(x, x) for x in [torch.ones(2, 2)] * 2] + [(torch.ones(2, 2), torch.ones(2, 2))] * 2, True)
def one_tensor_twice():
    def f(a, b):
        a.add_(1)
        return a + b, a is b

    return f


@case(lambda: [(x, x[0]) for x in [torch.ones(2, 2), torch.ones(2, 2)]] + [(torch.ones(2, 2), torch.ones(2))], True)
def overlapping_inputs():
    def f(a, b):
        a.mul_(3)
        return b + 1

    return f


@case(tensors((3,)), True)
def fresh_constant():
    def f(x):
        c = torch.tensor([1.0, 2.0, 3.0])
        c += 1
        return x + c, c

    return f


@case(tensors((3,)), None)
def writes_to_captured():
    total = torch.zeros(3)

    def f(x):
        total.add_(x.detach())
        return total * 2

    return f


@case(tensors((3,)), False)
def sets_grad_flag():
    def f(x):
        y = x * 2
        y.requires_grad_()
        return y.requires_grad, y

    return f


@case(tensors((3,)), True)
def data_attribute():
    def f(x):
        x.data.add_(1)
        return x * 2

    return f


@case(tensors((2, 3), (3, 4)), True)
def summed_products():
    return lambda a, b: torch.einsum("ij,jk->ik", a, b)


# --- modules ---


@case(tensors((2, 3)), True)
def linear():
    return nn.Linear(3, 4)


@case(tensors((4, 3)), True)
def batch_norm():
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Dropout(0.3))


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(3, 3) for _ in range(3))
        self.heads = nn.ModuleDict({"a": nn.Linear(3, 1), "b": nn.Linear(3, 2)})
        self.register_buffer("count", torch.zeros(()))
        self.scale = nn.Parameter(torch.ones(3))
        self.__private = 2

    def forward(self, x, head="a"):
        self.count += 1
        for i, layer in enumerate(self.layers):
            x = F.relu(layer(x)) * self.scale + i
        x = super().__getattribute__("heads")[head](x) if False else self.heads[head](x)
        return x * self.__private if self.training else x


@case(lambda: [(torch.randn(2, 3),), (torch.randn(2, 3), "b"), (torch.randn(2, 3),)], True)
def module_tree():
    return Layers()


class Counted(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return x * self.calls


@case(tensors((2, 3)), False)
def module_counter():
    return Counted()


@case(tensors((2, 3)), True)
def module_hook():
    m = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    m[0].register_forward_hook(lambda module, args, out: out * 2)
    return m


class Child(Layers):
    def forward(self, x):
        return super().forward(x) + 1


@case(tensors((2, 3)), True)
def super_call():
    return Child()


@case(tensors((5, 2, 4)), None)
def lstm():
    m = nn.LSTM(4, 3, 2)
    return lambda x: m(x)


@case(tensors((5, 2, 8)), True)
def transformer():
    return nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1)


@case(lambda: [(torch.randn(2, 5), torch.tensor([1, 3])) for _ in range(2)], True)
def loss():
    m = nn.CrossEntropyLoss(label_smoothing=0.1)
    return lambda x, y: m(x, y) + F.mse_loss(x, x * 2)


@case(lambda: [(torch.randn(1, 3, 8, 8),)] * 2, True)
def convolution():
    return nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())


@case(lambda: [(torch.tensor([[1, 2], [3, 4]]),)] * 2, True)
def embedding():
    return nn.Sequential(nn.Embedding(5, 3), nn.LayerNorm(3))


@case(tensors((2, 3)), None)
def nested_compile():
    inner = torch.compile(lambda x: x * 2)
    return lambda x: inner(x) + inner(x + 1)


@case(tensors((2, 3)), False)
def disabled_within():
    @torch.compiler.disable
    def inner(x):
        return x * 2

    return lambda x: inner(x) + 1


@case(tensors((2, 3)), None)
def custom_function():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 3

    return lambda x: Double.apply(x) + 1


@case(lambda: [(torch.zeros(3, 3),), (torch.eye(3),), (torch.zeros(3, 3),)], False)
def caught_error_of_an_operator():
    def f(x):
        try:
            return torch.linalg.inv(x)
        except RuntimeError:
            return x - 1

    return f


@case(lambda: [(torch.tensor(1.0),), (torch.tensor(2.0),)], False)
def tensor_in_the_place_of_a_number():
    return lambda t: torch.full((3,), t)


@case(lambda: [(torch.ones(4), torch.tensor(1)), (torch.ones(4), torch.tensor(3))], False)
def tensor_as_an_index():
    def f(x, i):
        x = x * 2
        x[i] = 7
        return x, x[i]

    return f


@case(lambda: [(torch.randn(3, 3),)] * 3, True)
def graph_module_within():
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_function(torch.relu, (graph.call_function(torch.einsum, ("ij,jk->ik", x, x)),)))
    net = nn.Sequential(torch.fx.GraphModule({}, graph), nn.Tanh())
    return lambda x: net(x) + 1
