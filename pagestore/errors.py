"""Errors a user can cause or meet; each carries the exit code of the command line.

Message form: where, offending text, limit, remedy. Example:
`web.txt:1041:7: vertex ID -3 is negative; IDs run from 0 to 2^63-1. Fix the line, or pass --bad-lines skip.`
"""

from __future__ import annotations


class GstreamError(Exception):
    """Base of every error that is shown as one plain line, without a traceback."""

    exit_code = 1


class UsageError(GstreamError):
    """Options that contradict each other or the store (exit 2)."""

    exit_code = 2


class DeviceMissingError(GstreamError):
    """A device that was asked for is not there (exit 3)."""

    exit_code = 3


class InputError(GstreamError):
    """Input that can't be read as a graph, or a store that can't be trusted (exit 4)."""

    exit_code = 4


class StoreError(InputError):
    """A store that is truncated, damaged, of another version, or no store at all (exit 4)."""


class ResourceError(GstreamError):
    """Memory, disk or open files ran out (exit 5)."""

    exit_code = 5
