"""peft: adapters of small rank on a frozen model."""

import tempfile

import torch
from common import fill, numbers, train
from peft import IA3Config, LoraConfig, PeftModel, get_peft_model, get_peft_model_state_dict
from torch import nn

DISTRIBUTIONS = ("peft",)


class _Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.act, self.last = nn.Linear(6, 10), nn.GELU(), nn.Linear(10, 3)

    def forward(self, x):
        return self.last(self.act(self.first(x)))


def _adapted(**more):
    return fill(get_peft_model(fill(_Net()), LoraConfig(r=2, target_modules=["first", "last"], lora_alpha=4, **more)))


def forward():
    net = _adapted()
    return net(numbers(3, 6)), net.get_nb_trainable_parameters()


def training():
    net = _adapted()
    return train(net, lambda: net(numbers(3, 6)).square().mean(), lambda p: torch.optim.AdamW(p, lr=0.01))


def merged():
    return _adapted().merge_and_unload()(numbers(3, 6))


def switched_off():
    net = _adapted()
    with net.disable_adapter():
        return net(numbers(3, 6))


def magnitudes():
    return _adapted(use_dora=True)(numbers(3, 6))


def ia3():
    net = get_peft_model(fill(_Net()), IA3Config(target_modules=["first"], feedforward_modules=["first"]))
    return net(numbers(3, 6)), get_peft_model_state_dict(net)


def saved_and_loaded():
    net = _adapted()
    with tempfile.TemporaryDirectory() as folder:
        net.save_pretrained(folder)
        other = PeftModel.from_pretrained(fill(_Net()), folder)
    return other(numbers(3, 6)), torch.equal(other(numbers(3, 6)), net(numbers(3, 6)))
