"""Errors of the compiler, for programs that catch them; nothing raises them while there is none."""


class TorchDynamoException(RuntimeError):
    """Base of the compiler's errors."""


class Unsupported(TorchDynamoException):
    """A construct that cannot be captured."""


class BackendCompilerFailed(TorchDynamoException):
    """A backend that failed."""


class FailOnRecompileLimitHit(TorchDynamoException):
    """Too many compilations of one function."""


class TensorifyScalarRestartAnalysis(TorchDynamoException):
    """A capture that begins anew."""
