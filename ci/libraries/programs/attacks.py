"""Adversarial examples, and explanations that differentiate a model."""

import foolbox
import numpy as np
import shap
import torch
from art.attacks.evasion import FastGradientMethod
from art.estimators.classification import PyTorchClassifier
from common import fill, numbers, whole
from torch import nn

DISTRIBUTIONS = ("adversarial-robustness-toolbox", "foolbox", "shap")


def _net():
    return fill(nn.Sequential(nn.Flatten(), nn.Linear(16, 3)), 0.5)


def attacks_on_tensors():
    net = foolbox.PyTorchModel(_net().eval(), bounds=(-3, 3))
    x, y = numbers(4, 1, 4, 4).clamp(-3, 3), whole(3, 4)
    kinds = foolbox.attacks.FGSM(), foolbox.attacks.LinfDeepFoolAttack(), foolbox.attacks.L2CarliniWagnerAttack(steps=3)
    return [attack(net, x, y, epsilons=[0.1, 0.5])[1] for attack in kinds]


def attacks_on_arrays():
    net = _net()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    classifier = PyTorchClassifier(net, nn.CrossEntropyLoss(), (1, 4, 4), 3, optimizer=optimizer, clip_values=(-3, 3))
    x = numbers(4, 1, 4, 4).numpy()
    classifier.fit(x, np.eye(3)[[0, 1, 2, 0]], nb_epochs=1, batch_size=4)
    return FastGradientMethod(classifier, eps=0.2).generate(x), classifier.predict(x)


def contributions():
    net = fill(nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2)), 0.5)
    return shap.DeepExplainer(net, numbers(6, 4)).shap_values(numbers(2, 4, seed=4))
