"""`ktsafe rebase`: begin a new sequence from the same graph."""

from __future__ import annotations

import time
from contextlib import closing

from ktsafe.stream.config.places import check_there
from ktsafe.stream.errors import Exit
from ktsafe.stream.process.command_line import Config, Json, Wait, Yes, ask_first, say


def rebase(
    config: Config,
    yes: Yes = False,
    wait: Wait = 600.0,
    as_json: Json = False,
) -> int:
    """Begin a new sequence, with the parameters that the configuration has now.

    The true graph and the offsets stay; a release not yet published is given up. An attribute that
    is new in the schema is missing for everybody until events give it. Everybody gets a new id and
    other candidates. An attacker with releases before and after links people by their ties and
    keeps only candidates that fit both: one linked rebase left 40% of people with fewer than k.
    `ktsafe audit` of both sequences tells how many it is for yours.

    A running service begins it once no release is in flight; where the configuration has changed
    since its start it must be stopped before.
    """
    from ktsafe.stream.config import places
    from ktsafe.stream.config import settings as configuration
    from ktsafe.stream.release.sequence_inputs import inputs_digest, new_sequence
    from ktsafe.stream.service import assembly
    from ktsafe.stream.service.control_wire import Arguments, ask

    settings = configuration.load(config)
    if not yes:
        ask_first(
            "Readers of releases before and after can link the two sequences, and many people then "
            "have fewer candidates than k. Begin a new one?"
        )
    private = places.private_folder(settings)
    check_there(private, "rebase")
    digest = inputs_digest(settings.params, settings.schema, assembly.frozen_inputs(settings))
    report = ask(private, "rebase", Arguments(inputs_digest=digest), patience_s=wait)
    if report is None:
        with closing(assembly.open_store(settings, accept_schema=True)) as store:
            store.ledger.drop_cut()
            seed = settings.config.release.seed
            sequence = new_sequence(digest, time.time_ns() // 1000, seed=seed)
            store.ledger.start_sequence(sequence)
        report = {"sequence_id": sequence.sequence_id}
    text = f"new sequence {report['sequence_id']}; the next release is its first"
    say(report, text, as_json=as_json)
    return Exit.OK
