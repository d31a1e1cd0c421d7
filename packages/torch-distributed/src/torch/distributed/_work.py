"""Handles of operations under way."""

import threading

from torch.futures import Future

from ._stores.base import to_seconds


class Work:
    """An operation under way; what ``async_op=True`` returns.

    A backend of another kind returns a subclass that defines ``wait`` and ``is_completed``.

    >>> dist = torch.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> x = torch.ones(2)
    >>> work = dist.all_reduce(x, async_op=True)
    >>> work.wait()
    True
    >>> dist.destroy_process_group()
    """

    __module__ = "torch.distributed"

    def __init__(self, rank=-1, *_):
        self._rank = rank

    def wait(self, timeout=None) -> bool:
        """Wait until it is done; RuntimeError with the reason when it failed, or took longer than ``timeout``.

        >>> dist = torch.distributed
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> x = torch.ones(2)
        >>> dist.all_reduce(x, async_op=True).wait()
        True
        >>> dist.destroy_process_group()
        """
        raise NotImplementedError(f"{type(self).__name__}.wait")

    def is_completed(self) -> bool:
        """Whether it is done, well or not.

        >>> dist = torch.distributed
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> work = dist.all_reduce(torch.ones(2), async_op=True)
        >>> _ = work.wait()
        >>> work.is_completed()
        True
        >>> dist.destroy_process_group()
        """
        raise NotImplementedError(f"{type(self).__name__}.is_completed")

    def exception(self):
        """What went wrong, or None.

        >>> dist = torch.distributed
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> work = dist.all_reduce(torch.ones(2), async_op=True)
        >>> _ = work.wait()
        >>> print(work.exception())
        None
        >>> dist.destroy_process_group()
        """

    def is_success(self) -> bool:
        """Whether it is done and nothing went wrong.

        >>> dist = torch.distributed
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> work = dist.all_reduce(torch.ones(2), async_op=True)
        >>> _ = work.wait()
        >>> work.is_success()
        True
        >>> dist.destroy_process_group()
        """
        return self.is_completed() and self.exception() is None

    def synchronize(self) -> None:
        """Wait; what a GPU's stream would do is done by the processor here.

        >>> dist = torch.distributed
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> work = dist.all_reduce(torch.ones(2), async_op=True)
        >>> work.synchronize() is None
        True
        >>> dist.destroy_process_group()
        """
        self.wait()

    def block_current_stream(self) -> None:
        """Wait."""
        self.wait()

    def source_rank(self) -> int:
        """The rank that a receive from any rank was served by."""
        return self._rank

    def result(self) -> list:
        """The tensors that the operation has filled."""
        raise NotImplementedError(f"{type(self).__name__}.result")

    def get_future(self) -> Future:
        """A future of the list of tensors that the operation fills."""
        raise NotImplementedError(f"{type(self).__name__}.get_future")

    # the names of 2018
    isCompleted = is_completed
    isSuccess = is_success


class MeshWork(Work):
    """A task of the sockets between ranks."""

    def __init__(self, mesh, task, tensors, source=None):
        super().__init__()
        self._mesh, self._task, self._tensors, self._source = mesh, task, tensors, source
        self._future = None

    def wait(self, timeout=None):
        self._mesh.wait(self._task, None if timeout is None else to_seconds(timeout))
        return True

    def is_completed(self):
        return self._task.done

    isCompleted = is_completed

    def exception(self):
        from ._errors import DistBackendError

        return None if self._task.error is None else DistBackendError(self._task.error)

    def source_rank(self):
        return self._source[0] if self._source else -1

    def result(self):
        if not self._task.done:
            raise RuntimeError("Work.result: the operation is not done; wait() waits for it")
        return self._tensors

    def get_future(self):
        if self._future is None:
            self._future = Future()
            self._task.attended = self._task.done  # a future is waited for without turning the mesh
            self._mesh.then(self._task, self._settle)
        return self._future

    def _settle(self, task):
        if task.error is None:
            self._future.set_result(self._tensors)
        else:
            self._future.set_exception(self.exception())


class FutureWork(Work):
    """Work that is done when a future is."""

    def __init__(self, future):
        super().__init__()
        self._future = future

    def wait(self, timeout=None):
        if timeout is not None:
            done = threading.Event()
            self._future.add_done_callback(lambda _: done.set())
            if not done.wait(to_seconds(timeout)):
                raise RuntimeError(f"Work.wait: not done after {to_seconds(timeout):g} s")
        self._future.wait()
        return True

    def is_completed(self):
        return self._future.done()

    isCompleted = is_completed

    def exception(self):
        if not self._future.done():
            return None
        try:
            self._future.wait()
        except Exception as error:
            return error
        return None

    def result(self):
        return self._future.value()

    def get_future(self):
        return self._future
