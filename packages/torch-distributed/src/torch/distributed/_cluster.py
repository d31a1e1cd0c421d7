"""What Slurm and MPI tell a process that they start, in the words of ``env://``."""

import os
import re

__all__ = ["place"]

_RANKS = (
    ("Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"),
    ("Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"),
    ("MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"),
)


def first_host(nodes: str) -> str:
    """The first machine of a list as Slurm writes it.

    >>> first_host("node[007-010,12],other"), first_host("a1,b2"), first_host("gpu-[3,5]-x")
    ('node007', 'a1', 'gpu-3-x')
    """
    found = re.match(r"([^,\[]*)(?:\[([^\]]*)\])?([^,\[]*)", nodes)
    prefix, numbers, rest = found.groups()
    return prefix + (re.split("[,-]", numbers)[0] if numbers else "") + rest


def place(environment=os.environ) -> dict:
    """RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT, as far as a scheduler's variables tell them.

    >>> place({"SLURM_PROCID": "3", "SLURM_NTASKS": "4", "SLURM_STEP_NODELIST": "n[1-2]", "SLURM_JOB_ID": "77"})
    {'RANK': '3', 'WORLD_SIZE': '4', 'MASTER_ADDR': 'n1', 'MASTER_PORT': '20077'}
    >>> place({})
    {}
    """
    for _, rank, size, local in _RANKS:
        if rank not in environment or size not in environment:
            continue
        found = {"RANK": environment[rank], "WORLD_SIZE": environment[size]}
        if local in environment:
            found["LOCAL_RANK"] = environment[local]
        nodes = environment.get("SLURM_STEP_NODELIST") or environment.get("SLURM_JOB_NODELIST")
        if nodes and rank == "SLURM_PROCID":
            found["MASTER_ADDR"] = first_host(nodes)
        if "SLURM_JOB_ID" in environment and rank == "SLURM_PROCID":
            # The same on all machines, and another for jobs side by side.
            found["MASTER_PORT"] = str(20000 + int(environment["SLURM_JOB_ID"]) % 10000)
        return found
    return {}
