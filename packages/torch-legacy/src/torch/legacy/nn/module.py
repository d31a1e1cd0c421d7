"""What every layer has: an output, the gradient by its input, and parameters with their gradients."""

import copy

import torch

from .tables import clear, each, formed_as, leaves, recursiveType

__all__ = ["Module"]


class Module:
    """A layer with a forward and a backward pass of its own.

    ``forward(input)`` gives and keeps ``output``; ``backward(input, gradOutput)`` gives and keeps ``gradInput`` and adds to
    the gradients of parameters. Inputs and outputs are tensors or lists of them. A layer of one's own defines
    ``updateOutput``, ``updateGradInput`` and, with parameters, ``accGradParameters``.

    >>> layer = torch.legacy.nn.Square()
    >>> x = torch.tensor([1.0, 3.0])
    >>> layer.forward(x), layer.backward(x, torch.ones(2))
    (tensor([1., 9.]), tensor([2., 6.]))
    """

    #: attributes that are parameters, each with its gradient: weight and gradWeight
    _parameter_names: tuple[str, ...] = ("weight", "bias")

    def __init__(self):
        self.gradInput = torch.Tensor()
        self.output = torch.Tensor()
        self._type = self.output.type()
        self.train = True

    def __setstate__(self, state):
        """Of our pickles and of those of 2016, whose layers hold buffers besides, and not all that ours do."""
        self.__dict__.update({"gradInput": torch.Tensor(), "output": torch.Tensor(), "train": True})
        self.__dict__.update(state)
        self.__dict__.pop("_backend", None)

    def __repr__(self):
        return f"nn.{type(self).__name__}"

    def __call__(self, input, gradOutput=None):
        self.forward(input)
        if gradOutput is None:
            return self.output
        return self.output, self.backward(input, gradOutput)

    # --- passes

    def updateOutput(self, input):
        """Compute and return ``output``.

        >>> nn = torch.legacy.nn
        >>> nn.Abs().updateOutput(torch.tensor([-1.0, 2.0]))
        tensor([1., 2.])
        """
        return self.output

    def forward(self, input):
        """The output for an input.

        >>> nn = torch.legacy.nn
        >>> nn.Abs().forward(torch.tensor([-1.0, 2.0]))
        tensor([1., 2.])
        """
        return self.updateOutput(input)

    def updateGradInput(self, input, gradOutput):
        """Compute and return ``gradInput``, without those of parameters.

        >>> nn = torch.legacy.nn
        >>> layer, x = nn.Abs(), torch.tensor([-1.0, 2.0])
        >>> _ = layer.forward(x)
        >>> layer.updateGradInput(x, torch.ones(2))
        tensor([-1.,  1.])
        """
        return self.gradInput

    def accGradParameters(self, input, gradOutput, scale=1):
        """Add ``scale`` times the gradients of parameters to what is kept of them.

        >>> nn = torch.legacy.nn
        >>> layer, x = nn.Linear(1, 1), torch.ones(1, 1)
        >>> layer.zeroGradParameters()
        >>> _ = layer.forward(x)
        >>> layer.accGradParameters(x, torch.ones(1, 1))
        >>> layer.gradWeight
        tensor([[1.]])
        """

    def backward(self, input, gradOutput, scale=1):
        """The gradient of the input; gradients of weights are added up.

        >>> nn = torch.legacy.nn
        >>> layer, x = nn.Abs(), torch.tensor([-1.0, 2.0])
        >>> _ = layer.forward(x)
        >>> layer.backward(x, torch.ones(2))
        tensor([-1.,  1.])
        """
        self.updateGradInput(input, gradOutput)
        self.accGradParameters(input, gradOutput, scale)
        return self.gradInput

    def accUpdateGradParameters(self, input, gradOutput, lr):
        """A step of gradient descent without an own copy of the gradients.

        >>> nn = torch.legacy.nn
        >>> layer, x = nn.Linear(1, 1), torch.ones(1, 1)
        >>> layer.weight.fill_(1.0)
        tensor([[1.]])
        >>> _ = layer.forward(x)
        >>> layer.accUpdateGradParameters(x, torch.ones(1, 1), 0.25)
        >>> layer.weight
        tensor([[0.7500]])
        """
        names = self._parameters()
        kept = {_grad(name): getattr(self, _grad(name)) for name in names}
        for name in names:
            setattr(self, _grad(name), getattr(self, name))
        try:
            self.accGradParameters(input, gradOutput, -lr)
        finally:
            for name, value in kept.items():
                setattr(self, name, value)

    def sharedAccUpdateGradParameters(self, input, gradOutput, lr):
        """The same where parameters are shared with other layers: by way of the gradients.

        >>> nn = torch.legacy.nn
        >>> layer, x = nn.Linear(1, 1), torch.ones(1, 1)
        >>> layer.weight.fill_(1.0)
        tensor([[1.]])
        >>> layer.zeroGradParameters()
        >>> _ = layer.forward(x)
        >>> layer.sharedAccUpdateGradParameters(x, torch.ones(1, 1), 0.25)
        >>> layer.weight
        tensor([[0.7500]])
        """
        if self.parameters():
            self.zeroGradParameters()
            self.accGradParameters(input, gradOutput, 1)
            self.updateParameters(lr)

    def backwardUpdate(self, input, gradOutput, lr):
        """Backward, and a step of gradient descent with this rate.

        >>> nn = torch.legacy.nn
        >>> layer, x = nn.Linear(1, 1), torch.ones(1, 1)
        >>> layer.weight.fill_(1.0)
        tensor([[1.]])
        >>> _ = layer.forward(x)
        >>> layer.backwardUpdate(x, torch.ones(1, 1), 0.25)
        tensor([[1.]])
        >>> layer.weight
        tensor([[0.7500]])
        """
        self.updateGradInput(input, gradOutput)
        self.accUpdateGradParameters(input, gradOutput, lr)
        return self.gradInput

    # --- parameters

    def _parameters(self):
        return [name for name in self._parameter_names if getattr(self, name, None) is not None]

    def parameters(self):
        """``(parameters, gradients)``, two lists; None for a layer without any.

        >>> nn = torch.legacy.nn
        >>> weights, gradients = nn.Linear(2, 1).parameters()
        >>> [tuple(w.shape) for w in weights]
        [(1, 2), (1,)]
        """
        names = self._parameters()
        if not names:
            return None
        return [getattr(self, name) for name in names], [getattr(self, _grad(name)) for name in names]

    def zeroGradParameters(self):
        """Set the gradients to zero.

        >>> nn = torch.legacy.nn
        >>> layer = nn.Linear(1, 1)
        >>> layer.gradWeight.fill_(1.0)
        tensor([[1.]])
        >>> layer.zeroGradParameters()
        >>> layer.gradWeight
        tensor([[0.]])
        """
        for gradient in (self.parameters() or ([], []))[1]:
            gradient.zero_()

    def updateParameters(self, learningRate):
        """``parameter -= learningRate * gradient``.

        >>> nn = torch.legacy.nn
        >>> layer = nn.Linear(1, 1)
        >>> layer.weight.fill_(1.0)
        tensor([[1.]])
        >>> layer.gradWeight.fill_(1.0)
        tensor([[1.]])
        >>> layer.updateParameters(0.25)
        >>> layer.weight
        tensor([[0.7500]])
        """
        for parameter, gradient in zip(*(self.parameters() or ([], []))):
            parameter.sub_(gradient, alpha=learningRate)

    def flattenParameters(self):
        """All parameters in one vector, all gradients in another; the layer's become views of them.

        >>> nn = torch.legacy.nn
        >>> weights, gradients = nn.Linear(2, 1).flattenParameters()
        >>> weights.shape
        torch.Size([3])
        """
        parameters, gradients = self.parameters() or ([], [])
        return _flattened(parameters), _flattened(gradients)

    def getParameters(self):
        """Lua's name of :meth:`flattenParameters`."""
        return self.flattenParameters()

    def reset(self, stdv=None):
        """New random parameters, where there are any.

        >>> nn = torch.legacy.nn
        >>> layer = nn.Linear(2, 1)
        >>> layer.reset(0.0)
        nn.Linear(2 -> 1)
        >>> layer.weight.abs().max()
        tensor(0.)
        """

    def share(self, mlp, *arg):
        """Let the named tensors be those of another module: one memory for both.

        >>> nn = torch.legacy.nn
        >>> one, other = nn.Linear(2, 1), nn.Linear(2, 1)
        >>> _ = one.share(other, "weight")
        >>> one.weight.data_ptr() == other.weight.data_ptr()
        True
        """
        for name in arg:
            if getattr(self, name, None) is not None:
                setattr(self, name, getattr(mlp, name))
        return self

    def clone(self, *arg):
        """A deep copy, which shares the tensors that are named: ``clone("weight", "gradWeight")``.

        >>> nn = torch.legacy.nn
        >>> layer = nn.Linear(2, 1)
        >>> torch.equal(layer.clone().weight, layer.weight)
        True
        """
        twin = copy.deepcopy(self)
        return twin.share(self, *arg) if arg else twin

    # --- modes, types, traversal

    def training(self):
        """Let the module behave as in training.

        >>> nn = torch.legacy.nn
        >>> layer = nn.Dropout()
        >>> layer.training()
        >>> layer.train
        True
        """
        self.train = True

    def evaluate(self):
        """Let the module behave as in use, not as in training.

        >>> nn = torch.legacy.nn
        >>> layer = nn.Dropout()
        >>> layer.evaluate()
        >>> layer.train
        False
        """
        self.train = False

    def type(self, type=None, tensorCache=None):
        """The type of the tensors, such as "torch.FloatTensor"; or the module with all of them converted.

        >>> nn = torch.legacy.nn
        >>> nn.Linear(2, 1).type(torch.DoubleTensor).weight.dtype
        torch.float64
        """
        if type is None:
            return self._type
        cache = {} if tensorCache is None else tensorCache
        for name, value in vars(self).items():
            if name != "_type":
                setattr(self, name, recursiveType(value, type, cache))
        self._type = type
        return self

    def float(self, *args):
        """The module in float32.

        >>> nn = torch.legacy.nn
        >>> nn.Linear(2, 1).double().float().weight.dtype
        torch.float32
        """
        return self.type("torch.FloatTensor", *args)

    def double(self, *args):
        """The module in float64.

        >>> nn = torch.legacy.nn
        >>> nn.Linear(2, 1).double().weight.dtype
        torch.float64
        """
        return self.type("torch.DoubleTensor", *args)

    def cuda(self, *args):
        """The module on the GPU.

        >>> if torch.cuda.is_available():
        ...     layer = torch.legacy.nn.Abs().cuda()
        """
        return self.type("torch.cuda.FloatTensor", *args)

    def apply(self, callback):
        """Call a function with this module and all inside it.

        >>> nn = torch.legacy.nn
        >>> _ = nn.Sequential().add(nn.Abs()).apply(lambda module: print(type(module).__name__))
        Sequential
        Abs
        """
        callback(self)
        for module in getattr(self, "modules", []):
            module.apply(callback)

    def listModules(self):
        """This module and all inside it.

        >>> nn = torch.legacy.nn
        >>> [type(m).__name__ for m in nn.Sequential().add(nn.Abs()).listModules()]
        ['Sequential', 'Abs']
        """
        found = []
        self.apply(found.append)
        return found

    def findModules(self, cls, container=None):
        """The modules of a class, and the container of each.

        >>> nn = torch.legacy.nn
        >>> found, parents = nn.Sequential().add(nn.Abs()).findModules(nn.Abs)
        >>> len(found)
        1
        """
        nodes, containers = [], []
        if isinstance(self, cls):
            nodes.append(self)
            containers.append(container)
        for module in getattr(self, "modules", []):
            inside, around = module.findModules(cls, self)
            nodes += inside
            containers += around
        return nodes, containers

    def replace(self, callback):
        """What a function makes of this module, after it was called for those inside.

        >>> nn = torch.legacy.nn
        >>> net = nn.Sequential().add(nn.Abs()).replace(lambda m: nn.Tanh() if isinstance(m, nn.Abs) else m)
        >>> type(net.get(0)).__name__
        'Tanh'
        """
        if getattr(self, "modules", None):
            self.modules = [module.replace(callback) for module in self.modules]
        return callback(self)

    def clearState(self):
        """Forget outputs and what was kept for backward.

        >>> nn = torch.legacy.nn
        >>> layer = nn.Abs()
        >>> _ = layer.forward(torch.ones(2))
        >>> layer.clearState().output.numel()
        0
        """
        return clear(self, "output", "gradInput")

    def write(self, f):
        """Raises NotImplementedError: ``torch.save`` writes modules.

        >>> nn = torch.legacy.nn
        >>> nn.Abs().write(None)
        Traceback (most recent call last):
            ...
        NotImplementedError: nn.Abs.write: save the module itself, torch.save(module, f)...
        """
        raise NotImplementedError(f"{self}.write: save the module itself, torch.save(module, f)")

    def read(self, f):
        """Raises NotImplementedError: ``torch.load`` reads modules.

        >>> nn = torch.legacy.nn
        >>> nn.Abs().read(None)
        Traceback (most recent call last):
            ...
        NotImplementedError: nn.Abs.read: load it with torch.load(f, weights_only=False)...
        """
        raise NotImplementedError(f"{self}.read: load it with torch.load(f, weights_only=False)")


class Formula(Module):
    """A layer whose ``_formula(input)`` says it all: backward follows from it by differentiation."""

    def _formula(self, input):
        raise NotImplementedError(f"{self}._formula")

    def updateOutput(self, input):
        with torch.no_grad():
            self.output = self._formula(input)
        return self.output

    def updateGradInput(self, input, gradOutput):
        self.gradInput = gradient_by(self._formula, input, gradOutput)
        return self.gradInput

    def accGradParameters(self, input, gradOutput, scale=1):
        names = self._parameters()
        if not names:
            return
        kept = {name: getattr(self, name) for name in names}
        inputs = [value.detach().requires_grad_() for value in kept.values()]
        try:
            for name, value in zip(names, inputs):
                setattr(self, name, value)
            with torch.enable_grad():
                output = self._formula(each(lambda t: t.detach(), input))
            gradients = _gradients(output, inputs, gradOutput)
        finally:
            for name, value in kept.items():
                setattr(self, name, value)
        with torch.no_grad():
            for name, gradient in zip(names, gradients):
                getattr(self, _grad(name)).add_(gradient, alpha=scale)


class InPlace(Formula):
    """A formula that may write its output over its input, and ``gradInput`` over ``gradOutput``."""

    inplace = False

    def updateOutput(self, input):
        if not self.inplace:
            return super().updateOutput(input)
        self._before = input.clone()
        self.output = input.copy_(super().updateOutput(input))
        return self.output

    def updateGradInput(self, input, gradOutput):
        if not self.inplace:
            return super().updateGradInput(input, gradOutput)
        self.gradInput = gradOutput.copy_(super().updateGradInput(self._before, gradOutput))
        return self.gradInput

    def accGradParameters(self, input, gradOutput, scale=1):
        if self.inplace and self._parameters():
            raise RuntimeError(f"{self}: gradients of parameters need inplace=False")
        super().accGradParameters(input, gradOutput, scale)

    def clearState(self):
        self._before = None
        return super().clearState()


def gradient_by(formula, input, gradOutput):
    """``gradOutput`` times the slopes of a formula, in the form of its input; zeros for integers and masks."""
    flat = leaves(input)
    inputs = [t.detach().requires_grad_() if t.is_floating_point() else t for t in flat]
    with torch.enable_grad():
        output = formula(formed_as(input, inputs))
    wanted = [t for t in inputs if t.requires_grad]
    found = iter(_gradients(output, wanted, gradOutput)) if wanted else iter(())
    return formed_as(input, [next(found) if t.requires_grad else torch.zeros_like(t) for t in inputs])


def _gradients(output, inputs, gradOutput):
    outputs, slopes = leaves(output), leaves(gradOutput)
    if len(outputs) != len(slopes):
        raise RuntimeError(f"backward: the output has {len(outputs)} tensors, gradOutput {len(slopes)}")
    pairs = [(o, g) for o, g in zip(outputs, slopes) if o.requires_grad]
    if not pairs:
        return [torch.zeros_like(t) for t in inputs]
    found = torch.autograd.grad([o for o, _ in pairs], inputs, [g for _, g in pairs], allow_unused=True)
    return [torch.zeros_like(t) if g is None else g for t, g in zip(inputs, found)]


def _grad(name):
    return f"grad{name[0].upper()}{name[1:]}"


def _flattened(tensors):
    """One vector that holds the values of all tensors, which become views of it; shared ones are there once."""
    unique = list({(t.data_ptr(), t.shape, t.stride()): t for t in tensors}.values())
    if not unique:
        return torch.Tensor()
    flat = torch.cat([t.reshape(-1) for t in unique])
    start, places = 0, {}
    for t in unique:
        places[t.data_ptr()] = start
        start += t.numel()
    for t, place in [(t, places[t.data_ptr()]) for t in tensors]:
        t.set_(flat[place : place + t.numel()].view(t.shape))
    return flat
