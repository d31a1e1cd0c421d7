"""accelerate: one training loop for every device."""

import tempfile

import torch
from accelerate import Accelerator, cpu_offload, infer_auto_device_map, init_empty_weights
from accelerate.utils import find_batch_size, named_module_tensors, set_seed
from common import fill, numbers
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

DISTRIBUTIONS = ("accelerate",)


def _net():
    return fill(nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)))


def training():
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    net = _net()
    data = DataLoader(TensorDataset(numbers(16, 4), numbers(16, 1, seed=1)), batch_size=4)
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
    net, optimizer, data, schedule = accelerator.prepare(net, optimizer, data, schedule)
    losses = []
    for x, y in data:
        with accelerator.accumulate(net):
            loss = nn.functional.mse_loss(net(x), y)
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
        losses.append(accelerator.gather(loss.detach()))
    return losses, accelerator.unwrap_model(net)


def state_saved_and_loaded():
    accelerator = Accelerator(cpu=True)
    net = _net()
    optimizer = torch.optim.Adam(net.parameters())
    net, optimizer = accelerator.prepare(net, optimizer)
    net(numbers(2, 4)).sum().backward()
    optimizer.step()
    with tempfile.TemporaryDirectory() as folder:
        accelerator.save_state(folder)
        before = [p.detach().clone() for p in net.parameters()]
        with torch.no_grad():
            for p in net.parameters():
                p.zero_()
        accelerator.load_state(folder)
    return before, list(net.parameters())


def model_saved_in_shards():
    accelerator = Accelerator(cpu=True)
    with tempfile.TemporaryDirectory() as folder:
        accelerator.save_model(_net(), folder, max_shard_size="1KB")
        import pathlib

        from safetensors.torch import load_file

        return [sorted(load_file(f)) for f in sorted(pathlib.Path(folder).glob("*.safetensors"))]


def empty_weights():
    with init_empty_weights():
        net = nn.Sequential(nn.Linear(1000, 1000), nn.LayerNorm(1000))
    return [(name, str(t.device), t.shape) for name, t in named_module_tensors(net)]


def device_map():
    with init_empty_weights():
        net = nn.Sequential(nn.Linear(100, 100), nn.Linear(100, 100))
    return {k: str(v) for k, v in infer_auto_device_map(net, max_memory={"cpu": "1GB"}).items()}


def offload():
    net = _net()
    expected = net(numbers(2, 4)).detach()
    cpu_offload(net, torch.device("cpu"))
    return expected, net(numbers(2, 4))


def conveniences():
    set_seed(3)
    return find_batch_size({"a": numbers(5, 2)}), Accelerator(cpu=True).mixed_precision
