"""Gradients across devices, modules on several of them, and numbers of half the width with scaled losses."""

import pytest
import torch
from test_devices import run

nn = pytest.importorskip("torch.nn")
F = nn.functional


def test_gradients_come_back_to_the_device_that_asks_for_them():
    x, y = torch.ones(3, requires_grad=True), torch.zeros(3, requires_grad=True)
    z = x.cuda() * 2
    z[1:].copy_(y[1:])
    z.sum().backward()
    assert x.grad.tolist() == [2, 0, 0] and y.grad.tolist() == [0, 1, 1]
    w = torch.ones(3, device="cuda", requires_grad=True)
    (w.cpu() * torch.arange(3.0)).sum().backward()
    assert w.grad.is_cuda and w.grad.tolist() == [0, 1, 2]


@pytest.mark.parametrize("settings", ["devices=2,guard", "devices=2,guard,order=3,lazy"])
def test_data_parallel_over_two_devices(settings):
    said = run(
        """
import copy, torch
from torch import nn
torch.manual_seed(0)
here = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8, affine=False).eval(), nn.ReLU(), nn.Linear(8, 2))
x = torch.randn(6, 4)
there = nn.DataParallel(copy.deepcopy(here).cuda())
a, b = here(x), there(x.cuda())
a.square().sum().backward(), b.square().sum().backward()
print(there.device_ids, b.device, torch.allclose(a, b.cpu(), atol=1e-5))
print(all(torch.allclose(p.grad, q.grad.cpu(), atol=1e-4) for p, q in zip(here.parameters(), there.parameters())))
""",
        settings,
    )
    assert said.split("\n")[:2] == ["[0, 1] cuda:0 True", "True"]


def test_autocast_and_scaled_losses():
    model, x = nn.Linear(4, 3).cuda(), torch.randn(5, 4, device="cuda")
    optimizer, scaler = torch.optim.SGD(model.parameters(), lr=0.1), torch.amp.GradScaler("cuda", init_scale=8.0)
    with torch.autocast("cuda"):
        y = model(x)
        assert y.dtype == torch.float16
    with torch.autocast("cuda", dtype=torch.bfloat16):
        assert (x @ x.t()).dtype == torch.bfloat16
    before = model.weight.detach().clone()
    scaler.scale(y.float().square().mean()).backward()
    assert model.weight.grad.dtype == torch.float32
    scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() == 8 and not torch.equal(model.weight, before)
    model.weight.grad.fill_(float("inf"))
    kept = model.weight.detach().clone()
    scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() == 4 and torch.equal(model.weight, kept)


@pytest.mark.parametrize("pad, value", [((1, 2), 0.0), ((1, 0, 2, 1), 3.0), ((-1, 1), 0.5)])
def test_padding_and_windows(pad, value):
    x = torch.arange(24.0).reshape(2, 3, 4)
    assert torch.equal(F.pad(x.cuda(), pad, value=value).cpu(), F.pad(x, pad, value=value))
    image = torch.arange(48.0).reshape(1, 2, 4, 6)
    here, there = image.clone().requires_grad_(), image.cuda().requires_grad_()
    a, b = F.unfold(here, 2, padding=1), F.unfold(there, 2, padding=1)
    assert torch.equal(b.detach().cpu(), a.detach())
    a.square().sum().backward(), b.square().sum().backward()
    assert torch.equal(there.grad.cpu(), here.grad)
    columns = a.detach()
    assert torch.equal(F.fold(columns.cuda(), (4, 6), 2, padding=1).cpu(), F.fold(columns, (4, 6), 2, padding=1))


@pytest.mark.parametrize("layer", [nn.RNN, nn.GRU, nn.LSTM])
def test_recurrent_layers(layer):
    torch.manual_seed(0)
    here, x = layer(3, 4, num_layers=2, bidirectional=True), torch.randn(5, 2, 3)
    y = here(x)[0].detach()
    assert torch.allclose(here.cuda()(x.cuda())[0].detach().cpu(), y, atol=1e-5)


def test_attention_and_a_layer_of_a_transformer():
    torch.manual_seed(0)
    q, layer = torch.randn(2, 5, 8), nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()

    def results(layer, q):
        attention = F.scaled_dot_product_attention
        return attention(q, q, q), attention(q, q, q, is_causal=True), layer(q)

    here = results(layer, q)
    there = results(layer.cuda(), q.cuda())
    assert all(torch.allclose(b.cpu(), a, atol=1e-5) for a, b in zip(here, there, strict=True))


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_bags_of_embeddings(mode):
    torch.manual_seed(0)
    here = nn.EmbeddingBag(10, 4, mode=mode)
    at, offsets, weight = torch.tensor([1, 2, 3, 3, 9]), torch.tensor([0, 2]), here.weight.detach().clone()
    there = nn.EmbeddingBag.from_pretrained(weight.cuda(), freeze=False, mode=mode)
    a, b = here(at, offsets), there(at.cuda(), offsets.cuda())
    assert torch.allclose(b.detach().cpu(), a.detach(), atol=1e-6)
    a.square().sum().backward(), b.square().sum().backward()
    assert torch.allclose(there.weight.grad.cpu(), here.weight.grad, atol=1e-5)


def test_older_words_for_devices_mean_what_they_say():
    said = run(
        """
        import torch
        x = torch.ones(3, device="cuda:0")
        print(x.new([0, 1, 2], device=1).device, x.new(2, device="cuda:1").device, x.new(2).device)
        with torch.cuda.device(1):
            print(x.type(torch.cuda.DoubleTensor).device, x.type("torch.FloatTensor").device, x.cpu().type(torch.cuda.FloatTensor).device)
        print(torch.cuda.comm.gather([x, x.cuda(1)], destination=-1).device)
        """,
        "devices=2",
    ).split()
    assert said == ["cuda:1", "cuda:1", "cuda:0", "cuda:0", "cpu", "cuda:1", "cpu"]


def test_sparse_tensors_are_broadcast_and_added_up():
    run(
        """
        import torch
        from torch.cuda import comm

        x = torch.sparse_coo_tensor([[0, 2]], [1.0, 2.0], (4,)).cuda()
        y = torch.ones(3, device="cuda")
        (a, b), (c, d) = comm.broadcast_coalesced([x, y], [0, 1])
        assert a is x and c.device.index == 1 and c.to_dense().tolist() == [1, 0, 2, 0] and d.tolist() == [1, 1, 1]
        total, = comm.reduce_add_coalesced([[x], [torch.sparse_coo_tensor([[1]], [5.0], (4,)).cuda(1)]])
        assert total.is_sparse and total.to_dense().tolist() == [1, 5, 2, 0]
        """,
        "devices=2",
    )


def test_the_device_of_a_gradient_is_the_current_one_in_functions_and_hooks():
    said = run(
        """
import torch

class ToOther(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.cuda(1) * 2

    @staticmethod
    def backward(ctx, grad):
        print("function", torch.cuda.current_device(), torch.zeros(1, device="cuda").device)
        return grad.cuda(0) * 2

x = torch.ones(2, device="cuda:0", requires_grad=True)
y = ToOther.apply(x)
z = y * 3
z.register_hook(lambda g: print("hook of a tensor", torch.cuda.current_device()))
z.grad_fn.register_prehook(lambda gs: print("hook before", torch.cuda.current_device()))
z.grad_fn.register_hook(lambda *_: print("hook after", torch.cuda.current_device()))
x.register_post_accumulate_grad_hook(lambda t: print("hook of a leaf", torch.cuda.current_device()))
z.sum().backward()
print(torch.cuda.current_device(), x.grad.tolist())
class Fails(ToOther):
    @staticmethod
    def backward(ctx, grad):
        raise ValueError("here")
try:
    Fails.apply(x).sum().backward()
except ValueError:
    print(torch.cuda.current_device())
""",
        "devices=2",
    )
    assert said.split("\n")[:7] == [
        "hook of a tensor 1",
        "hook before 1",
        "hook after 1",
        "function 1 cuda:1",
        "hook of a leaf 0",
        "0 [6.0, 6.0]",
        "0",
    ]


def test_a_gradient_on_another_device_is_refused_and_a_number_is_moved():
    said = run(
        """
        import torch

        class Elsewhere(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, g):
                return g.to("cuda:1")

        x, y = torch.ones(2, device="cuda:0", requires_grad=True), torch.tensor(1.0, device="cuda:0", requires_grad=True)
        try:
            Elsewhere.apply(x).sum().backward()
        except RuntimeError as error:
            print(error)
        Elsewhere.apply(y).backward()
        print(x.grad, y.grad.device)
        """,
        "devices=2",
    ).splitlines()
    assert "Elsewhere" in said[0] and "on cuda:1 but expected" in said[0] and "on cuda:0" in said[0]
    assert said[1] == "None cuda:0"
