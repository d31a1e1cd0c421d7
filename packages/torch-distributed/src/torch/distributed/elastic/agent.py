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
from .membership import Membership
from .multiprocessing.api import Std, of_rank
from .multiprocessing.errors import ChildFailedError, ProcessFailure
from .outputs import Outputs

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
    redirects: int | dict = 0  # 1: stdout, 2: stderr, 3: both to files; or by the rank on the machine
    tee: int | dict = 0
    shown: set | None = None  # ranks on the machine whose output the console shows; None: all
    environment: dict = field(default_factory=dict)
    legacy_argument: bool = False  # --local-rank=N to the script, as in 2018
    least: int | None = None  # so few machines may take part, and they come and go
    last_call: float = 30.0  # seconds to wait for more of them
    silence: float = 15.0  # seconds after which one that shows no life has gone


class Agent:
    def __init__(self, job: Job):
        self.job = job
        self.workers: list = []
        self.outputs: list = []
        self.said = -1  # the attempt that this machine has said to have ended well
        self.folder = Path(job.log_dir or tempfile.mkdtemp(prefix="torchrun_"))
        self.temporary = job.log_dir is None
        serves = job.serves if job.serves is not None else job.machine in (0, None)
        self.store_server = TCPStore(
            job.host, job.port, is_master=serves, timeout=timedelta(seconds=job.join_timeout), wait_for_workers=False
        )
        self.store = PrefixStore(f"agents/{job.run_id}", self.store_server)
        self.machine, self.machines = job.machine, job.machines
        self.membership = None
        if job.least is not None:
            self.membership = Membership(
                self.store, job.least, job.machines, job.join_timeout, job.last_call, job.silence
            )
            self.machine = -1  # each round says
        elif self.machine is None:
            self.machine = self.store.add("machines", 1) - 1 if job.machines > 1 else 0
        if self.machine >= job.machines:
            raise ValueError(
                f"torchrun: machine {self.machine} of {job.machines} has come; the job {job.run_id!r} is full"
            )

    def run(self) -> None:
        """Run the job to its end; ChildFailedError when it fails more often than ``max_restarts``."""
        before = {s: signal.signal(s, self._interrupted) for s in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
        try:
            if self.membership is not None:
                self._run_rounds()
            else:
                self._run_attempts()
        finally:
            self._end()
            for number, handler in before.items():
                signal.signal(number, handler)
            self._leave()

    def _run_attempts(self):
        for attempt in range(self.job.max_restarts + 1):
            self._gather(attempt)
            self._start(attempt)
            failures = self._watch(attempt)
            if failures is None:
                return
            self._end()
            if attempt == self.job.max_restarts:
                if failures:
                    raise ChildFailedError(self._name(), failures)
                reason = self.store.get(f"failed/{attempt}").decode()
                raise RuntimeError(f"torchrun: the job failed on another machine: {reason}")
            self._say(failures, f"restart {attempt + 1} of {self.job.max_restarts}")

    def _run_rounds(self):
        """As long as machines come and go."""
        while True:
            entered = self.membership.join()
            self.machine, self.machines = entered.place, entered.count
            self._start(entered.number)
            failures, reason = self._watch_round()
            if reason is None:
                return
            self._end()
            failed = self.membership.failures()
            if failed > self.job.max_restarts:
                if failures:
                    raise ChildFailedError(self._name(), failures)
                raise RuntimeError(f"torchrun: the job failed: {reason}")
            self._say(failures, f"{reason}; a new round, {failed} of {self.job.max_restarts} restarts")

    def _watch_round(self):
        """(None, None) when the ranks of all machines have ended well; else our failures, and why the round is over."""
        while True:
            failures = self._failures()
            if failures:
                rank = min(failures)
                return failures, self.membership.end(f"rank {rank}: {failures[rank].message}")
            if all(process.returncode == 0 for _, _, process, _ in self.workers) and self.membership.finished():
                return None, None
            reason = self.membership.look()
            if reason is not None:
                return None, reason
            time.sleep(self.job.interval)

    def _failures(self):
        return {
            rank: ProcessFailure(local, process.pid, process.returncode, str(error_file), rank)
            for rank, local, process, error_file in self.workers
            if process.poll() not in (None, 0)
        }

    def _say(self, failures, what):
        reason = ChildFailedError(self._name(), failures) if failures else "a rank failed elsewhere"
        print(f"torchrun: {reason}\ntorchrun: {what}", file=sys.stderr, flush=True)

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
            while self.store_server.is_master and left < self.machines and time.monotonic() < deadline:
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
        world = self.machines * job.processes
        for local in range(job.processes):
            rank = self.machine * job.processes + local
            folder = self.folder / f"attempt_{attempt}" / str(local)
            folder.mkdir(parents=True, exist_ok=True)
            error_file = folder / "error.json"
            error_file.unlink(missing_ok=True)
            environment = os.environ | job.environment | {
                "RANK": rank, "LOCAL_RANK": local, "GROUP_RANK": self.machine, "ROLE_RANK": rank, "ROLE_NAME": job.role,
                "WORLD_SIZE": world, "LOCAL_WORLD_SIZE": job.processes, "GROUP_WORLD_SIZE": self.machines,
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
            redirects, tee = of_rank(job.redirects, local), of_rank(job.tee, local)
            if job.shown is not None and local not in job.shown:
                redirects, tee = Std.ALL, Std.NONE
            outputs = Outputs(folder, job.role, rank, redirects, tee)
            process = subprocess.Popen(command, env={k: str(v) for k, v in environment.items()}, **outputs.arguments())
            outputs.attach(process, {"stdout": sys.stdout, "stderr": sys.stderr})
            self.outputs.append(outputs)
            self.workers.append((rank, local, process, error_file))

    def _watch(self, attempt):
        """None when all ranks have ended well; else the failures of this machine by rank, none if it was elsewhere."""
        several = self.job.machines > 1
        while True:
            failures = self._failures()
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
        for outputs in self.outputs:
            outputs.finish()
        self.workers, self.outputs = [], []
