"""Spiking neurons and hyperdimensional vectors: snntorch, norse, torch-hd."""

import torch
from common import fill, gradients, numbers

DISTRIBUTIONS = ["snntorch", "norse", "torch_hd"]


def leaky_neurons():
    import snntorch as snn

    layer, neuron = fill(torch.nn.Linear(4, 3), 1.0), snn.Leaky(beta=0.9)
    state, spikes = neuron.init_leaky(), []
    for step in range(5):
        spike, state = neuron(layer(numbers(2, 4, seed=step)), state)
        spikes.append(spike)
    (torch.stack(spikes).sum() + state.sum()).backward()
    return torch.stack(spikes), state, gradients(layer)


def synaptic_neurons():
    import snntorch as snn
    from snntorch import surrogate

    neuron = snn.Synaptic(alpha=0.8, beta=0.9, spike_grad=surrogate.fast_sigmoid(slope=25))
    current, potential = neuron.init_synaptic()
    x = numbers(3, 4).requires_grad_()
    for _ in range(4):
        spike, current, potential = neuron(x, current, potential)
    potential.sum().backward()
    return spike, potential, x.grad


def norse_cells():
    from norse.torch.module.lif import LIFCell

    cell = LIFCell(5, 3)
    fill(cell)
    x, state = (numbers(2, 5) * 3).requires_grad_(), None
    for _ in range(6):
        out, state = cell(x, state)
    state.v.sum().backward()
    return out, state.v, x.grad, gradients(cell)


def hypervectors():
    import torchhd

    a, b = (torchhd.MAPTensor(torch.sign(numbers(64, seed=s))) for s in (1, 2))
    bound = torchhd.bind(a, b)
    return (
        bound.as_subclass(torch.Tensor),
        torchhd.bundle(a, b).as_subclass(torch.Tensor),
        float(torchhd.cosine_similarity(a, b)),
    )
