"""`ktsafe demo`: the whole service on a generated feed, with nothing but a folder."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from stream.commands import feed as feeds
from stream.commands.run import run

CONFIG = """\
# Written by `ktsafe demo`; run it again with: ktsafe run {path} --drain

# The feed also tells a region. It is not listed, so it is dropped unstored and counted. Listing it
# would split the people into smaller groups, and every release would need more inserted vertices.
[attributes]
quasi_identifiers = ["gender", "age_band"]
sensitive = "health"
sensitive_values = ["cancer", "depression", "hiv"]
expect_absent = ["cancer", "depression", "hiv"]  # rare in the first month

[privacy]
k = 10
t = "1/10"
alpha = "1/5"
epsilon = 5
window = "all"

[source]
kind = "files"
paths = ["feed.jsonl.gz"]

[sink]
kind = "files"
folder = "../releases"

[dead_letters]
kind = "files"
path = "../dead-letters.jsonl"

[state]
folder = "../state"

[release]
every = "month"

[metrics]
port = {port}
figures = "local users"  # nobody is in this network
"""


def demo(
    folder: Annotated[Path, typer.Option("--dir", help="Where everything goes.")] = Path("var"),
    people: Annotated[int, typer.Option(min=1, help="People in the generated network.")] = 2_000,
    days: Annotated[int, typer.Option(min=1, help="Simulated days.")] = 365,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same feed.")] = 1,
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="Port of the metrics; 0 picks a free one.")
    ] = 9464,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print what happened as JSON at the end.")
    ] = False,
) -> int:
    """Generate a social feed, consume it, publish verified monthly releases, and say where.

    Started again with the same folder it finds the feed consumed and publishes nothing new.
    """
    home = folder / "demo"
    home.mkdir(parents=True, exist_ok=True)
    path, feed = home / "ktsafe.toml", home / "feed.jsonl.gz"
    if not feed.exists():
        typer.echo(f"generating a social feed of {people:,} people over {days:,} days", err=True)
        partial = feed.with_suffix(".partial.gz")
        count = feeds.write_feed(str(partial), people=people, days=days, seed=seed)
        partial.rename(feed)
        typer.echo(f"{feed}: {count:,} events", err=True)
    path.write_text(CONFIG.format(path=path, port=port), encoding="utf-8")
    code = run(path, drain=True, as_json=as_json)
    # As it was called: a checkout's program is not on the path.
    program = sys.argv[0] if os.sep in sys.argv[0] else "ktsafe"
    typer.echo(
        f"try       {program} verify {folder / 'releases'}\n"
        f"          {program} audit {folder / 'releases'} --map {folder / 'state' / 'audit'}\n"
        f"          {program} config example, to write your own configuration",
        err=True,
    )
    return code
