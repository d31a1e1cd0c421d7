"""Why a program cannot be exported."""

from __future__ import annotations

__all__ = ["GuardError", "UserError", "UserErrorType"]

import enum

from torch._dynamo.exc import TorchDynamoException


class UserErrorType(enum.Enum):
    """What the program does that an exported one cannot."""

    DYNAMIC_CONTROL_FLOW = "dynamic_control_flow"
    ANTI_PATTERN = "anti_pattern"
    STANDARD_LIBRARY = "standard_library"
    CONSTRAINT_VIOLATION = "constraint_violation"
    DYNAMIC_DIM = "dynamic_dim"
    INVALID_INPUT = "invalid_input"
    INVALID_OUTPUT = "invalid_output"
    UNSUPPORTED_ALIASED_MUTATED_DYNAMIC_INPUTS = "unsupported_aliased_mutated_dynamic_inputs"


class GuardError(AssertionError, RuntimeError):
    """A call of an exported program does not fit it; caught as AssertionError, which it is in PyTorch, and as RuntimeError."""


class UserError(TorchDynamoException):
    """The program, or what it was called with, cannot be exported: the text says what, and in which line."""

    def __init__(self, error_type: UserErrorType, msg: str, case_name: str | None = None) -> None:
        super().__init__(msg)
        self.error_type = error_type
        self.msg = self.message = msg
        self.case_name = case_name
