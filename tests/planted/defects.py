"""Reads the planted defects, and finds where each belongs."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PACKAGES: Final = ("ktsafe", "state", "stream", "connectors")
PLACES: Final = (*PACKAGES, "lab/convert")
"""Where defects are planted."""


@dataclasses.dataclass(frozen=True)
class Defect:
    """A change of the product that some test must notice.

    Attributes
    ----------
    room:
        The part of the product that it attacks: the name of its file here.
    does:
        What is wrong then.
    old, new:
        Whole lines of the product; they stand in no other place.
    test:
        What finds it, as pytest names it today.
    is_in_histories:
        Whether simulated histories should find it by themselves.
    """

    id: str
    room: str
    does: str
    old: str
    new: str
    test: str
    is_in_histories: bool = False


def defects() -> Iterator[Defect]:
    """Yield all of them, room by room."""
    for path in sorted(Path(__file__).parent.glob("*.toml")):
        room = tomllib.loads(path.read_text(encoding="utf-8"))
        for each in room["defect"]:
            test = path_of(each.pop("test"))
            in_histories = each.pop("histories", room.get("histories", False))
            yield Defect(room=path.stem, test=test, is_in_histories=in_histories, **each)


def path_of(test: str) -> str:
    """Return a test as pytest names it today: its file may have moved to another folder.

    Raises
    ------
    LookupError
        If no file, or more than one, has its name.
    """
    file, sep, name = test.partition("::")
    if not (ROOT / file).exists():
        found = list((ROOT / "tests").rglob(Path(file).name))
        if len(found) != 1:
            msg = f"{test}: {len(found)} files have this name"
            raise LookupError(msg)
        file = str(found[0].relative_to(ROOT))
    return file + sep + name


def product(root: Path = ROOT) -> dict[Path, str]:
    """Return the text of each module of the product."""
    paths = (path for name in PLACES for path in sorted((root / name).rglob("*.py")))
    return {path: path.read_text(encoding="utf-8") for path in paths if not path.is_symlink()}


def place(defect: Defect, texts: dict[Path, str]) -> Path:
    """Return the module that a defect changes.

    Raises
    ------
    LookupError
        If its old text is not in the product, or more than once.
    """
    found = [path for path, text in texts.items() for _ in range(_count(text, defect.old))]
    if len(found) != 1:
        msg = f"{defect.room} {defect.id}: its old text occurs {len(found)} times"
        raise LookupError(msg)
    return found[0]


def planted(defect: Defect, text: str) -> str:
    """Return the text of a module with a defect."""
    return ("\n" + text).replace("\n" + defect.old, "\n" + defect.new)[1:]


def _count(text: str, lines: str) -> int:
    return ("\n" + text).count("\n" + lines)
