"""Errors of the compiler."""


class TorchDynamoException(RuntimeError):
    """Base of the compiler's errors."""


class Unsupported(TorchDynamoException):
    """A program that cannot be captured whole, where that was asked for; the text says what it does and where."""

    def __init__(self, msg="", **kwargs):
        super().__init__(msg)
        self.msg = msg


class InternalTorchDynamoError(TorchDynamoException):
    """An error of the compiler itself."""


class InvalidBackend(TorchDynamoException, ValueError):
    """A backend that is not registered."""


class ResetRequired(TorchDynamoException):
    """What is compiled has to be forgotten first."""


class RecompileError(TorchDynamoException):
    """A function is captured again where that was forbidden."""


class TorchRuntimeError(TorchDynamoException):
    """An operator that fails on the shapes and dtypes of a capture."""


class BackendCompilerFailed(TorchDynamoException):
    """A backend that failed.

    >>> str(BackendCompilerFailed("mine", ValueError("no")))
    "backend='mine' raised: ValueError: no"
    """

    def __init__(self, backend_fn="", inner_exception=None):
        self.backend_name = getattr(backend_fn, "__name__", backend_fn)
        self.inner_exception = inner_exception
        super().__init__(f"backend={self.backend_name!r} raised: {type(inner_exception).__name__}: {inner_exception}")


class RecompileLimitExceeded(Unsupported):
    """Too many programs of one function."""


class FailOnRecompileLimitHit(RecompileLimitExceeded):
    """Too many programs of one function, and ``config.fail_on_recompile_limit_hit``."""


CacheLimitExceeded = RecompileLimitExceeded


class TensorifyScalarRestartAnalysis(TorchDynamoException):
    """A capture that begins anew."""


def __getattr__(name):
    if name in ("UserError", "UserErrorType"):
        from torch.export import _errors

        return getattr(_errors, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
