"""Modules and losses."""

import copy
import io

import torch
import torch.nn.functional as F
from programs.checks import devices, near, part, raises, same_as_on_the_cpu, two_devices
from torch import cuda, nn


def modules_are_moved_with_all_that_they_have():
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Sequential(nn.Linear(4, 2)))
    for i in devices():
        net.cuda(i)
        assert all(t.get_device() == i for t in [*net.parameters(), *net.buffers()])
        assert isinstance(net[0].weight.data, cuda.FloatTensor) and net.double()[1].running_mean.dtype == torch.double
        net.float().to(f"cuda:{i}", torch.half)
        assert net[0].bias.dtype == torch.half and net[1].num_batches_tracked.dtype == torch.int64
        net.float()
    assert not next(net.cpu().parameters()).is_cuda
    net.type(cuda.DoubleTensor)
    assert next(net.parameters()).type() == "torch.cuda.DoubleTensor"
    kept = net[0].weight
    net.cuda().cpu()
    assert net[0].weight is kept and net.to("cuda")[2][0].weight.is_cuda
    net.zero_grad()
    assert cuda.FloatTensor(1).get_device() == 0


def layers_compute_what_they_do_on_the_cpu():
    for module, *inputs in (
        (nn.Linear(5, 3), torch.randn(4, 5)),
        (nn.Conv1d(2, 4, 3, padding=1), torch.randn(2, 2, 7)),
        (nn.Conv2d(4, 6, 3, stride=2, groups=2), torch.randn(2, 4, 7, 7)),
        (nn.Conv3d(1, 2, 2), torch.randn(1, 1, 3, 4, 5)),
        (nn.ConvTranspose2d(3, 2, 3, stride=2, output_padding=1), torch.randn(1, 3, 4, 4)),
        (nn.Conv2d(2, 2, 3, dilation=2, padding=2), torch.randn(1, 2, 6, 6)),
        (nn.BatchNorm2d(3), torch.randn(4, 3, 2, 2)),
        (nn.BatchNorm1d(3, affine=False), torch.randn(4, 3)),
        (nn.GroupNorm(2, 4), torch.randn(2, 4, 3)),
        (nn.LayerNorm([3]), torch.randn(4, 3)),
        (nn.InstanceNorm2d(2), torch.randn(2, 2, 4, 4)),
        (nn.LocalResponseNorm(3), torch.randn(1, 4, 2, 2)),
        (nn.MaxPool2d(2, ceil_mode=True), torch.randn(1, 2, 5, 5)),
        (nn.AvgPool2d(3, padding=1), torch.randn(1, 2, 5, 5)),
        (nn.AdaptiveAvgPool2d((2, 3)), torch.randn(1, 2, 5, 7)),
        (nn.AdaptiveMaxPool1d(3), torch.randn(1, 2, 8)),
        (nn.LPPool2d(2, 2), torch.rand(1, 2, 4, 4)),
        (nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True), torch.randn(1, 2, 3, 3)),
        (nn.PixelShuffle(2), torch.randn(1, 4, 2, 2)),
        (nn.ReflectionPad2d(1), torch.randn(1, 1, 3, 3)),
        (nn.PReLU(2), torch.randn(3, 2)),
        (nn.Bilinear(2, 3, 4), torch.randn(5, 2), torch.randn(5, 3)),
        (nn.Embedding(6, 3, padding_idx=0), torch.tensor([[0, 2], [5, 0]])),
        (nn.CosineSimilarity(), torch.randn(3, 4), torch.randn(3, 4)),
        (nn.PairwiseDistance(), torch.randn(3, 4), torch.randn(3, 4)),
        (nn.Softmax2d(), torch.randn(1, 3, 2, 2)),
    ):  # fmt: skip
        same_as_on_the_cpu(module, *inputs)
    x, samples = torch.randn(1, 2, 8, 8), torch.full((1, 2, 2), 0.3)
    near(
        F.fractional_max_pool2d(x.cuda(), 2, output_ratio=0.5, _random_samples=samples.cuda()),
        F.fractional_max_pool2d(x, 2, output_ratio=0.5, _random_samples=samples),
    )


def losses_compute_what_they_do_on_the_cpu():
    x, t, c = torch.randn(6, 4), torch.randn(6, 4), torch.tensor([0, 3, 1, 1, 2, 0])
    sign = torch.where(t[:, 0] > 0, 1.0, -1.0)
    p = torch.rand(6, 4)
    for loss, *args in (
        (nn.MSELoss(), x, t), (nn.L1Loss(reduction="sum"), x, t), (nn.SmoothL1Loss(), x, t), (nn.CrossEntropyLoss(), x, c),
        (nn.CrossEntropyLoss(torch.rand(4), ignore_index=3), x, c), (nn.NLLLoss(reduction="none"), x, c), (nn.KLDivLoss(reduction="sum"), x, p),
        (nn.BCELoss(), p, p), (nn.BCEWithLogitsLoss(pos_weight=torch.rand(4)), x, p), (nn.HingeEmbeddingLoss(), x[:, 0], sign),
        (nn.MarginRankingLoss(), x[:, 0], t[:, 0], sign), (nn.CosineEmbeddingLoss(), x, t, sign), (nn.MultiMarginLoss(), x, c),
        (nn.MultiLabelSoftMarginLoss(), x, p.round()), (nn.SoftMarginLoss(), x[:, 0], sign), (nn.TripletMarginLoss(), x, t, p),
        (nn.PoissonNLLLoss(), x, p), (nn.MultiLabelMarginLoss(), x, torch.tensor([[1, 2, -1, 0]] * 6)),
    ):  # fmt: skip
        here = args[0].clone().requires_grad_()
        there = args[0].cuda().requires_grad_()
        a, b = loss(here, *args[1:]), copy.deepcopy(loss).cuda()(there, *[x.cuda() for x in args[1:]])
        near(a, b)
        a.sum().backward(), b.sum().backward()
        near(here.grad, there.grad)


def recurrent_layers_take_sequences_of_several_lengths():
    rnn = part("torch.nn.utils.rnn")
    for kind, bidirectional, layers in ((nn.RNN, False, 1), (nn.LSTM, True, 2), (nn.GRU, True, 1)):
        module, x = kind(3, 4, layers, bidirectional=bidirectional), torch.randn(5, 3, 3)
        lengths = [5, 4, 2]
        there = copy.deepcopy(module).cuda()
        a, _ = module(rnn.pack_padded_sequence(x, lengths))
        packed = rnn.pack_padded_sequence(x.cuda(), lengths)
        assert packed.is_cuda and packed.data.is_cuda and packed.cpu().data.is_cuda is False and packed.cuda().is_cuda
        b, _ = there(packed)
        a, n = rnn.pad_packed_sequence(a)
        b, m = rnn.pad_packed_sequence(b)
        assert n.tolist() == m.tolist() == lengths
        near(a, b)
        a.sum().backward(), b.sum().backward()
        for p, q in zip(module.parameters(), there.parameters(), strict=True):
            near(p.grad, q.grad, 1e-4)
        same_as_on_the_cpu(kind(3, 4, layers, batch_first=True, bidirectional=bidirectional), torch.randn(2, 4, 3))
    for cell in (nn.RNNCell(3, 4), nn.GRUCell(3, 4), nn.LSTMCell(3, 4)):
        same_as_on_the_cpu(cell, torch.randn(2, 3))


def dropout_of_a_recurrent_layer_draws_anew():
    lstm, x = nn.LSTM(4, 4, 2, dropout=0.5).cuda(), torch.randn(3, 2, 4, device="cuda")
    a, b = lstm(x)[0], lstm(x)[0]
    assert not torch.equal(a, b)
    lstm.eval()
    assert torch.equal(lstm(x)[0], lstm(x)[0])
    torch.manual_seed(3)
    lstm.train()
    a = lstm(x)[0]
    torch.manual_seed(3)
    assert torch.equal(lstm(x)[0], a)
    buffer = io.BytesIO()
    torch.save(lstm, buffer)
    buffer.seek(0)
    again = torch.load(buffer, weights_only=False)
    assert torch.equal(again.eval()(x)[0], lstm.eval()(x)[0])


def weights_that_are_no_longer_together_still_compute():
    two_devices()
    m = nn.LSTM(3, 3).cuda(0)
    with cuda.device(1):
        m2 = copy.deepcopy(m).cuda(1)
        y = m2(torch.ones(2, 1, 3).cuda(1))[0]
        assert y.get_device() == 1
    m.flatten_parameters()
    first = m.weight_ih_l0
    m.weight_hh_l0 = m.weight_ih_l0  # one weight twice
    x = torch.randn(4, 1, 3, device="cuda")
    m(x)[0].sum().backward()
    assert m.weight_hh_l0 is first and first.grad.abs().sum().item() > 0


def inputs_of_another_device_or_dtype_are_refused():
    conv, x = nn.Conv2d(1, 1, 2).cuda(), torch.ones(1, 1, 3, 3)
    raises(RuntimeError, "cuda:0", lambda: conv(x))
    raises(RuntimeError, "", lambda: conv(x.cuda().double()))
    raises(RuntimeError, "", lambda: F.conv2d(x.cuda(), conv.weight.cpu()))
    raises(RuntimeError, "cuda", lambda: nn.Linear(3, 2).cuda()(x))
    raises(RuntimeError, "cuda", lambda: nn.LSTM(3, 3).cuda()(torch.ones(2, 1, 3)))
    raises(RuntimeError, "cuda", lambda: F.cross_entropy(torch.ones(2, 3).cuda(), torch.tensor([0, 1])))
    raises(RuntimeError, "cuda", lambda: nn.Embedding(3, 2).cuda()(torch.tensor([1])))
    if len(devices()) > 1:
        raises(RuntimeError, "cuda:1", lambda: conv(x.cuda(1)))
        raises(RuntimeError, "cuda:1", lambda: nn.LSTM(3, 3).cuda()(torch.ones(2, 1, 3).cuda(1)))
    assert conv(x.cuda()).shape == (1, 1, 2, 2)


def half_precision_trains():
    norm = nn.BatchNorm2d(3).cuda()
    x = torch.randn(4, 3, 5, 5, device="cuda").half().requires_grad_()
    y = norm(x)  # statistics and weights are float32, the values half
    assert y.dtype == torch.half and norm.running_mean.dtype == torch.float32
    y.float().sum().backward()
    assert x.grad.dtype == torch.half and norm.weight.grad.dtype == torch.float32
    wide = nn.BatchNorm2d(3)(x.detach().float().cpu())
    near(y, wide, 5e-3)
    conv = nn.ConvTranspose2d(2, 3, 3).cuda().half()
    conv(torch.ones(1, 2, 4, 4, device="cuda").half()).sum().backward()
    assert conv.weight.grad.dtype == torch.half
    group = nn.GroupNorm(2, 4).cuda().half()
    assert group(torch.randn(2, 4, 3, device="cuda").half()).dtype == torch.half
    net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2)).cuda().half()
    loss = F.cross_entropy(net(torch.ones(3, 4, device="cuda").half()).float(), torch.tensor([0, 1, 0]).cuda())
    loss.backward()
    assert all(p.grad.dtype == torch.half and p.grad.isfinite().all() for p in net.parameters())


def batch_norm_in_evaluation_uses_what_it_has_seen():
    norm, x = nn.BatchNorm1d(4), torch.randn(16, 4) * 3 + 1
    there = copy.deepcopy(norm).cuda()
    for _ in range(3):
        norm(x), there(x.cuda())
    near(norm.running_var, there.running_var)
    assert there.num_batches_tracked.item() == 3
    near(norm.eval()(x), there.eval()(x.cuda()))
    y = F.batch_norm(x.cuda(), there.running_mean, there.running_var)
    assert y.is_cuda
    raises(ValueError, "", lambda: nn.BatchNorm1d(4).cuda()(torch.ones(1, 4).cuda()))


def embeddings_with_limits_and_bags():
    e = nn.Embedding(5, 3, max_norm=1.0).cuda()
    with torch.no_grad():
        e.weight.fill_(4)
    out = e(torch.tensor([1, 3], device="cuda"))
    assert (out.norm(dim=1) <= 1.001).all().item() and (e.weight[0] == 4).all().item()
    sparse = nn.Embedding(10, 4, sparse=True).cuda()
    sparse(torch.tensor([2, 2, 7], device="cuda")).sum().backward()
    assert sparse.weight.grad.is_sparse and sparse.weight.grad.to_dense()[2].tolist() == [2] * 4
    optimizer = torch.optim.SGD(sparse.parameters(), lr=0.5)
    before = sparse.weight[7].clone()
    optimizer.step()
    assert torch.allclose(sparse.weight[7], before - 0.5)
    padded = nn.Embedding(4, 2, padding_idx=1).cuda()
    padded(torch.tensor([1, 0], device="cuda")).sum().backward()
    assert padded.weight.grad[1].tolist() == [0, 0] and padded.weight.grad[0].tolist() == [1, 1]
    for mode in ("sum", "mean", "max"):
        here = nn.EmbeddingBag(10, 3, mode=mode)
        there = copy.deepcopy(here).cuda()
        at, offsets = torch.tensor([1, 2, 4, 5, 4, 3]), torch.tensor([0, 3, 3])
        near(here(at, offsets), there(at.cuda(), offsets.cuda()))


def images_are_sampled_and_transformed():
    x, grid = torch.randn(2, 3, 4, 5), torch.rand(2, 6, 6, 2) * 2.4 - 1.2
    for mode in ("zeros", "border"):
        near(
            F.grid_sample(x.cuda(), grid.cuda(), padding_mode=mode, align_corners=True),
            F.grid_sample(x, grid, padding_mode=mode, align_corners=True),
        )
    theta = torch.randn(2, 2, 3)
    near(
        F.affine_grid(theta.cuda(), (2, 3, 4, 4), align_corners=True),
        F.affine_grid(theta, (2, 3, 4, 4), align_corners=True),
    )
    y, places = F.max_pool2d(x.cuda(), 2, return_indices=True)
    a, b = F.max_pool2d(x, 2, return_indices=True)
    assert torch.equal(places.cpu(), b)
    near(F.max_unpool2d(y, places, 2, output_size=(4, 5)), F.max_unpool2d(a, b, 2, output_size=(4, 5)))


def sequences_are_aligned():
    torch.manual_seed(1)
    scores, targets = torch.randn(12, 2, 5).log_softmax(2), torch.tensor([[1, 2, 3], [4, 4, 0]])
    for lengths in (([12, 10], [3, 2]),):
        a = scores.clone().requires_grad_()
        b = scores.cuda().requires_grad_()
        here = F.ctc_loss(a, targets, *lengths)
        there = F.ctc_loss(b, targets.cuda(), *lengths)
        near(here, there)
        here.backward(), there.backward()
        near(a.grad, b.grad)
