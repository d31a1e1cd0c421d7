"""One program: made from a seed and a number, run, looked at, and run again."""

import gc
import random

import torch
from torch.autograd import _C

from . import tensors
from .actions import ACTIONS, WEIGHTS
from .gradients import Pair
from .machine import PLACES, REFUSALS, Broken, Machine

MODES = [None, torch.no_grad, torch.inference_mode, torch.enable_grad]
OFTEN = [88, 7, 3, 2]


class Program:
    def __init__(self, seed, number):
        self.seed, self.number = seed, number
        r = self.chance("plan")
        self.of_gradients = r.random() < 0.25
        self.steps = r.randrange(5, 31)
        self.twice = r.random() < 0.3  # the others run once
        self.calls = self.refused = 0
        self.seen = []

    def chance(self, what):
        """Every step draws from a source of its own, so that the others stay the same when one is left out."""
        return random.Random(f"{self.seed}:{self.number}:{what}")

    def run(self, keep=None, tell=False):
        """Raises Broken where something did not hold."""
        before = _C._live_nodes()
        first = self.once(keep, tell)
        if first is not None and self.twice and not tell:
            again = self.once(keep, False, counted=False)
            if again is not None and again != first:
                raise Broken(f"another run gives something else: {difference(first, again)}")
        del first
        for _ in range(4):  # what one collection lets go of may have held more
            if not gc.collect():
                break
        if (after := _C._live_nodes()) != before:
            raise Broken(f"{after - before} nodes of graphs are left")
        if left := [t for t in (ref() for ref in self.seen) if t is not None]:
            raise Broken(f"{len(left)} tensors are left, one of shape {tuple(left[0].shape)}")

    def once(self, keep, tell, counted=True):
        torch.manual_seed(self.number)
        kept = [i for i in range(self.steps) if keep is None or i in keep]
        machine = Pair(self.chance("start"), tell) if self.of_gradients else self.machine(tell)
        try:
            for i in kept:
                if tell:
                    print(f"{i}:", flush=True)
                self.gradient_step(machine, i) if self.of_gradients else self.step(machine, i)
            if self.of_gradients:
                machine.finish(self.chance("end"))
                return None
            if torch.is_inference_mode_enabled() or not torch.is_grad_enabled():
                raise Broken("the mode of gradients is not what it was")
            return machine.digest() if machine.repeatable else None
        finally:
            if counted:
                self.calls += machine.calls
                self.refused += machine.refused
            self.seen += machine.seen

    def machine(self, tell):
        m = Machine(tell)
        for i in range(PLACES):
            m.places[i] = tensors.fresh(self.chance(f"place {i}"))
            if tell:
                t = m.places[i]
                print(
                    f"x{i} = {str(t.dtype)[6:]} {tuple(t.shape)} strides {t.stride()} offset {t.storage_offset()}{' grad' * t.requires_grad} {t.tolist()!s:.80}"
                )
        return m

    def gradient_step(self, pair, i):
        pair.step(self.chance(i))

    def step(self, m, i):
        r = self.chance(i)
        mode = r.choices(MODES, OFTEN)[0]
        action = r.choices(ACTIONS, WEIGHTS)[0]
        try:
            if mode is None:
                action(m, r)
            else:
                if m.tell:
                    print(f"  with {mode.__name__}:")
                with mode():
                    action(m, r)
        except REFUSALS as error:  # while its arguments are made
            if m.tell:
                print(f"  preparation: {type(error).__name__}: {error!s:.200}", flush=True)
        for place, t in enumerate(m.places):  # out= and resize_ let them grow
            if t.numel() > tensors.LARGEST:
                m.places[place] = torch.zeros(3)


def difference(a, b):
    for i, (x, y) in enumerate(zip(a, b)):
        if x != y:
            if i == 0:
                return next(f"call {k}: {p}, then {q}" for k, (p, q) in enumerate(zip(x, y)) if p != q)
            return f"x{i - 1}: {x!s:.200}, then {y!s:.200}"
    return "more"
