"""The errors a user can see. Each message names the file, the field and what to do; the class gives the exit code."""

from __future__ import annotations


class ShellbenchError(Exception):
    """Something stopped the work; the message says what and how to mend it."""

    exit_code = 1


class InputError(ShellbenchError):
    """The input cannot be read as a matrix."""


class OutputError(ShellbenchError):
    """The output folder cannot be written without harming something that is not ours."""


class ReportError(ShellbenchError):
    """The notebook did not run to its end, or a promised file is missing."""


class ParameterError(ShellbenchError):
    """A parameter is unknown, missing or of the wrong kind."""

    exit_code = 2


class UploadRefusedError(ShellbenchError):
    """The bucket could not be proved private."""

    exit_code = 3


class UploadNotVerifiedError(ShellbenchError):
    """What lies in the bucket could not be verified, or differs from the bundle."""

    exit_code = 4
