"""Erases people with unlikely ids and values, kills what erases, and reads all that is left.

Ids and values are drawn from all of Unicode, and the feed writes them with every escape that JSON
has; each person has a dead letter, too. They are erased in batches, from a service that runs and
from one that does not, and command or service are killed with SIGKILL at random moments, then
started again. In the end an independent decoder (`tests.sst_dump`, base64, JSON and CSV undone)
must find no id and no value outside of feed, sink and backups, and `ktsafe erase --prove` neither.
It did find each of them before.
"""

from __future__ import annotations

import base64
import contextlib
import csv
import json
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ktsafe.stream.errors import Exit
from tests import feeds, running, services, sst_dump

STAY, DAYS_A_SLOT = 60, 10
ATTRIBUTES = {**services.ATTRIBUTES, "quasi_identifiers": ["gender"]}
OPTIONS = '[privacy]\nk = 2\nalpha = "1/2"'
REFUSED = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff,]")
"""Characters that no id has, and those of the separators of this program."""
PATIENCE_S = 240.0


def erase_all(folder: Path, n_people: int, n_kills: int, seed: int) -> None:
    """Erase people in batches, and look for what is left."""
    dice = random.Random(seed)
    people, values = [text(dice) for _ in range(n_people)], [text(dice) for _ in range(n_people)]
    site = made(folder, people, values, dice)
    site.drain()
    texts = [*people, *values]
    assert set(texts) == found(site.folder, texts), "not everything was there before"
    n_batches, kills = max(n_kills, 2), 0
    for number in range(n_batches):
        batch = people[number * n_people // n_batches : (number + 1) * n_people // n_batches]
        service = site.start() if number % 2 else None
        if service is not None:
            site.wait_until((site.folder / "state" / "control.sock").exists, service)
        command = erase(site, batch)
        if kills < n_kills:
            time.sleep(dice.uniform(0.8, 3.0))
            killed = service if service is not None and dice.random() < 0.5 else command
            killed.kill()
            killed.wait()
            kills += 1
        command.wait(PATIENCE_S)
        deadline = time.monotonic() + PATIENCE_S
        # A service that was killed holds nothing any more: the command erases by itself. One that
        # is still starting cannot be asked yet: the command says so.
        while (code := erase(site, batch).wait(PATIENCE_S)) != Exit.OK:
            assert code in {Exit.STATE, Exit.UNAVAILABLE}, (site.folder / "log.txt").read_text()
            assert time.monotonic() < deadline, (site.folder / "log.txt").read_text()
        if service is not None:
            service.terminate()
            service.wait(PATIENCE_S)
    left = found(site.folder, texts)
    assert left == set(), f"{len(left)} are left"
    prove = erase(site, texts, "--prove")
    assert prove.wait(PATIENCE_S) == Exit.OK, (site.folder / "log.txt").read_text()[-2000:]
    run = subprocess.run(
        [sys.executable, "-m", "ktsafe.stream.cli", "config", str(site.config), "--state"],
        check=False,
    )
    assert run.returncode == Exit.OK


def text(dice: random.Random) -> str:
    """Return some characters of all of Unicode, with those that JSON escapes."""
    drawn = ""
    while len(drawn) < 8:
        char = (
            chr(dice.randrange(0x20, 0x11_0000)) if dice.random() < 0.5 else dice.choice('a9/"\\é')
        )
        drawn += "" if REFUSED.match(char) else char
    return f"u{drawn}z"


def made(folder: Path, people: list[str], values: list[str], dice: random.Random) -> running.Site:
    """Return a service on a feed that has these people among others."""
    events = services.small_feed(people=STAY, days=40, seed=dice.randrange(1000))
    times = sorted(map(feeds.time_us, events))
    for number, (person, value) in enumerate(zip(people, values, strict=True)):
        at = feeds.iso(dice.choice(times[: len(times) // 2]))
        # Nobody else is of this kind, so that no release shows the value.
        attributes = {"gender": value, "health": dice.choice(["none", value])}
        events.append({"type": "vertex.upsert", "id": person, "attributes": attributes, "time": at})
        other = people[number - 1]
        events.append({"type": "edge.add", "source": person, "target": other, "time": at})
        shown = {"gender": dice.choice("fm"), "health": "none"}
        late = {
            "type": "vertex.upsert",
            "id": person,
            "attributes": shown,
            "time": feeds.iso(times[-1]),
        }
        events += [late] if number % 2 else []
        events.append({"type": "vertex.upsert", "id": person, "note": value, "time": "never"})
    ordered = sorted(events, key=lambda e: times[-1] if e["time"] == "never" else feeds.time_us(e))
    site = running.files_site(folder / "site", [[]], ATTRIBUTES, f"{DAYS_A_SLOT}d")
    with (folder / "feed" / "feed-0.jsonl").open("w") as file:
        file.writelines(escaped(event, dice) + "\n" for event in ordered)
    site.config.write_text(site.config.read_text().replace("[privacy]", OPTIONS))
    return site


def escaped(event: dict[str, Any], dice: random.Random) -> str:
    """Return an event as JSON in which each character is escaped in one of the ways there are."""

    def quoted(word: str) -> str:
        ways = []
        for char in word:
            units = char.encode("utf-16-be").hex()
            code = "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4))
            plain = {'"': '\\"', "\\": "\\\\"}.get(char, char)
            ways.append(
                dice.choice(
                    [
                        plain,
                        plain,
                        code,
                        code.upper().replace("\\U", "\\u"),
                        "\\/" if char == "/" else plain,
                    ]
                )
            )
        return f'"{"".join(ways)}"'

    def told(value: Any) -> str:
        if isinstance(value, dict):
            return f"{{{','.join(f'{quoted(k)}:{told(v)}' for k, v in value.items())}}}"
        return quoted(value) if isinstance(value, str) else json.dumps(value)

    return told(event)


def erase(site: running.Site, ids: Iterable[str], option: str = "--yes") -> subprocess.Popen[bytes]:
    """Start a command that erases people, their ids on its standard input."""
    command = [sys.executable, "-m", "ktsafe.stream.cli", "erase", "-", str(site.config), option]
    with (site.folder / "log.txt").open("ab") as log:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=log)
    assert process.stdin is not None
    process.stdin.write("\n".join(ids).encode() + b"\n")
    process.stdin.close()
    return process


def found(folder: Path, texts: Iterable[str]) -> set[str]:
    """Return which of some texts are left outside of the sink, by this program's own decoders."""
    wanted, left = {word: word.encode() for word in texts}, set()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and folder / "releases" not in path.parents:
            for data in decoded(path):
                left |= {word for word, code in wanted.items() if code in data}
    return left


def decoded(path: Path) -> Iterator[bytes]:
    """Yield what is in a file, decoded by what kind of file it is."""
    data = path.read_bytes()
    yield data
    match path.suffix:
        case ".sst":
            for key, value in sst_dump.rows(path):
                yield key + b" " + value
                with contextlib.suppress(ValueError):  # Some values are JSON.
                    yield flat(json.loads(value))
        case ".json":
            yield flat(json.loads(data))
        case ".jsonl":
            for line in data.splitlines():
                fields = json.loads(line)
                values = [fields.get("value"), fields.get("key")]
                for value in filter(None, values):
                    raw = base64.b64decode(value)
                    yield raw
                    yield flat(json.loads(raw))
        case ".csv":
            rows = csv.reader(data.decode().splitlines())
            yield "\n".join(cell for row in rows for cell in row).encode()
        case ".log":
            yield b"".join(
                data[at + 7 : at + 32_768] for at in range(0, len(data), 32_768)
            )  # Pieces of records of more than a block lie side by side.


def flat(value: Any) -> bytes:
    """Return all texts of a JSON value."""
    if isinstance(value, dict):
        return b"\n".join(flat(k) + b"\n" + flat(v) for k, v in value.items())
    if isinstance(value, list):
        return b"\n".join(map(flat, value))
    return str(value).encode(errors="surrogatepass")
