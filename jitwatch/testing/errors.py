"""How a test fails."""

from __future__ import annotations


class GateError(AssertionError):
    """A test that jitwatch fails. The message is all a reader needs: pytest prints it without a traceback."""


class RecompileError(GateError):
    """Launches missed Triton's in-memory cache where the test says that they must not."""

    __module__ = "jitwatch.testing"  # where to import it from, as a traceback names it

    def __init__(self, message: str, kernels: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.kernels = kernels
        """Names of the kernels that missed."""


class UnwatchableError(GateError):
    """What the test asks for cannot be measured here, and passing would say that it was."""
