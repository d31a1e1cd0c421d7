"""What can go wrong with a file, as the classes that users of ``torch.load`` catch."""

from pickle import UnpicklingError


class FileFormatError(RuntimeError):
    """The file is not what it should be: truncated, altered, of another format, or built to do harm."""


class UnsafeGlobalError(UnpicklingError):
    """The file names a class or function that is not on the list of data types; ``global_name`` says which one."""

    def __init__(self, message: str, global_name: str):
        super().__init__(message)
        self.global_name = global_name


class CorruptPickleError(UnpicklingError):
    """The object stream inside the file is broken."""
