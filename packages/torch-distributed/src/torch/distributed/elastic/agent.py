"""The agent of ``torchrun`` on one machine: it starts the ranks there, watches them, and starts all of them again.

The agents of several machines meet at a store that the first of them serves.  One that sees a rank fail says so there,
and all end their ranks; if restarts are left, all start them anew.
"""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from .._errors import DistError
from .._stores import PrefixStore, TCPStore
from .multiprocessing.errors import ChildFailedError, ProcessFailure

PATIENCE = 15.0  # seconds between a request to end and the end by force


@dataclass
class Job:
    """What is to be run, and where: ``processes`` on each of ``machines``, of which this is number ``machine``."""

    command: list
    processes: int
    machines: int = 1
    machine: int | None = None  # None: in the order of arrival
    host: str = "127.0.0.1"
    port: int = 0
    serves: bool | None = None  # None: machine 0 does
    run_id: str = "none"
    role: str = "default"
    max_restarts: int = 0
    interval: float = 0.1
    join_timeout: float = 600.0
    log_dir: str | None = None
    redirects: int = 0  # 1: stdout, 2: stderr, 3: both to files
    tee: int = 0
    environment: dict = field(default_factory=dict)
    legacy_argument: bool = False  # --local-rank=N to the script, as in 2018


class Agent:
    def __init__(self, job: Job):
        self.job = job
        self.workers: list = []
        self.said = -1  # the attempt that this machine has said to have ended well
        self.folder = Path(job.log_dir or tempfile.mkdtemp(prefix="torchrun_"))
        self.temporary = job.log_dir is None
        serves = job.serves if job.serves is not None else job.machine in (0, None)
        self.store_server = TCPStore(
            job.host, job.port, is_master=serves, timeout=timedelta(seconds=job.join_timeout), wait_for_workers=False
        )
        self.store = PrefixStore(f"agents/{job.run_id}", self.store_server)
        self.machine = job.machine
        if self.machine is None:
            self.machine = self.store.add("machines", 1) - 1 if job.machines > 1 else 0
        if self.machine >= job.machines:
            raise ValueError(
                f"torchrun: machine {self.machine} of {job.machines} has come; the job {job.run_id!r} is full"
            )

    def run(self) -> None:
        """Run the job to its end; ChildFailedError when it fails more often than ``max_restarts``."""
        before = {s: signal.signal(s, self._interrupted) for s in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
        try:
            for attempt in range(self.job.max_restarts + 1):
                self._gather(attempt)
                self._start(attempt)
                failures = self._watch(attempt)
                if failures is None:
                    return
                self._end()
                if attempt == self.job.max_restarts:
                    raise (
                        ChildFailedError(self._name(), failures)
                        if failures
                        else RuntimeError(
                            f"torchrun: the job failed on another machine: {self.store.get(f'failed/{attempt}').decode()}"
                        )
                    )
                print(f"torchrun: {ChildFailedError(self._name(), failures) if failures else 'a rank failed elsewhere'}\n"
                      f"torchrun: restart {attempt + 1} of {self.job.max_restarts}", file=sys.stderr, flush=True)  # fmt: skip
        finally:
            self._end()
            for number, handler in before.items():
                signal.signal(number, handler)
            self._leave()

    def _name(self):
        return " ".join(map(str, self.job.command[:3]))

    def _interrupted(self, number, frame):
        raise SystemExit(128 + number)  # which ends the workers on its way

    def _gather(self, attempt):
        if self.job.machines > 1:
            self.store.barrier(f"ready/{attempt}", self.job.machines)

    def _leave(self):
        """The one that serves the store stays until the others have seen the end."""
        try:
            left = self.store.add("left", 1)
            deadline = time.monotonic() + 10
            while self.store_server.is_master and left < self.job.machines and time.monotonic() < deadline:
                time.sleep(0.05)
                left = self.store.add("left", 0)
        except DistError:
            pass  # the store has gone with the machine that served it
        self.store_server.close()
        if self.temporary:
            import shutil

            shutil.rmtree(self.folder, ignore_errors=True)

    # ---- processes

    def _start(self, attempt):
        job = self.job
        world = job.machines * job.processes
        for local in range(job.processes):
            rank = self.machine * job.processes + local
            folder = self.folder / f"attempt_{attempt}" / str(local)
            folder.mkdir(parents=True, exist_ok=True)
            error_file = folder / "error.json"
            error_file.unlink(missing_ok=True)
            environment = os.environ | job.environment | {
                "RANK": rank, "LOCAL_RANK": local, "GROUP_RANK": self.machine, "ROLE_RANK": rank, "ROLE_NAME": job.role,
                "WORLD_SIZE": world, "LOCAL_WORLD_SIZE": job.processes, "GROUP_WORLD_SIZE": job.machines,
                "ROLE_WORLD_SIZE": world, "MASTER_ADDR": job.host, "MASTER_PORT": self.store_server.port,
                "TORCHELASTIC_RESTART_COUNT": attempt, "TORCHELASTIC_MAX_RESTARTS": job.max_restarts,
                "TORCHELASTIC_RUN_ID": job.run_id, "TORCHELASTIC_USE_AGENT_STORE": "True",
                "TORCHELASTIC_ERROR_FILE": error_file,
            }  # fmt: skip
            if job.processes > 1:
                environment.setdefault("OMP_NUM_THREADS", "1")
            command = [*job.command]
            if job.legacy_argument:
                at = 3 if len(command) > 2 and command[2] == "-m" else 2
                command.insert(at + (command[1:2] == ["-u"]), f"--local-rank={local}")
            outputs = {}
            for bit, name in ((1, "stdout"), (2, "stderr")):
                if job.redirects & bit:
                    outputs[name] = open(folder / f"{name}.log", "wb")  # noqa: SIM115  (the child's)
            process = subprocess.Popen(command, env={k: str(v) for k, v in environment.items()}, **outputs)
            for output in outputs.values():
                output.close()
            self.workers.append((rank, local, process, error_file))

    def _watch(self, attempt):
        """None when all ranks have ended well; else the failures of this machine by rank, none if it was elsewhere."""
        several = self.job.machines > 1
        while True:
            failures = {
                rank: ProcessFailure(local, process.pid, process.returncode, str(error_file), rank)
                for rank, local, process, error_file in self.workers
                if process.poll() not in (None, 0)
            }
            if failures:
                if several:
                    rank = min(failures)
                    self.store.compare_set(
                        f"failed/{attempt}", "", f"rank {rank} on {socket.gethostname()}: {failures[rank].message}"
                    )
                return failures
            if several and self.store.check([f"failed/{attempt}"]):
                return {}
            if all(process.returncode == 0 for _, _, process, _ in self.workers):
                if not several:
                    return None
                if self.said != attempt:
                    self.said = attempt
                    self.store.add(f"done/{attempt}", 1)
                if self.store.add(f"done/{attempt}", 0) == self.job.machines:
                    return None
            time.sleep(self.job.interval)

    def _end(self):
        """No process of the job outlives this: it is asked, and after a while made to end."""
        for _, _, process, _ in self.workers:
            if process.poll() is None:
                process.terminate()
        deadline = time.monotonic() + PATIENCE
        for _, _, process, _ in self.workers:
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.workers = []
