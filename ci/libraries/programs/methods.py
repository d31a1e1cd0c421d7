"""Meta-learning, curvature, flows of ODEs, warm-up, short attention, and networks for tables."""

import torch
from common import fill, gradients, numbers, train, whole

DISTRIBUTIONS = ["torchopt", "curvlinops-for-pytorch", "torchdyn", "pytorch-warmup", "sparsemax", "linformer", "axial-attention", "product-key-memory", "rtdl_revisiting_models", "rtdl_num_embeddings"]  # fmt: skip


def meta_learning():
    import torchopt

    net = fill(torch.nn.Linear(3, 1))
    optimizer = torchopt.MetaSGD(net, lr=0.1)
    scale = torch.tensor(1.0, requires_grad=True)
    optimizer.step((net(numbers(4, 3)) * scale).square().mean())
    loss = net(numbers(4, 3, seed=1)).square().mean()
    return loss, torch.autograd.grad(loss, scale)[0]


def functional_optimizers():
    import torchopt

    weights = (numbers(3), numbers(2, 2))
    method = torchopt.adam(lr=0.1)
    state = method.init(weights)
    updates, state = method.update(tuple(2 * w for w in weights), state, inplace=False)
    return torchopt.apply_updates(weights, updates, inplace=False)


def curvature():
    from curvlinops import GGNLinearOperator, HessianLinearOperator

    net, loss = (
        fill(torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))),
        torch.nn.MSELoss(),
    )
    weights, data = list(net.parameters()), [(numbers(5, 3), numbers(5, 2))]
    v = numbers(sum(p.numel() for p in weights))
    return [kind(net, loss, weights, data) @ v for kind in (HessianLinearOperator, GGNLinearOperator)]


def flows():
    from torchdyn.core import NeuralODE

    net = fill(torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2)))
    ode = NeuralODE(net, sensitivity="autograd", solver="rk4", return_t_eval=False)
    out = ode(numbers(3, 2), torch.linspace(0, 1, 5))
    out.sum().backward()
    return out, gradients(net)


def warm_up():
    import pytorch_warmup

    optimizer = torch.optim.Adam([torch.nn.Parameter(torch.ones(1))], lr=1.0)
    warm, rates = pytorch_warmup.UntunedLinearWarmup(optimizer), []
    for _ in range(3):
        optimizer.step()
        with warm.dampening():
            pass
        rates.append(optimizer.param_groups[0]["lr"])
    return rates


def attention():
    from axial_attention import AxialAttention
    from linformer import Linformer
    from product_key_memory import PKM
    from sparsemax import Sparsemax

    lin = fill(Linformer(dim=16, seq_len=8, depth=1, heads=2, k=4))
    axial = fill(AxialAttention(dim=8, dim_index=1, heads=2, num_dimensions=2))
    memory = fill(PKM(16, heads=2, num_keys=8, topk=4)).eval()
    x = numbers(2, 8, 16)
    out = [lin(x), axial(numbers(1, 8, 4, 4)), memory(x), Sparsemax(dim=-1)(x)]
    sum(o.sum() for o in out).backward()
    return out, gradients(lin), gradients(axial)


def tables():
    from rtdl_num_embeddings import PeriodicEmbeddings, PiecewiseLinearEmbeddings, compute_bins
    from rtdl_revisiting_models import MLP, FTTransformer, ResNet

    x = numbers(6, 3)
    nets = [
        fill(MLP(d_in=3, d_out=1, n_blocks=2, d_block=8, dropout=0.0)),
        fill(
            ResNet(
                d_in=3, d_out=1, n_blocks=1, d_block=8, d_hidden=8, d_hidden_multiplier=None, dropout1=0.0, dropout2=0.0
            )
        ),
    ]
    tokens = fill(
        FTTransformer(
            n_cont_features=3, cat_cardinalities=[4], d_out=1, n_blocks=1, d_block=16, attention_n_heads=2, attention_dropout=0.0,
            ffn_d_hidden=16, ffn_d_hidden_multiplier=None, ffn_dropout=0.0, residual_dropout=0.0,
        )
    )  # fmt: skip
    embedded = fill(PiecewiseLinearEmbeddings(compute_bins(numbers(50, 3), n_bins=4), 4, activation=False, version="B"))
    waves = fill(PeriodicEmbeddings(3, 4, lite=False))
    return [n(x) for n in nets], tokens(x, whole(4, 6, 1)), embedded(x), waves(x)


def training():
    net = fill(torch.nn.Linear(4, 2))
    return train(net, lambda: net(numbers(3, 4)).square().mean())
