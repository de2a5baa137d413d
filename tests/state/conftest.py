"""Both stores behind one handle, which can end the process in a test's imagination."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ktsafe import Schema
from ktsafe.state.rocksdb import RocksDBStore
from ktsafe.state.store import GraphStore
from tests.memory_store import MemoryDisk, MemoryStore
from tests.state.support import SCHEMA


class Handle:
    """A store that can be closed and opened again: it reads back what it kept."""

    def __init__(self, open_store: Callable[[Schema], GraphStore]) -> None:
        self._open = open_store
        self.store = open_store(SCHEMA)

    def reopen(self) -> GraphStore:
        """Close the store and open it again."""
        self.store.close()
        self.store = self._open(SCHEMA)
        return self.store


@pytest.fixture(params=["memory", "rocksdb"])
def make_handle(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[], Handle]]:
    """Return a maker of empty stores of one kind."""
    handles: list[Handle] = []

    def make() -> Handle:
        if request.param == "memory":
            disk = MemoryDisk()
            handle = Handle(lambda schema: MemoryStore(schema, disk))
        else:
            path = tmp_path_factory.mktemp("store")
            handle = Handle(lambda schema: RocksDBStore.open(path, schema))
        handles.append(handle)
        return handle

    yield make
    for handle in handles:
        handle.store.close()


@pytest.fixture
def handle(make_handle: Callable[[], Handle]) -> Handle:
    """Return one empty store."""
    return make_handle()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where a durable store is to be."""
    return tmp_path / "store"
