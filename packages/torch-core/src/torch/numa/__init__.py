"""Binding of processes to the nodes of a machine's memory: :mod:`torch.numa.binding`."""

from . import binding as binding
