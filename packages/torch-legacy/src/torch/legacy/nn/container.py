"""Layers made of layers."""

import torch

from .module import Module
from .tables import each, recursiveAdd

__all__ = ["Concat", "ConcatTable", "Container", "DepthConcat", "Parallel", "ParallelTable", "Sequential"]


class Container(Module):
    """Modules in ``modules``, for which it answers together.

    >>> nn = torch.legacy.nn
    >>> nn.Sequential().add(nn.Abs()).size()
    1
    """

    def __init__(self, *args):
        super().__init__()
        self.modules = [self._checked(module) for module in args]

    def _checked(self, module):
        if not isinstance(module, Module):
            raise TypeError(f"{type(self).__name__}: expected a module of torch.legacy.nn, got {type(module).__name__}")
        return module

    def add(self, module):
        """Put a module at the end; gives the container.

        >>> nn = torch.legacy.nn
        >>> nn.Sequential().add(nn.Abs()).add(nn.Tanh()).size()
        2
        """
        self.modules.append(self._checked(module))
        return self

    def get(self, index):
        """The module at a place.

        >>> nn = torch.legacy.nn
        >>> type(nn.Sequential().add(nn.Abs()).get(0)).__name__
        'Abs'
        """
        return self.modules[index]

    def size(self):
        """The number of modules.

        >>> nn = torch.legacy.nn
        >>> nn.Sequential().add(nn.Abs()).add(nn.Tanh()).size()
        2
        """
        return len(self.modules)

    def applyToModules(self, func):
        """Call a function with each module.

        >>> nn = torch.legacy.nn
        >>> net, seen = nn.Sequential().add(nn.Abs()), []
        >>> net.applyToModules(seen.append)
        >>> [type(m).__name__ for m in seen]
        ['Abs']
        """
        for module in self.modules:
            func(module)

    def zeroGradParameters(self):
        """Set the gradients of all modules to zero.

        >>> nn = torch.legacy.nn
        >>> net = nn.Sequential().add(nn.Linear(1, 1))
        >>> net.get(0).gradWeight.fill_(1.0)
        tensor([[1.]])
        >>> net.zeroGradParameters()
        >>> net.get(0).gradWeight
        tensor([[0.]])
        """
        self.applyToModules(lambda m: m.zeroGradParameters())

    def updateParameters(self, learningRate):
        self.applyToModules(lambda m: m.updateParameters(learningRate))

    def training(self):
        """Let all modules behave as in training.

        >>> nn = torch.legacy.nn
        >>> net = nn.Sequential().add(nn.Dropout())
        >>> net.training()
        >>> net.get(0).train
        True
        """
        self.applyToModules(lambda m: m.training())
        super().training()

    def evaluate(self):
        """Let all modules behave as in use, not as in training.

        >>> nn = torch.legacy.nn
        >>> net = nn.Sequential().add(nn.Dropout())
        >>> _ = net.evaluate()
        >>> net.forward(torch.ones(2))
        tensor([1., 1.])
        """
        self.applyToModules(lambda m: m.evaluate())
        super().evaluate()

    def share(self, mlp, *args):
        for mine, theirs in zip(self.modules, mlp.modules):
            mine.share(theirs, *args)
        return self

    def reset(self, stdv=None):
        self.applyToModules(lambda m: m.reset(stdv))

    def parameters(self):
        weights, gradients = [], []
        for module in self.modules:
            found = module.parameters()
            if found:
                weights += found[0]
                gradients += found[1]
        return weights, gradients

    def clearState(self):
        self.applyToModules(lambda m: m.clearState())
        return super().clearState()

    def accUpdateGradParameters(self, input, gradOutput, lr):
        self._each_backward("accUpdateGradParameters", input, gradOutput, lr)

    def accGradParameters(self, input, gradOutput, scale=1):
        self._each_backward("accGradParameters", input, gradOutput, scale)

    def sharedAccUpdateGradParameters(self, input, gradOutput, lr):
        self._each_backward("sharedAccUpdateGradParameters", input, gradOutput, lr)

    def _each_backward(self, method, input, gradOutput, number):
        for module, x, g in self._steps(input, gradOutput):
            getattr(module, method)(x, g, number)

    def _steps(self, input, gradOutput):
        """Each module with its own input and output gradient, once forward and updateGradInput have run."""
        raise NotImplementedError(f"{self}._steps")

    def __repr__(self):
        inside = "".join(f"\n  ({i}): " + repr(m).replace("\n", "\n  ") for i, m in enumerate(self.modules))
        return f"nn.{type(self).__name__} {{{inside}\n}}"


class Sequential(Container):
    """Each module takes the output of the one before.

    >>> net = torch.legacy.nn.Sequential().add(torch.legacy.nn.Square()).add(torch.legacy.nn.Exp())
    >>> net.forward(torch.tensor([0.0]))
    tensor([1.])
    """

    def __len__(self):
        return len(self.modules)

    def add(self, module):
        """Put a module at the end; gives the container.

        >>> nn = torch.legacy.nn
        >>> nn.Sequential().add(nn.Abs()).add(nn.Tanh()).size()
        2
        """
        if not self.modules:
            self.gradInput = self._checked(module).gradInput
        self.modules.append(self._checked(module))
        self.output = module.output
        return self

    def insert(self, module, index):
        """Put a module at a place.

        >>> nn = torch.legacy.nn
        >>> net = nn.Sequential().add(nn.Abs())
        >>> net.insert(nn.Tanh(), 0)
        >>> [type(m).__name__ for m in net.modules]
        ['Tanh', 'Abs']
        """
        self.modules.insert(index, self._checked(module))
        self.output, self.gradInput = self.modules[-1].output, self.modules[0].gradInput

    def remove(self, index=-1):
        """Take out the module at a place.

        >>> nn = torch.legacy.nn
        >>> net = nn.Sequential().add(nn.Abs()).add(nn.Tanh())
        >>> net.remove(0)
        >>> [type(m).__name__ for m in net.modules]
        ['Tanh']
        """
        del self.modules[index]
        if self.modules:
            self.output, self.gradInput = self.modules[-1].output, self.modules[0].gradInput
        else:
            self.output, self.gradInput = torch.Tensor(), torch.Tensor()

    def updateOutput(self, input):
        for module in self.modules:
            input = module.updateOutput(input)
        self.output = input
        return self.output

    def _steps(self, input, gradOutput):
        modules = self.modules
        inputs = [input, *(m.output for m in modules[:-1])]
        slopes = [*(m.gradInput for m in modules[1:]), gradOutput]
        return reversed(list(zip(modules, inputs, slopes)))

    def _passed_back(self, input, gradOutput, step):
        inputs = [input, *(m.output for m in self.modules[:-1])]
        for module, x in reversed(list(zip(self.modules, inputs))):
            gradOutput = step(module, x, gradOutput)
        self.gradInput = gradOutput
        return self.gradInput

    def updateGradInput(self, input, gradOutput):
        return self._passed_back(input, gradOutput, lambda m, x, g: m.updateGradInput(x, g))

    def backward(self, input, gradOutput, scale=1):
        """Gradients of input and weights, last module first.

        >>> nn = torch.legacy.nn
        >>> net, x = nn.Sequential().add(nn.Abs()), torch.tensor([-1.0, 2.0])
        >>> _ = net.forward(x)
        >>> net.backward(x, torch.ones(2))
        tensor([-1.,  1.])
        """
        return self._passed_back(input, gradOutput, lambda m, x, g: m.backward(x, g, scale))

    def backwardUpdate(self, input, gradOutput, lr):
        return self._passed_back(input, gradOutput, lambda m, x, g: m.backwardUpdate(x, g, lr))


class ConcatTable(Container):
    """All modules take the same input; the output is the list of theirs.

    >>> nn = torch.legacy.nn
    >>> nn.ConcatTable().add(nn.Identity()).add(nn.Abs()).forward(torch.tensor([-1.0]))
    [tensor([-1.]), tensor([1.])]
    """

    def updateOutput(self, input):
        self.output = [module.updateOutput(input) for module in self.modules]
        return self.output

    def _steps(self, input, gradOutput):
        return [(m, input, g) for m, g in zip(self.modules, gradOutput)]

    def updateGradInput(self, input, gradOutput):
        return self._summed(input, [m.updateGradInput(x, g) for m, x, g in self._steps(input, gradOutput)])

    def backward(self, input, gradOutput, scale=1):
        return self._summed(input, [m.backward(x, g, scale) for m, x, g in self._steps(input, gradOutput)])

    def _summed(self, input, gradients):
        total = each(torch.zeros_like, input)
        for gradient in gradients:
            recursiveAdd(total, gradient)
        self.gradInput = total
        return total


class Concat(ConcatTable):
    """All modules take the same input; their outputs are joined along a dim.

    >>> nn = torch.legacy.nn
    >>> nn.Concat(1).add(nn.Linear(3, 2)).add(nn.Linear(3, 5)).forward(torch.ones(4, 3)).shape
    torch.Size([4, 7])
    """

    def __init__(self, dimension):
        super().__init__()
        self.dimension = dimension

    def updateOutput(self, input):
        self._outputs = [module.updateOutput(input) for module in self.modules]
        self.output = torch.cat(self._fitted(self._outputs), self.dimension)
        return self.output

    def _fitted(self, outputs):
        return outputs

    def _steps(self, input, gradOutput):
        sizes = [m.output.size(self.dimension) for m in self.modules]
        return [(m, input, g.contiguous()) for m, g in zip(self.modules, gradOutput.split(sizes, self.dimension))]


class DepthConcat(Concat):
    """:class:`Concat` of outputs that may differ in size elsewhere: the smaller ones lie in the middle of zeros.

    >>> nn = torch.legacy.nn
    >>> nn.DepthConcat(0).add(nn.Identity()).add(nn.Identity()).forward(torch.ones(1, 2, 2)).shape
    torch.Size([2, 2, 2])
    """

    def _fitted(self, outputs):
        largest = [max(sizes) for sizes in zip(*(o.shape for o in outputs))]
        joined = []
        for output in outputs:
            shape = list(largest)
            shape[self.dimension] = output.size(self.dimension)
            whole = output.new_zeros(shape)
            self._window(whole, output).copy_(output)
            joined.append(whole)
        return joined

    def _window(self, whole, output):
        for d, size in enumerate(output.shape):
            if d != self.dimension:
                whole = whole.narrow(d, (whole.size(d) - size) // 2, size)
        return whole

    def _steps(self, input, gradOutput):
        wide = super()._steps(input, gradOutput)
        return [(m, x, self._window(g, m.output).contiguous()) for m, x, g in wide]


class ParallelTable(Container):
    """Each module takes its own entry of the input table.

    >>> nn = torch.legacy.nn
    >>> nn.ParallelTable().add(nn.Identity()).add(nn.Abs()).forward([torch.tensor([-1.0]), torch.tensor([-1.0])])
    [tensor([-1.]), tensor([1.])]
    """

    def updateOutput(self, input):
        self.output = [module.updateOutput(x) for module, x in zip(self.modules, input)]
        return self.output

    def _steps(self, input, gradOutput):
        return list(zip(self.modules, input, gradOutput))

    def updateGradInput(self, input, gradOutput):
        self.gradInput = [m.updateGradInput(x, g) for m, x, g in self._steps(input, gradOutput)]
        return self.gradInput

    def backward(self, input, gradOutput, scale=1):
        self.gradInput = [m.backward(x, g, scale) for m, x, g in self._steps(input, gradOutput)]
        return self.gradInput


class Parallel(Container):
    """Each module takes one slice of a dim of the input; their outputs are joined along another dim.

    >>> nn = torch.legacy.nn
    >>> nn.Parallel(0, 0).add(nn.Identity()).add(nn.Abs()).forward(torch.tensor([[-1.0, 2.0], [-3.0, 4.0]]))
    tensor([-1.,  2.,  3.,  4.])
    """

    def __init__(self, inputDimension, outputDimension):
        super().__init__()
        self.inputDimension, self.outputDimension = inputDimension, outputDimension

    def updateOutput(self, input):
        slices = input.unbind(self.inputDimension)
        if len(slices) != len(self.modules):
            raise RuntimeError(
                f"Parallel: {len(self.modules)} modules need as many slices, dim {self.inputDimension} of shape "
                f"{tuple(input.shape)} has {len(slices)}"
            )
        outputs = [module.updateOutput(x) for module, x in zip(self.modules, slices)]
        self.output = torch.cat(outputs, self.outputDimension)
        return self.output

    def _steps(self, input, gradOutput):
        sizes = [m.output.size(self.outputDimension) for m in self.modules]
        slopes = (g.contiguous() for g in gradOutput.split(sizes, self.outputDimension))
        return list(zip(self.modules, input.unbind(self.inputDimension), slopes))

    def updateGradInput(self, input, gradOutput):
        slopes = [m.updateGradInput(x, g) for m, x, g in self._steps(input, gradOutput)]
        self.gradInput = torch.stack(slopes, self.inputDimension)
        return self.gradInput

    def backward(self, input, gradOutput, scale=1):
        slopes = [m.backward(x, g, scale) for m, x, g in self._steps(input, gradOutput)]
        self.gradInput = torch.stack(slopes, self.inputDimension)
        return self.gradInput
