"""``python -m torch.distributed.launch``: :mod:`torch.distributed.run` with ``--local-rank=N`` among the script's options.

With ``--use-env`` the script reads LOCAL_RANK instead.
"""

import sys

from . import run


def parse_args(args):
    """The options, those of ``torchrun`` and ``--use-env``.

    >>> torch.distributed.launch.parse_args(["--nproc-per-node", "2", "train.py"]).nproc_per_node
    '2'
    """
    args = list(sys.argv[1:] if args is None else args)
    use_env = [a for a in args[: _script(args)] if a in ("--use-env", "--use_env")]
    options = run.parse_args(
        [a for i, a in enumerate(args) if not (i < _script(args) and a in ("--use-env", "--use_env"))]
    )
    options.use_env = bool(use_env)
    options.legacy_argument = not options.use_env
    return options


def _script(args) -> int:
    """Where the script stands: the first argument that ends our options."""
    options = {
        name for action in run.get_args_parser()._actions if action.nargs is None for name in action.option_strings
    }
    i = 0
    while i < len(args) and args[i].startswith("-"):
        i += 2 if args[i] in options else 1
    return i


def main(args=None) -> None:
    """Start a job as :func:`torch.distributed.run.main` does.

    >>> torch.distributed.launch.main(["--nproc-per-node", "1"])
    Traceback (most recent call last):
        ...
    SystemExit: 2
    """
    try:
        run.run(parse_args(args))
    except run.ChildFailedError as error:
        print(f"launch: {error}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
