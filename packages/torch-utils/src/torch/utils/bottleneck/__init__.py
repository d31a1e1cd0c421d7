"""Where a program spends its time: ``python -m torch.utils.bottleneck script.py [arguments]``.

Runs the program once under cProfile and the autograd profiler, and prints the machine, the functions of Python that take
most time, the longest operators, and how many products and convolutions there were.
"""
