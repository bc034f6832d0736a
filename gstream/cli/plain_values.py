"""Words of a command line that need no conversion: texts, names of files, and numbers in digits.

Newer versions of typer convert every option's value by pydantic, absent ones too. To load pydantic, and to make a
converter for each of 60 options, took a sixth of a short command. Here typer is asked only for values that need it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, get_args, get_origin

# Settings of a file's name, and of a number, that typer looks after.
LIMITS = ("exists", "writable", "resolve_path", "path_type", "min", "max")
NUMBERS = {int: re.compile("-?[0-9]{1,18}"), float: re.compile(r"-?[0-9]{1,18}(\.[0-9]{1,18})?")}


class PlainValue:
    """Stands where typer would keep a parameter's converter, which is made when a value needs it."""

    def __init__(self, parameter: Any) -> None:
        self.descriptor = parameter.type_descriptor
        annotation = self.descriptor.annotation
        self.listed = get_origin(annotation) is list
        self.kind = get_args(annotation)[0] if self.listed else annotation
        info = self.descriptor.parameter_info
        limits = [getattr(info, name, None) for name in LIMITS]
        free = all(limit is None or limit is False for limit in limits)  # a least number of 0 is a limit
        self.unlimited = free and info.file_okay and info.dir_okay
        self.readable, self.parser = info.readable, getattr(info, "parser", None)
        self.converter: Any = None

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value as the command gets it."""
        if isinstance(value, bool) and self.kind is bool:
            return value
        several = param.multiple or param.nargs == -1
        if value is None:
            return () if several else None
        if several == self.listed and self.parser is None:
            words = value if several else [value]
            if isinstance(words, list | tuple) and all(map(self._is_plain, words)):
                made = [self.kind(word) for word in words]
                return made if several else made[0]
        if self.converter is None:
            from typer._coercion import build_runtime_param

            self.converter = build_runtime_param(self.descriptor)
        return self.converter.coerce(value, param=param, ctx=ctx)

    def _is_plain(self, word: Any) -> bool:
        if self.kind is str:
            return isinstance(word, str)
        if self.kind in NUMBERS and self.unlimited:
            return type(word) is self.kind or (isinstance(word, str) and bool(NUMBERS[self.kind].fullmatch(word)))
        if self.kind is not Path or not self.unlimited or not isinstance(word, str | Path):
            return False
        return not self.readable or os.access(word, os.R_OK) or not os.path.exists(word)


def take_plainly(command: Any) -> None:
    """Let a command's parameters be read so. Does nothing for versions of typer that convert in another way."""
    context = command.context_class(command)
    for parameter in command.get_params(context):  # --help with them
        if getattr(parameter, "_runtime_param", parameter) is None and hasattr(parameter, "type_descriptor"):
            parameter._runtime_param = PlainValue(parameter)
