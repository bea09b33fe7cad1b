# SPDX-License-Identifier: Apache-2.0
"""What sessions refuse, by the status of the capture runtime (the numbers of gRPC)."""


class Error(RuntimeError):
    """A call of the capture runtime that did not do what was asked; `code` is its status."""

    code = 13


class CancelledError(Error):
    code = 1


class InvalidArgumentError(Error, ValueError):
    code = 3


class DeadlineExceededError(Error):
    code = 4


class NotFoundError(Error):
    code = 5


class AlreadyExistsError(Error):
    code = 6


class PermissionDeniedError(Error):
    code = 7


class ResourceExhaustedError(Error):
    code = 8


class FailedPreconditionError(Error):
    code = 9


class UnimplementedError(Error):
    code = 12


class InternalError(Error):
    code = 13


class UnavailableError(Error):
    code = 14


_BY_CODE = {kind.code: kind for kind in Error.__subclasses__()}


def from_status(code, text):
    """The exception for a status that is not OK."""
    return _BY_CODE.get(code, Error)(text)
