"""``torchrun``: starts the processes of a job on this machine, and again when one fails.

::

    torchrun --nproc-per-node 4 train.py --lr 0.1
    torchrun --nnodes 2 --nproc-per-node 4 --rdzv-endpoint first.example:29400 --rdzv-id 7 train.py   # on both machines

Each process finds RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR and their like in its environment, by which
``init_process_group()`` meets the others.
"""

import argparse
import os
import sys

from .elastic.agent import Agent, Job
from .elastic.multiprocessing.api import Std
from .elastic.multiprocessing.errors import ChildFailedError

__all__ = ["determine_local_world_size", "get_args_parser", "main", "parse_args", "parse_min_max_nnodes", "run"]


def get_args_parser() -> argparse.ArgumentParser:
    """The options of ``torchrun``."""
    parser = argparse.ArgumentParser(
        prog="torchrun", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    add = parser.add_argument
    add("--nnodes", default="1", help="number of machines, or MIN:MAX of them")
    add("--nproc-per-node", "--nproc_per_node", default="1", help="processes on each: a number, or auto, cpu, gpu")
    add(
        "--rdzv-backend",
        "--rdzv_backend",
        default="static",
        help="static or c10d: machines numbered in order of arrival",
    )
    add("--rdzv-endpoint", "--rdzv_endpoint", default="", help="host:port of the first machine")
    add("--rdzv-id", "--rdzv_id", default="none", help="name of the job")
    add(
        "--rdzv-conf",
        "--rdzv_conf",
        default="",
        help="key=value,...: join_timeout, last_call_timeout, keep_alive_timeout, is_host",
    )
    add("--standalone", action="store_true", help="one machine, at a free port")
    add("--max-restarts", "--max_restarts", type=int, default=0)
    add(
        "--monitor-interval",
        "--monitor_interval",
        type=float,
        default=0.1,
        help="seconds between looks at the processes",
    )
    add("--start-method", "--start_method", default="spawn", choices=["spawn", "fork", "forkserver"],
        help="accepted; every process is started as a program")  # fmt: skip
    add("--role", default="default")
    add("-m", "--module", action="store_true", help="the script is a module, as for python -m")
    add("--no-python", "--no_python", action="store_true", help="the script is a program of its own")
    add("--run-path", "--run_path", action="store_true", help="accepted: scripts are always run so")
    add("--log-dir", "--log_dir", default=None, help="folder for logs and error files")
    add(
        "-r",
        "--redirects",
        default="0",
        help="1: stdout, 2: stderr, 3: both go to files in --log-dir; or by rank: 0:3,1:2",
    )
    add("-t", "--tee", default="0", help="as --redirects, to files and to the console")
    add("--local-ranks-filter", "--local_ranks_filter", default="", help="ranks here that the console shows: 0,1")
    add("--node-rank", "--node_rank", type=int, default=None, help="number of this machine")
    add("--master-addr", "--master_addr", default=None, help="address of machine 0")
    add("--master-port", "--master_port", type=int, default=None, help="port there")
    add("--local-addr", "--local_addr", default=None, help="accepted: addresses are found at the store")
    add("training_script", help="script, module or program")
    add("training_script_args", nargs=argparse.REMAINDER)
    return parser


def parse_args(args=None) -> argparse.Namespace:
    """The options as an object; those not given may come from PET_<NAME> in the environment."""
    parser = get_args_parser()
    for action in parser._actions:
        name = f"PET_{action.dest.upper()}"
        if name in os.environ and action.dest != "help":
            value = os.environ[name]
            action.default = value == "1" if action.const is True else action.type(value) if action.type else value
    return parser.parse_args(args)


def parse_min_max_nnodes(nnodes: str):
    """The least and the largest number of machines of ``"4"`` or ``"2:4"``.

    >>> parse_min_max_nnodes("4"), parse_min_max_nnodes("2:4")
    ((4, 4), (2, 4))
    """
    numbers = str(nnodes).split(":")
    if len(numbers) > 2 or not all(n.isdigit() and int(n) > 0 for n in numbers):
        raise RuntimeError(f'nnodes={nnodes} is not in "MIN:MAX" format')
    return int(numbers[0]), int(numbers[-1])


def determine_local_world_size(nproc_per_node: str) -> int:
    """How many processes to start here.

    >>> determine_local_world_size("3")
    3
    """
    if nproc_per_node in ("auto", "cpu"):
        return len(os.sched_getaffinity(0))
    if nproc_per_node in ("gpu", "xpu"):
        raise ValueError(f"--nproc-per-node {nproc_per_node}: there is no such device here")
    try:
        count = int(nproc_per_node)
    except ValueError:
        count = 0
    if count < 1:
        raise ValueError(f"Unsupported nproc_per_node value: {nproc_per_node}")
    return count


def _job(args) -> Job:
    least, most = parse_min_max_nnodes(args.nnodes)
    if least > most:
        raise ValueError(f"torchrun --nnodes {args.nnodes}: the first number is the larger one")
    elastic = ":" in str(args.nnodes)
    if elastic and args.rdzv_backend != "c10d":
        raise ValueError(f"torchrun --nnodes {args.nnodes}: machines that come and go need --rdzv-backend c10d")
    if elastic and not args.rdzv_endpoint:
        raise ValueError(f"torchrun --nnodes {args.nnodes}: machines meet at --rdzv-endpoint HOST:PORT")
    if args.rdzv_backend not in ("static", "c10d"):
        raise NotImplementedError(f"torchrun --rdzv-backend {args.rdzv_backend}: there are static and c10d")
    redirects, tee = _streams("redirects", args.redirects), _streams("tee", args.tee)
    if redirects and args.log_dir is None:
        raise ValueError("torchrun --redirects needs --log-dir")
    shown = None
    if args.local_ranks_filter:
        if not all(one.strip().isdigit() for one in args.local_ranks_filter.split(",")):
            raise ValueError(f"torchrun --local-ranks-filter {args.local_ranks_filter}: expected ranks as in 0,2")
        shown = {int(one) for one in args.local_ranks_filter.split(",")}
    conf = dict(pair.split("=", 1) for pair in args.rdzv_conf.split(",") if "=" in pair)
    host, port = args.master_addr or "127.0.0.1", 29500 if args.master_port is None else args.master_port
    if args.rdzv_endpoint and not args.standalone:
        host, _, number = (
            args.rdzv_endpoint.rpartition(":") if ":" in args.rdzv_endpoint else (args.rdzv_endpoint, "", "29400")
        )
        port = int(number)
    elif args.standalone or (most == 1 and not elastic and args.master_port is None):
        host, port = "127.0.0.1", 0
    machine = args.node_rank if most > 1 and (args.rdzv_backend == "static" or args.node_rank is not None) else None
    if most > 1 and machine is None and args.rdzv_backend == "static":
        machine = 0
    serves = {"true": True, "1": True, "false": False, "0": False}.get(conf.get("is_host", "").lower())
    if serves is None and (most > 1 or elastic) and machine is None:
        serves = _is_here(host)
    interpreter = [] if args.no_python else [sys.executable, "-u", *(["-m"] if args.module else [])]
    if args.no_python and args.module:
        raise ValueError("Don't use both the '--no-python' flag and the '--module' flag at the same time.")
    return Job(
        [*interpreter, args.training_script, *args.training_script_args],
        determine_local_world_size(args.nproc_per_node),
        most,
        machine,
        host,
        port,
        serves,
        args.rdzv_id,
        args.role,
        args.max_restarts,
        args.monitor_interval,
        float(conf.get("join_timeout", 600)),
        args.log_dir,
        redirects,
        tee,
        shown,
        legacy_argument=getattr(args, "legacy_argument", False),
        least=least if elastic else None,
        last_call=float(conf.get("last_call_timeout", 30)),
        silence=float(conf.get("keep_alive_timeout", 15)),
    )


def _streams(option, text):
    try:
        return Std.from_str(text)
    except ValueError as error:
        raise ValueError(f"torchrun --{option}: {error}") from None


def _is_here(host) -> bool:
    """Whether an address is one of this machine."""
    import socket

    try:
        with socket.create_server((socket.gethostbyname(host), 0)):
            return True
    except OSError:
        return False


def run(args) -> None:
    """Run a job by its options; ChildFailedError when it fails."""
    Agent(_job(args)).run()


def main(args=None) -> None:
    """The command ``torchrun``; it ends with 1, and says which rank failed first, when the job fails."""
    try:
        run(parse_args(args))
    except ChildFailedError as error:
        print(f"torchrun: {error}", file=sys.stderr)
        sys.exit(1)
    except (NotImplementedError, ValueError, RuntimeError) as error:
        print(f"torchrun: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
