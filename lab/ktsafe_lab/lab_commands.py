"""The `ktsafe-lab` command; it reads, tells and ends as `ktsafe` does."""

from __future__ import annotations

from ktsafe.stream import cli  # the first: it settles where compiled kernels are kept

import typer  # isort: skip

from ktsafe_lab.compare.compare import compare  # isort: skip

app = typer.Typer(
    name="ktsafe-lab",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode=None,
)
app.command("compare")(compare)


@app.callback()
def laboratory() -> None:
    """Compare what parameters and strategies cost; nothing of it is published."""


def main() -> None:
    """Run the command line and exit with its code."""
    cli.main(app)


if __name__ == "__main__":
    main()
