"""Modules at their edges: odd shapes, odd numbers, half types, places that weights come from."""

import copy
import io
import pickle

import torch
import torch.nn.functional as F
from programs.checks import devices, near, part, raises, same_as_on_the_cpu, two_devices
from torch import cuda, nn


def _both(f, *tensors, tolerance=1e-5):
    """Results and gradients of a function of floats."""
    here = [t.clone().requires_grad_() if t.is_floating_point() else t for t in tensors]
    there = [t.cuda().requires_grad_() if t.is_floating_point() else t.cuda() for t in tensors]
    a, b = f(*here), f(*there)
    assert b.is_cuda and a.shape == b.shape and a.dtype == b.dtype
    assert torch.allclose(a, b.cpu(), tolerance, tolerance, equal_nan=True), (a, b)
    if a.requires_grad:
        weights = torch.randn(a.shape, dtype=a.dtype)
        (a * weights).sum().backward(), (b * weights.cuda()).sum().backward()
        for x, y in zip(here, there, strict=True):
            if x.grad is not None:
                assert torch.allclose(x.grad, y.grad.cpu(), 10 * tolerance, 10 * tolerance, equal_nan=True), (
                    x.grad,
                    y.grad,
                )


def windows_see_what_is_no_number():
    nan, inf = float("nan"), float("inf")
    for bad in (nan, inf, -inf):
        for dims in (1, 2, 3):
            x = torch.full((1, 1, *[5] * dims), bad)
            x[(0, 0, *[0] * dims)] = 1
            for name in ("max_pool", "adaptive_max_pool", "avg_pool", "adaptive_avg_pool"):
                pool = getattr(F, f"{name}{dims}d")
                near(torch.nan_to_num(pool(x.cuda(), 2)), torch.nan_to_num(pool(x, 2)))
        x = torch.randn(1, 2, 6, 6)
        x[0, 0, 2, 3] = bad
        a, i = F.max_pool2d(x, 3, 2, 1, return_indices=True)
        b, j = F.max_pool2d(x.cuda(), 3, 2, 1, return_indices=True)
        assert torch.equal(i, j.cpu()) and torch.equal(torch.nan_to_num(a), torch.nan_to_num(b.cpu()))
    assert F.max_pool1d(torch.full((1, 1, 4), -inf).cuda(), 2).tolist() == [[[-inf, -inf]]]


def convolutions_take_tensors_as_they_lie():
    w = torch.randn(6, 3, 3, 3)
    for x in (
        torch.randn(2, 8, 3, 9).permute(0, 2, 1, 3), torch.randn(2, 3, 16, 9)[:, :, ::2], torch.randn(1, 3, 8, 9).expand(2, 3, 8, 9),
        torch.randn(2, 3, 8, 9).to(memory_format=torch.channels_last), torch.empty(2, 3, 8, 9).as_strided((2, 3, 8, 9), (1, 2, 6, 48)).normal_(),
    ):  # fmt: skip
        _both(lambda a, b: F.conv2d(a, b, padding=1), x, w, tolerance=1e-4)
        _both(lambda a, b: F.conv2d(a, b.transpose(2, 3), stride=2), x, w, tolerance=1e-4)
        _both(lambda a, b: F.conv_transpose2d(a, b.transpose(0, 1), dilation=2), x, w, tolerance=1e-4)
    # a batch of one with a stride that means nothing
    x = torch.randn(1, 3, 8, 9).as_strided((1, 3, 8, 9), (7, 72, 9, 1))
    _both(F.conv2d, x, w, tolerance=1e-4)
    # a gradient that does not lie together
    conv = nn.Conv2d(3, 4, 2)
    there = copy.deepcopy(conv).cuda()
    g = torch.randn(2, 3, 3, 4).permute(0, 3, 1, 2)
    y = torch.randn(2, 3, 4, 4)
    conv(y).backward(g), there(y.cuda()).backward(g.cuda())
    near(conv.weight.grad, there.weight.grad, 1e-4)
    near(conv.bias.grad, there.bias.grad, 1e-4)


def convolutions_of_groups_strides_and_nothing():
    for groups, stride, padding, dilation in ((1, 3, 2, 2), (2, 2, 0, 1), (4, 1, (1, 2), (2, 1)), (4, (2, 3), 1, 1)):
        x, w, b = torch.randn(2, 4, 9, 10), torch.randn(8, 4 // groups, 3, 2), torch.randn(8)
        _both(lambda a, w, b, k=(stride, padding, dilation, groups): F.conv2d(a, w, b, *k), x, w, b, tolerance=1e-4)
        t = torch.randn(4, 2, 3, 2)
        _both(
            lambda a, w, k=(stride, padding, 0, groups, dilation): F.conv_transpose2d(a, w, None, *k),
            x,
            t,
            tolerance=1e-4,
        )
    for name, dims in (("conv1d", 1), ("conv3d", 3)):
        x, w = torch.randn(2, 2, *[5] * dims), torch.randn(4, 1, *[2] * dims)
        _both(lambda a, b, name=name: getattr(F, name)(a, b, groups=2), x, w, tolerance=1e-4)
    half = nn.Conv2d(4, 8, 3, groups=2, bias=False)
    x = torch.randn(2, 4, 6, 6)
    there = copy.deepcopy(half).cuda().half()
    near(there(x.cuda().half()), half(x), 2e-2)
    empty = torch.randn(0, 3, 5, 5, device="cuda", requires_grad=True)
    conv = nn.Conv2d(3, 2, 3).cuda()
    y = conv(empty)
    y.sum().backward()
    assert y.shape == (0, 2, 3, 3) and empty.grad.shape == empty.shape and not conv.weight.grad.any()
    raises(RuntimeError, "", lambda: conv(torch.randn(1, 4, 5, 5, device="cuda")))
    raises(RuntimeError, "", lambda: conv(torch.randn(1, 3, 2, 2, device="cuda")))
    raises(RuntimeError, "", lambda: F.conv2d(torch.randn(1, 3, 5, 5).cuda(), conv.weight.double()))
    raises(RuntimeError, "", lambda: F.conv2d(torch.randn(1, 3, 5, 5).cuda(), conv.weight, conv.bias.double()))


def images_become_larger_and_smaller():
    for size in ((7, 9), (2, 3), (4, 5), (1, 1)):
        for mode in ("nearest", "bilinear", "bicubic", "area"):
            corners = [None] if mode in ("nearest", "area") else [False, True]
            for align in corners:
                _both(
                    lambda t, k=(size, None, mode, align): F.interpolate(t, *k), torch.randn(2, 3, 4, 5), tolerance=1e-4
                )
    for mode, align in (("nearest", None), ("trilinear", False), ("trilinear", True)):
        _both(
            lambda t, m=mode, a=align: F.interpolate(t, scale_factor=(2, 1.5, 0.5), mode=m, align_corners=a),
            torch.randn(1, 2, 3, 4, 6),
        )
    _both(lambda t: F.interpolate(t, 7, mode="linear", align_corners=False), torch.randn(2, 3, 4))
    _both(lambda t: F.interpolate(t, scale_factor=2.0), torch.randn(2, 3, 4))
    raises(
        (ValueError, RuntimeError, NotImplementedError),
        "",
        lambda: F.interpolate(torch.ones(1, 2, 3).cuda(), 4, mode="bilinear"),
    )


def borders_are_filled_and_patches_unfolded():
    x = torch.randn(2, 3, 4, 5)
    for mode in ("reflect", "replicate", "circular"):
        _both(lambda t, m=mode: F.pad(t, (1, 2, 3, 0), m), x)
        _both(lambda t, m=mode: F.pad(t, (2, 1), m), x[0])
        _both(lambda t, m=mode: F.pad(t, (1, 0, 1, 1, 0, 2), m), torch.randn(1, 2, 3, 4, 3))
    _both(lambda t: F.pad(t, (-1, 2, 0, -2, 1, 1), value=3.5), x)
    _both(lambda t: F.unfold(t, (2, 3), 2, 1, (1, 2)), x)
    _both(lambda t: F.fold(t, (4, 5), (2, 2), stride=(2, 1)), torch.randn(2, 12, 8))
    _both(lambda t: F.pixel_unshuffle(F.pixel_shuffle(t, 2), 2), torch.randn(1, 8, 2, 3))
    _both(lambda t: F.max_unpool1d(*F.max_pool1d(t, 2, return_indices=True), 2), torch.randn(1, 2, 6))
    raises(RuntimeError, "", lambda: F.pad(torch.ones(1, 1, 3).cuda(), (3, 3), "reflect"))


def losses_with_weights_and_classes_that_are_left_out():
    x, target = torch.randn(2, 4, 3, 3), torch.randint(4, (2, 3, 3))
    target[0, 1] = 2
    weight = torch.rand(4) + 0.1
    for reduction in ("none", "mean", "sum"):
        _both(
            lambda a, t, w, r=reduction: F.nll_loss(a.log_softmax(1), t, w, ignore_index=2, reduction=r),
            x,
            target,
            weight.double().float(),
        )
        _both(
            lambda a, t, r=reduction: F.cross_entropy(a, t, ignore_index=-100, reduction=r, label_smoothing=0.1),
            x,
            target,
        )
        p = torch.rand(3, 4)
        _both(lambda a, b, r=reduction: F.kl_div(a, b, reduction=r), torch.randn(3, 4), p)
        _both(
            lambda a, b, r=reduction: F.binary_cross_entropy(a.sigmoid(), b, b + 0.5, reduction=r), torch.randn(3, 4), p
        )
        _both(lambda a, b, r=reduction: F.smooth_l1_loss(a, b, reduction=r, beta=0.5), torch.randn(3, 4), p)
        _both(lambda a, b, r=reduction: F.mse_loss(a, b.expand(3, 4), reduction=r), torch.randn(3, 4), p[:1])
    _both(lambda a, b: F.kl_div(a, b, reduction="batchmean", log_target=True), torch.randn(3, 4), torch.randn(3, 4))
    assert F.cross_entropy(torch.zeros(2, 3).cuda(), torch.full((2,), -100).cuda()).isnan().item()
    raises(IndexError, "", lambda: F.nll_loss(torch.zeros(2, 3).cuda(), torch.tensor([0, 3]).cuda()).item())
    assert F.nll_loss(torch.zeros(2, 3).cuda(), torch.tensor([0, 2]).cuda()).item() == 0
    raises((ValueError, RuntimeError), "", lambda: F.nll_loss(torch.zeros(2, 3).cuda(), torch.tensor([0, 1, 2]).cuda()))


def ctc_with_blanks_elsewhere_and_targets_that_do_not_fit():
    scores = torch.randn(8, 3, 5).log_softmax(2)
    for blank in (0, 2, 4):
        targets = torch.tensor([c for c in range(5) if c != blank] * 2)[:6]
        for reduction in ("none", "mean", "sum"):
            _both(
                lambda s, t, k=(blank, reduction): F.ctc_loss(s, t, [8, 7, 6], [3, 2, 1], *k),
                scores,
                targets,
                tolerance=1e-4,
            )
    long = torch.randint(1, 5, (3, 7))
    a = F.ctc_loss(scores, long, [8, 4, 8], [2, 7, 3], reduction="none")
    b = F.ctc_loss(scores.cuda(), long.cuda(), [8, 4, 8], [2, 7, 3], reduction="none")
    assert a[1].item() == b[1].item() == float("inf")
    _both(lambda s, t: F.ctc_loss(s, t, [8, 4, 8], [2, 7, 3], zero_infinity=True), scores, long, tolerance=1e-4)


def batch_norm_without_weights_momentum_or_statistics():
    x = torch.randn(6, 3, 4)
    for kind in (
        lambda: nn.BatchNorm1d(3, affine=False), lambda: nn.BatchNorm1d(3, momentum=None), lambda: nn.BatchNorm1d(3, track_running_stats=False),
        lambda: nn.InstanceNorm1d(3, affine=True, track_running_stats=True), lambda: nn.GroupNorm(3, 3, affine=False), lambda: nn.BatchNorm1d(3, eps=0.1),
    ):  # fmt: skip
        here = kind()
        there = copy.deepcopy(here).cuda()
        for mode in (True, True, False):
            here.train(mode), there.train(mode)
            a, b = x.clone().requires_grad_(), x.cuda().requires_grad_()
            u, v = here(a), there(b)
            near(u, v)
            (u * x).sum().backward(), (v * x.cuda()).sum().backward()
            near(a.grad, b.grad, 1e-4)
        for s, t in zip(here.buffers(), there.buffers(), strict=True):
            near(s, t)
    norm = nn.BatchNorm2d(3, affine=False).cuda().half()
    assert norm(torch.randn(4, 3, 2, 2, device="cuda").half()).dtype == torch.half
    frozen = nn.BatchNorm1d(3).cuda().eval()
    y = torch.randn(2, 3, device="cuda", requires_grad=True)
    frozen(y).sum().backward()
    near(y.grad, torch.full((2, 3), 1 / (1 + 1e-5) ** 0.5))


def softmax_along_every_dim_and_dtype():
    x = torch.randn(3, 4, 5)
    x[0, 1] = float("-inf")
    for dim in (0, 1, 2, -1):
        for f in (F.softmax, F.log_softmax, F.softmin):
            for t in (x, x.double(), x.transpose(0, 2)):
                a, b = f(t, dim), f(t.cuda(), dim)
                assert torch.allclose(a, b.cpu(), 1e-5, 1e-6, equal_nan=True)
            near(
                f(x.cuda().half(), dim, dtype=torch.float32).nan_to_num(-9, -9, -9),
                f(x.half(), dim, dtype=torch.float32).nan_to_num(-9, -9, -9),
            )
        _both(lambda t, d=dim: F.log_softmax(t, d) * 2, torch.randn(2, 3, 4))
    assert F.softmax(torch.zeros(0, 3).cuda(), 1).shape == (0, 3) and F.softmax(torch.zeros(3, 0).cuda(), 0).shape == (
        3,
        0,
    )
    assert F.softmax(torch.tensor(3.0).cuda(), 0).item() == 1
    near(F.softmax(torch.randn(2, 5000).cuda() * 100, 1).sum(1), torch.ones(2), 1e-4)
    hard = F.gumbel_softmax(torch.randn(50, 7, device="cuda", requires_grad=True), hard=True)
    assert (hard.detach().sum(1) == 1).all().item() and (hard.max(1)[0] == 1).all().item()


def activations_write_over_their_inputs():
    x = torch.randn(4, 5)
    for f in (
        F.relu_, F.leaky_relu_, lambda t: F.elu_(t, 0.5), lambda t: F.threshold_(t, 0.1, 2.0), lambda t: F.hardtanh_(t, -0.5, 0.5), F.selu_, F.celu_,
        lambda t: F.rrelu(t, 0.2, 0.2, training=True, inplace=True), lambda t: F.relu6(t, inplace=True), lambda t: t.sigmoid_(), lambda t: t.tanh_(),
    ):  # fmt: skip
        _both(lambda t, f=f: f(t * 1), x)
        there = x.cuda()
        assert f(there).data_ptr() == there.data_ptr()
    y = torch.randn(3, device="cuda", requires_grad=True)
    z = y.exp()
    F.relu_(z.add_(0))
    raises(RuntimeError, "inplace", lambda: z.sum().backward())
    drop = nn.Dropout(0.5, inplace=True)
    kept = drop(torch.ones(4000, device="cuda"))
    assert set(kept.unique().tolist()) == {0.0, 2.0} and 1700 < (kept > 0).sum().item() < 2300
    planes = nn.Dropout2d(0.5)(torch.ones(8, 50, 3, 3, device="cuda")).flatten(2)
    assert ((planes == 0).all(2) | (planes == 2).all(2)).all().item()
    alpha = nn.AlphaDropout(0.3)(torch.randn(40_000, device="cuda"))
    assert abs(alpha.mean().item()) < 0.05 and abs(alpha.std().item() - 1) < 0.05


def recurrent_layers_without_bias_with_states_and_mistakes():
    rnn = part("torch.nn.utils.rnn")
    for kind, options in (
        (nn.LSTM, {"bias": False, "num_layers": 2}), (nn.GRU, {"bias": False, "bidirectional": True}), (nn.RNN, {"nonlinearity": "relu", "batch_first": True}),
        (nn.LSTM, {"proj_size": 2}),
    ):  # fmt: skip
        here = kind(3, 4, **options)
        there = copy.deepcopy(here).cuda()
        x = torch.randn(5, 2, 3)
        sides = here.num_layers * (2 if here.bidirectional else 1)
        batch = 5 if here.batch_first else 2
        h = torch.randn(sides, batch, here.proj_size or 4)
        states = (h, torch.randn(sides, batch, 4)) if kind is nn.LSTM else (h,)
        a, b = [s.clone().requires_grad_() for s in states], [s.cuda().requires_grad_() for s in states]
        u, s = here(x, tuple(a) if kind is nn.LSTM else a[0])
        v, t = there(x.cuda(), tuple(b) if kind is nn.LSTM else b[0])
        s, t = (s[0], t[0]) if kind is nn.LSTM else (s, t)
        near(u, v)
        near(s, t)
        (
            (u.square().sum() + s.sum()).backward(retain_graph=True),
            (v.square().sum() + t.sum()).backward(retain_graph=True),
        )
        for p, q in [*zip(a, b, strict=True), *zip(here.parameters(), there.parameters(), strict=True)]:
            near(p.grad, q.grad, 1e-4)
        v.sum().backward()  # what was kept can be used again
        raises(
            RuntimeError,
            "",
            lambda m=there, x=x, k=kind: m(
                x.cuda(), (torch.zeros(9, 2, 4).cuda(),) * 2 if k is nn.LSTM else torch.zeros(9, 2, 4).cuda()
            ),
        )
        raises((RuntimeError, ValueError), "", lambda m=there: m(torch.zeros(5, 2, 7).cuda()))
    unsorted = rnn.pack_padded_sequence(torch.randn(5, 3, 3).cuda(), [2, 5, 1], enforce_sorted=False)
    out, lengths = rnn.pad_packed_sequence(nn.GRU(3, 4).cuda()(unsorted)[0])
    assert lengths.tolist() == [2, 5, 1] and not out[2:, 0].any().item() and out[4, 1].any().item()
    many = rnn.pad_sequence([torch.ones(2, 3).cuda(), torch.ones(4, 3).cuda()], batch_first=True, padding_value=-1)
    assert many.is_cuda and many.shape == (2, 4, 3) and many[0, 2:].eq(-1).all().item()
    one = rnn.pack_sequence([torch.arange(3.0).cuda(), torch.arange(2.0).cuda()])
    assert (
        one.data.tolist() == [0, 0, 1, 1, 2]
        and one.batch_sizes.tolist() == [2, 2, 1]
        and one.to("cpu").data.is_cuda is False
    )


def bags_with_nothing_in_them_and_weights_of_their_own():
    weight = torch.randn(7, 3)
    at, offsets = torch.tensor([1, 6, 6, 0, 2]), torch.tensor([0, 0, 2, 2, 5])
    for mode in ("sum", "mean", "max"):
        _both(lambda i, w, o, m=mode: F.embedding_bag(i, w, o, mode=m), at, weight, offsets)
        _both(lambda i, w, m=mode: F.embedding_bag(i, w, mode=m), at[:4].view(2, 2), weight)
    _both(
        lambda i, w, o, p: F.embedding_bag(i, w, o, mode="sum", per_sample_weights=p),
        at,
        weight,
        offsets,
        torch.rand(5),
    )
    _both(lambda i, w: F.embedding(i, w, padding_idx=6), torch.randint(7, (2, 3, 2)), weight)
    _both(lambda i, w: F.embedding(i, w, scale_grad_by_freq=True), torch.tensor([1, 1, 5]), weight)
    raises(IndexError, "7", lambda: F.embedding(torch.tensor([7]).cuda(), weight.cuda()).cpu())
    raises(RuntimeError, "", lambda: F.embedding(torch.tensor([1.0]).cuda(), weight.cuda()))
    assert F.embedding(torch.zeros(0, 2, dtype=torch.long).cuda(), weight.cuda()).shape == (0, 2, 3)
    e = nn.Embedding(5, 2, sparse=True).cuda()
    e(torch.tensor([[1, 1], [4, 1]], device="cuda")).sum().backward()
    assert e.weight.grad.coalesce().indices().tolist() == [[1, 4]] and e.weight.grad.coalesce().values().tolist() == [
        [3, 3],
        [1, 1],
    ]


def weights_are_loaded_from_anywhere_and_optimizers_follow():
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ParameterList([nn.Parameter(torch.ones(2))]))
    saved = net.state_dict()
    there = copy.deepcopy(net).cuda()
    kept = there[0].weight
    for i in devices():
        moved = {k: v.cuda(i) * 2 for k, v in saved.items()}
        there.load_state_dict(moved)
        assert there[0].weight is kept and kept.get_device() == 0 and torch.equal(kept.cpu(), saved["0.weight"] * 2)
    net.load_state_dict(there.state_dict())
    assert not net[0].weight.is_cuda and torch.equal(net[0].weight, kept.cpu()) and net[2][0].tolist() == [2, 2]
    raises(RuntimeError, "0.weight", lambda: there.load_state_dict({"0.weight": torch.ones(5, 5)}, strict=False))
    optimizer = torch.optim.SGD(net[:2].parameters(), lr=0.1, momentum=0.9)
    net.cuda()  # after the optimizer was made: it has the same parameters
    for _ in range(2):
        optimizer.zero_grad()
        net[:2](torch.ones(4, 3, device="cuda") + torch.arange(4.0, device="cuda")[:, None]).square().sum().backward()
        optimizer.step()
    state = optimizer.state_dict()["state"]
    assert all(s["momentum_buffer"].is_cuda for s in state.values()) and net[0].weight.grad.is_cuda
    other = torch.optim.SGD(net[:2].parameters(), lr=0.1, momentum=0.9)
    buffer = io.BytesIO()
    torch.save(optimizer.state_dict(), buffer)
    buffer.seek(0)
    other.load_state_dict(torch.load(buffer, map_location="cpu"))
    assert all(s["momentum_buffer"].is_cuda for s in other.state.values())  # state goes where its parameter is
    net[:2](torch.randn(4, 3, device="cuda")).square().sum().backward()
    other.step()


def weights_with_a_hook_are_saved_and_moved():
    utils = nn.utils
    m = utils.weight_norm(nn.Linear(4, 3), dim=0)
    x = torch.randn(2, 4)
    y = m(x)
    m.cuda()
    near(m(x.cuda()), y)
    again = pickle.loads(pickle.dumps(m))
    assert torch.equal(again(x.cuda()), m(x.cuda())) and again.weight_g.is_cuda
    utils.remove_weight_norm(m)
    assert torch.allclose(m(x.cuda()), again(x.cuda()), atol=1e-6) and m.weight.is_cuda
    s = utils.spectral_norm(nn.Linear(4, 3)).cuda()
    for _ in range(30):
        s(x.cuda())
    near(torch.linalg.svdvals(s.eval().weight.detach().cpu())[0], torch.ones(()), 1e-3)
    assert s.weight_u.is_cuda and not s.weight_u.requires_grad
    if len(devices()) > 1:
        d = nn.DataParallel(utils.spectral_norm(nn.Linear(4, 3)).cuda(), [0, 1])
        before = d.module.weight_u.clone()
        d(torch.randn(4, 4, device="cuda")).sum().backward()
        assert d.module.weight_orig.grad is not None and not torch.equal(before, d.module.weight_u)


def modules_go_where_to_says():
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    raises(TypeError, "", lambda: net.to(torch.long))
    raises(TypeError, "", lambda: net.to("cuda", torch.int32))
    for i in devices():
        d = torch.device("cuda", i)
        for given, dtype in (
            ((d,), torch.float),
            ((d, torch.half), torch.half),
            ((torch.ones(1, device=d).double(),), torch.double),
            ((torch.float,), torch.float),
        ):
            net.to(*given)
            assert (
                net[0].weight.device == d
                and net[0].weight.dtype == net[1].running_mean.dtype == dtype
                and net[1].num_batches_tracked.dtype == torch.long
            )
    net.cpu().share_memory()
    assert net[0].weight.is_shared() and net.cuda()[0].weight.is_shared()
    net.apply(lambda m: m.weight.data.fill_(2) if hasattr(m, "weight") else None)
    assert net[0].weight.sum().item() == 8
    net[0].weight.data = torch.zeros(2, 2, device="cuda")
    assert net(torch.ones(2, 2, device="cuda")).shape == (2, 2)
    raises(RuntimeError, "cuda:0", lambda: net(torch.ones(2, 2)))
    assert (
        nn.Linear(2, 2, device="cuda").weight.is_cuda
        and nn.LSTM(2, 2, device="cuda", dtype=torch.double).weight_ih_l0.dtype == torch.double
    )


def transformers_and_attention_with_masks():
    torch.manual_seed(1)
    attention = nn.MultiheadAttention(8, 2, bias=True)
    there = copy.deepcopy(attention).cuda()
    x, memory = torch.randn(5, 2, 8), torch.randn(4, 2, 8)
    lost = torch.tensor([[False, False, False, True], [False, True, False, False]])
    causal = torch.triu(torch.full((5, 5), float("-inf")), 1)
    for args, kwargs in (
        ((x, x, x), {"attn_mask": causal}), ((x, memory, memory), {"key_padding_mask": lost}), ((x, memory, memory), {"need_weights": False}),
    ):  # fmt: skip
        moved = {k: v.cuda() if torch.is_tensor(v) else v for k, v in kwargs.items()}
        a, w = attention(*args, **kwargs)
        b, u = there(*[t.cuda() for t in args], **moved)
        near(a, b, 1e-4)
        if w is not None:
            near(w, u, 1e-4)
    net = nn.Transformer(8, 2, 1, 1, 16, dropout=0)
    same_as_on_the_cpu(net, x, memory, tolerance=2e-4)


def a_model_on_two_devices_trains_as_on_one():
    two_devices()

    class Halves(nn.Module):
        def __init__(self, places):
            super().__init__()
            self.places = places
            self.a, self.b = nn.Linear(4, 8).to(places[0]), nn.Linear(8, 1).to(places[1])

        def forward(self, x):
            return self.b(self.a(x.to(self.places[0])).tanh().to(self.places[1]))

    torch.manual_seed(3)
    split, whole = Halves(("cuda:0", "cuda:1")), Halves(("cpu", "cpu"))
    whole.load_state_dict(split.state_dict())
    x, t = torch.randn(6, 4), torch.randn(6, 1)
    for kind in (torch.optim.Adam, torch.optim.RMSprop, torch.optim.SGD):
        optimizers = [kind(m.parameters(), lr=0.05) for m in (split, whole)]
        for _ in range(3):
            for m, o in zip((split, whole), optimizers, strict=True):
                o.zero_grad()
                F.mse_loss(m(x), t.to(m.places[1])).backward()
                nn.utils.clip_grad_norm_(m.parameters(), 0.5)
                o.step()
    for p, q in zip(split.parameters(), whole.parameters(), strict=True):
        near(p, q, 1e-3)
    assert (
        split.a.weight.grad.get_device() == 0 and split.b.weight.grad.get_device() == 1 and cuda.current_device() == 0
    )
