"""Starting jobs from a program: see :mod:`torch.distributed.run` and :func:`torch.multiprocessing.spawn`."""
