"""Random programs of 5 to 30 calls over shared tensors, and what must hold for every one of them.

A program is a function of a seed and a number. It works on eight places that hold tensors: each call takes its operands from
there and puts its results there, so that views, histories, hooks and memory are shared as far as chance goes. Two kinds:

actions    (``machine.py``, ``actions.py``) any operator of the table of rows, views, changes in place, ``out=``, what exchanges
           memory, hooks, backward, threads. No crash, no hang, nothing left alive, the same numbers when the program runs again,
           and a call that is refused has changed nothing.
gradients  (``gradients.py``) views and changes in place only. Values and gradients, to the second order, are those of a
           replay in which no memory is shared.

In ``packages/torch-autograd/tests``::

    python -m sequences --calls 200000 --seed 7 --jobs 2     # a long run
    python -m sequences --replay 7:1234                      # one program again, told call by call
    python -m sequences --replay 7:1234 --steps 0,4,9        # only these of its steps

The programs run in child processes. When one dies, hangs or breaks a promise, the parent looks for the fewest steps that
still do, prints them, and goes on with the next program in a new child.
"""
