"""`ktsafe rebase`: begin a new sequence of releases from the same true graph."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from stream.errors import Exit


def rebase(
    config: Annotated[Path, typer.Argument(help="The service's TOML file.", metavar="CONFIG")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> int:
    """Begin a new sequence, with the parameters that the configuration has now.

    The true graph and the offsets stay; a release not yet published is given up. An attribute that
    is new in the schema is missing for everybody until events give it. Everybody gets a new id and
    other candidates. Whoever has releases before and after links people by their ties and keeps
    only candidates that fit both: one linked rebase left 40% of people with fewer than k. `ktsafe
    audit` of both sequences tells how many it is for yours.
    """
    from stream import assembly, service
    from stream import config as configuration

    settings = configuration.load(config)
    if not yes:
        typer.confirm(
            "Readers of releases before and after can link the two sequences, and most people then "
            "have fewer candidates than k. Begin a new one?",
            abort=True,
        )
    store = assembly.open_store(settings, accept_schema=True)
    try:
        digest = service.inputs_digest(
            settings.params, settings.schema, assembly.frozen_inputs(settings)
        )
        store.ledger.drop_cut()
        sequence = service.new_sequence(
            digest, time.time_ns() // 1000, seed=settings.config.release.seed
        )
        store.ledger.start_sequence(sequence)
    finally:
        store.close()
    typer.echo(f"new sequence {sequence.sequence_id}; `ktsafe run {config}` continues with it")
    return Exit.OK
