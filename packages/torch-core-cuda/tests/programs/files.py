"""Files that remember devices."""

import io

import torch
from programs.checks import devices, part, raises
from torch import cuda, nn


def files_remember_the_device():
    part("torch.serialization")
    x = [torch.randn(4, 4).cuda(), torch.arange(3).cuda(), torch.randn(2).half().cuda()]
    for old in (False, True):
        f = io.BytesIO()
        torch.save(x, f, _use_new_zipfile_serialization=not old)
        f.seek(0)
        for a, b in zip(x, torch.load(f), strict=True):
            assert b.get_device() == a.get_device() and a.type() == b.type() and torch.equal(a, b)
    if len(devices()) > 1:
        f = io.BytesIO()
        y = [torch.randn(2, 2, device="cuda:1"), torch.randn(2, 2, device="cuda:0")]
        torch.save(y, f)
        f.seek(0)
        assert [t.get_device() for t in torch.load(f)] == [1, 0]
        with cuda.device(1):
            f.seek(0)
            assert [t.get_device() for t in torch.load(f)] == [1, 0]


def files_are_read_to_other_devices():
    part("torch.serialization")
    f = io.BytesIO()
    torch.save({"a": torch.ones(3, device="cuda"), "b": torch.zeros(2)}, f)

    def load(where):
        f.seek(0)
        return {k: str(v.device) for k, v in torch.load(f, map_location=where).items()}

    last = f"cuda:{len(devices()) - 1}"
    assert load("cpu") == {"a": "cpu", "b": "cpu"} == load(torch.device("cpu")) == load(lambda storage, tag: storage)
    assert load({"cuda:0": last}) == {"a": last, "b": "cpu"} and load(last) == {"a": last, "b": last}
    assert load({"cuda:0": "cpu"}) == {"a": "cpu", "b": "cpu"}
    assert load(lambda storage, tag: storage.cuda(len(devices()) - 1)) == {"a": last, "b": last}
    assert load(lambda storage, tag: None) == {"a": "cuda:0", "b": "cpu"}
    raises(RuntimeError, "map_location", lambda: load("cuda:9"))


def storages_and_empty_tensors_are_saved():
    part("torch.serialization")
    x = torch.arange(6.0, device="cuda")
    f = io.BytesIO()
    torch.save([x, x.storage(), x[2:4], torch.empty(0, device="cuda"), cuda.FloatTensor()], f)
    f.seek(0)
    a, s, part_of, empty, none = torch.load(f, weights_only=False)
    a[2] = 9
    assert part_of.tolist() == [9, 3] and s[2] == 9 and s.is_cuda and empty.is_cuda and none.shape == (0,)


def modules_and_optimizers_are_saved_and_go_on():
    part("torch.serialization")
    net = nn.Linear(3, 2).cuda()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
    x = torch.randn(4, 3, device="cuda")

    def step(n, o):
        o.zero_grad()
        n(x).square().sum().backward()
        o.step()

    step(net, optimizer)
    f = io.BytesIO()
    torch.save({"net": net.state_dict(), "optimizer": optimizer.state_dict()}, f)
    f.seek(0)
    loaded = torch.load(f, map_location="cpu")
    assert not loaded["net"]["weight"].is_cuda
    again = nn.Linear(3, 2).cuda()
    again.load_state_dict(loaded["net"])
    other = torch.optim.Adam(again.parameters(), lr=0.1)
    other.load_state_dict(loaded["optimizer"])
    assert all(v.is_cuda for v in other.state[again.weight].values() if torch.is_tensor(v) and v.dim())
    step(net, optimizer), step(again, other)
    assert torch.equal(net.weight, again.weight)
