"""What `gstream run --help` shows: options in groups, and with an algorithm's name before --help only what it takes."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

from gstream.algorithms.registry import ALGORITHMS, add_installed
from gstream.cli.plain_values import take_plainly
from gstream.cli.run_arguments import COUNTED, DRIVERS, OWN, help_of, made_again, takes

FIRST, KNOWN, LAST = "Arguments", "Algorithms", "Other"
ASKED = "gstream.algorithm"  # in a context's meta: the algorithm that is named before --help, if any


class RunCommand(TyperCommand):
    """A command with the options of gstream.cli.run_arguments."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command line; --help ends it here. Other packages may have the algorithm that it names."""
        if not ALGORITHMS.keys() & set(args):
            add_installed()
            again = made_again(self.callback.__wrapped__)  # type: ignore[union-attr]
            self.params, self.callback = again.params, again.callback
            take_plainly(self)
        ctx.meta[ASKED] = next((ALGORITHMS[word] for word in args if word in ALGORITHMS), None)
        return super().parse_args(ctx, args)

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """The command's docstring, and what the algorithm is."""
        super().format_help_text(ctx, formatter)
        algorithm = ctx.meta.get(ASKED)
        if algorithm is not None:
            with formatter.indentation():
                formatter.write_paragraph()
                formatter.write_text(f"{algorithm.name}: {algorithm.title}.")

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """A section a group; of the algorithms' own options those that the named one has, in its words."""
        algorithm = ctx.meta.get(ASKED)
        own = {} if algorithm is None else {option.name: [(algorithm.name, option)] for option in algorithm.options}
        sections: dict[str, list[tuple[str, str]]] = {
            heading: [] for heading in (FIRST, KNOWN, OWN, *COUNTED, *DRIVERS, LAST)
        }
        if algorithm is None:
            sections[KNOWN] = [(name, f"{one.title}.") for name, one in ALGORITHMS.items()]
        for parameter in self.get_params(ctx):
            record, heading = parameter.get_help_record(ctx), getattr(parameter, "rich_help_panel", None)
            if record is None or algorithm is not None and not takes(algorithm, parameter.name, heading):
                continue
            if parameter.name == "algorithm" and algorithm is not None:
                record = (record[0], "gstream run --help lists them all.  [required]")
            if parameter.name in own:
                record = (record[0], help_of(own[parameter.name]).partition(": ")[2])
            sections[heading or (FIRST if parameter.param_type_name == "argument" else LAST)].append(record)
        for heading, records in sections.items():
            if records:
                with formatter.section(f"Options of {algorithm.name}" if algorithm and heading == OWN else heading):
                    formatter.write_dl(records)


class StatsCommand(RunCommand):
    """A command of the one algorithm that it is named for."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.meta[ASKED] = ALGORITHMS[str(self.name)]
        return TyperCommand.parse_args(self, ctx, args)
