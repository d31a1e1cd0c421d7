"""In which order a rank computes the parts of a batch in its stages: lists of (what, stage, part).

``what`` is FORWARD, BACKWARD, or a backward pass in two, INPUTS and WEIGHTS. Ranks send without waiting, so that any orders
do in which something can always go on.
"""

import itertools

FORWARD, BACKWARD, INPUTS, WEIGHTS = "forward", "backward", "inputs", "weights"


def looped(stages, ranks):
    """The rank of each stage where they go round: stage i is on rank i modulo the number of ranks.

    >>> looped(4, 2)
    [0, 1, 0, 1]
    """
    return [stage % ranks for stage in range(stages)]


def folded(stages, ranks):
    """The rank of each stage where they go down the ranks and up again.

    >>> folded(4, 2)
    [0, 1, 1, 0]
    """
    if stages != 2 * ranks:
        raise ValueError(f"a schedule in the form of a V has 2 stages a rank, got {stages} stages on {ranks} ranks")
    return [*range(ranks), *reversed(range(ranks))]


def breadth_first(rank, ranks, stages, parts):
    """All parts forward through a stage before the next, and back likewise (Lamy-Poirier 2022).

    >>> breadth_first(0, 2, 4, 1)
    [('forward', 0, 0), ('forward', 2, 0), ('backward', 2, 0), ('backward', 0, 0)]
    """
    mine = range(rank, stages, ranks)
    return [(FORWARD, stage, part) for stage in mine for part in range(parts)] + [
        (BACKWARD, stage, part) for stage in reversed(mine) for part in range(parts)
    ]


def interleaved(rank, ranks, stages, parts, two=False):
    """One part back as soon as one is forward, with several stages a rank in turn (Narayanan 2021).

    With ``two`` the weights' gradients wait: on rank r for r gradients of inputs (Qi 2023).
    """
    mine = list(range(rank, stages, ranks))
    rounds = max(1, parts // ranks)
    if parts % rounds:
        raise ValueError(
            f"{parts} parts (n_microbatches) do not fall into {rounds} rounds, one for each {ranks} ranks; give a "
            f"multiple of {ranks}"
        )
    a_round, total = parts // rounds, parts * len(mine)
    ahead = min(total, (len(mine) - 1) * a_round + (1 if two else 2) * (ranks - 1 - rank))
    forward = _turns(mine, a_round, total)
    back = _turns(mine[::-1], a_round, total)
    order = [(FORWARD, *one) for one in forward[:ahead]]
    waiting: list = []
    for i in range(total):
        if ahead + i < total:
            order.append((FORWARD, *forward[ahead + i]))
        order.append((INPUTS if two else BACKWARD, *back[i]))
        if two:
            waiting.append((WEIGHTS, *back[i]))
            if len(waiting) > rank:
                order.append(waiting.pop(0))
    return order + waiting


def _turns(mine, a_round, total):
    """Stages in turn, each for the parts of a round, until all parts have been through all."""
    count = dict.fromkeys(mine, -1)
    order = []
    for i in range(total):
        stage = mine[i // a_round % len(mine)]
        count[stage] += 1
        order.append((stage, count[stage]))
    return order


def zero_bubble_v(rank, ranks, stages, parts):
    """The form of a V without bubbles (Qi 2024): found by playing all ranks, each operation one step long.

    A rank prefers gradients of inputs, which others wait for, then what is forward, of its later stage first, and fills
    gaps with those of weights. It begins no part while it holds 2 for each rank, a part in each of its stages counted.
    """
    return _played(folded(stages, ranks), ranks, parts)[rank]


def dual_pipe_v(rank, ranks, stages, parts):
    """The form of a V in which one part goes back right behind another that goes forward (DeepSeek 2024, halved).

    Where the pipeline fills, gradients of weights follow those of inputs at once; where it runs empty, they fill the gaps.

    >>> dual_pipe_v(1, 2, 4, 4)[:4]
    [('forward', 1, 0), ('forward', 2, 0), ('forward', 1, 1), ('forward', 2, 1)]
    """
    folded(stages, ranks)
    if parts < stages:
        raise ValueError(
            f"a batch has as many parts (n_microbatches) as there are stages at least, {stages}, got {parts}"
        )
    early, late = rank, stages - 1 - rank
    ahead, own = ranks - 1 - rank, rank + 1  # passes of ranks behind this one, and of those before it with its own
    forwards = {early: itertools.count(), late: itertools.count()}
    backs = {early: itertools.count(), late: itertools.count()}
    order: list = []
    waiting: list = []

    def forward(stage):
        order.append((FORWARD, stage, next(forwards[stage])))

    def back(stage, two=False):
        part = next(backs[stage])
        order.append((INPUTS if two else BACKWARD, stage, part))
        if two:
            waiting.append((WEIGHTS, stage, part))

    def weights():
        order.append(waiting.pop(0))

    for _ in range(2 * ahead):
        forward(early)
    for _ in range(own):
        forward(early)
        forward(late)
    for _ in range(ahead):
        back(late, two=True)
        weights()
        forward(late)
    for _ in range(parts - 2 * ranks + own):  # the long middle: each pass forward has one back behind it
        forward(early)
        back(late)
        forward(late)
        back(early)
    for _ in range(ahead):
        back(late)
        forward(late)
        back(early)
    for i in range(own):
        back(late, two=2 * i >= own)
        back(early, two=2 * i + 1 >= own)
    for _ in range(ahead):
        weights()
        back(early, two=True)
    return order + waiting


def _played(place, ranks, parts):
    stages, last = len(place), len(place) - 1
    done: set = set()  # (what, stage, part)
    following = {(what, stage): 0 for what in (FORWARD, INPUTS, WEIGHTS) for stage in range(stages)}
    orders: list = [[] for _ in range(ranks)]
    mine = [[stage for stage in range(stages) if place[stage] == rank] for rank in range(ranks)]

    def ready(what, stage):
        part = following[what, stage]
        if part == parts:
            return False
        if what == FORWARD:
            return stage == 0 or (FORWARD, stage - 1, part) in done
        if what == WEIGHTS:
            return (INPUTS, stage, part) in done
        return (FORWARD, stage, part) in done and (stage == last or (INPUTS, stage + 1, part) in done)

    while any(following[WEIGHTS, stage] < parts for stage in range(stages)):
        chosen = []
        for rank in range(ranks):
            early, late = mine[rank]
            held = sum(following[FORWARD, stage] - following[WEIGHTS, stage] for stage in (early, late))
            full = held >= 2 * ranks
            wishes = [(INPUTS, late), (INPUTS, early)]
            wishes += [(WEIGHTS, late), (WEIGHTS, early)] if full else []
            wishes += [(FORWARD, late)] if full else [(FORWARD, late), (FORWARD, early)]
            wishes += [(WEIGHTS, late), (WEIGHTS, early)]
            for wish in wishes:
                if ready(*wish):
                    chosen.append((rank, (*wish, following[wish])))
                    break
        for rank, (what, stage, part) in chosen:
            following[what, stage] += 1
            done.add((what, stage, part))
            orders[rank].append((what, stage, part))
    return orders
