"""A database that is asked for the whole network: two queries, one transaction, two CSV files.

Needs SQLAlchemy and the driver of the database. What drivers say may hold passwords or values of
people: of their errors only the type is told, and which words of the query they name.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ktsafe.connectors.errors import Misconfigured, Unavailable
from ktsafe.connectors.secrets import SecretUnreadable, read_secret
from ktsafe.connectors.snapshots.dumps import EDGES, VERTICES, cell_text

_ROWS_AT_ONCE: Final = 10_000
_SNAPSHOTS: Final = {"postgresql", "mysql", "mariadb"}
"""Databases whose REPEATABLE READ is one view of all tables, without locks."""
_ASK: Final = "ask database"
_PASSING: Final = ("08", "40", "53", "55", "57", "SQLITE_BUSY", "SQLITE_LOCKED")
"""How codes of SQLSTATE, or SQLite's, begin that say nothing of the query."""
_IN_THE_QUERY: Final = re.compile(r"no such|near|syntax error|does not exist|(?i:unknown column)")
"""What SQLite, PostgreSQL and MySQL say of a query that they cannot read."""


@dataclass(frozen=True, slots=True)
class QueriedDatabase:
    """Where a database is, and how it is asked.

    Attributes
    ----------
    url_file, url_env:
        Where its SQLAlchemy URL is, one of them: it may hold a password.
    vertices, edges:
        The queries, in the database's own SQL. Their columns are those of the tables of a dump.
    """

    url_file: str | None
    url_env: str | None
    vertices: str
    edges: str

    @property
    def subject(self) -> str:
        """What messages call it: where its URL is."""
        return f"${self.url_env}" if self.url_env else str(self.url_file)

    def engine(self) -> Any:
        """Return SQLAlchemy's engine, which has connected to nothing yet.

        Raises
        ------
        Misconfigured
            If the URL is nowhere, or none, or its driver is not installed.
        """
        try:
            import sqlalchemy  # noqa: PLC0415 -- an extra
        except ImportError:
            hint = 'it needs SQLAlchemy. Install it: pip install "ktsafe[sql]".'
            raise Misconfigured(_ASK, self.subject, hint) from None
        try:
            url = sqlalchemy.make_url(read_secret("url", self.url_file, self.url_env))
        except SecretUnreadable as error:
            raise Misconfigured(_ASK, self.subject, str(error)) from None
        except (sqlalchemy.exc.ArgumentError, ValueError):
            hint = (
                "it holds no URL of SQLAlchemy. Write it as dialect+driver://user:password@host/"
                "database, with special characters of the password as %XX."
            )
            raise Misconfigured(_ASK, self.subject, hint) from None
        try:
            return sqlalchemy.create_engine(url, poolclass=sqlalchemy.NullPool)
        except (ImportError, sqlalchemy.exc.NoSuchModuleError) as error:
            # The name of a module, or of a dialect. All else in a URL may be secret.
            named = f" (module {error.name})" if isinstance(error, ImportError) else ""
            hint = (
                f"there is no driver for {url.drivername!r}{named}. Install it beside ktsafe, or "
                "name another one: postgresql+psycopg, mysql+pymysql, sqlite."
            )
            raise Misconfigured(_ASK, self.subject, hint) from None
        except Exception as error:  # noqa: BLE001 -- it may show a password
            hint = f"the driver cannot use its URL ({_type(error)}): see the options after the ?."
            raise Misconfigured(_ASK, self.subject, hint) from None

    def write(self, folder: Path) -> None:
        """Ask, and write `vertices.csv` and `edges.csv`, synced, of one moment.

        Rows are streamed where the driver can.

        Raises
        ------
        Unavailable
            If it does not answer for now, or refuses the login; or if the disk has no room.
        Misconfigured
            If it refuses a query.
        """
        engine = self.engine()
        try:
            with self._connection(engine) as connection:
                for name, query in ((VERTICES, self.vertices), (EDGES, self.edges)):
                    try:
                        _write(connection, query, folder / f"{name}.csv")
                    except OSError as error:
                        why = error.strerror or _type(error)
                        hint = f"the connection broke, or the dump cannot be written ({why})."
                        raise Unavailable(_ASK, self.subject, hint) from None
                    except Misconfigured:
                        raise
                    except Exception as error:  # noqa: BLE001 -- whatever the driver raises
                        raise self._query_failed(engine, name, query, error) from None
        finally:
            engine.dispose()

    @contextmanager
    def _connection(self, engine: Any) -> Iterator[Any]:
        """Give a connection in a transaction, which sees one moment if the database can show it."""
        try:
            connection = _begun(engine)
        except Exception as error:  # noqa: BLE001 -- it may show a password
            hint = (
                f"the database does not answer, or refuses the login ({_type(error)}). Check that "
                "it runs, and host, name, user and password in the URL."
            )
            raise Unavailable(_ASK, self.subject, hint) from None
        try:
            yield connection
        finally:
            connection.invalidate()  # Nothing is kept, whatever a query did.
            connection.close()

    def _query_failed(self, engine: Any, name: str, query: str, error: Exception) -> Exception:
        """Return what to say: a database that answers another question refuses this one."""
        if _passes(error):
            hint = f"the query `{name}` was ended ({_type(error)}): a lock, or too much load."
            return Unavailable(_ASK, self.subject, hint)
        with self._connection(engine):
            pass
        words = _words_at_fault(str(getattr(error, "orig", error)), query)
        at = f", naming {', '.join(map(repr, words))}" if words else ""
        hint = (
            f"the query `{name}` fails ({_type(error)}{at}). Try it in the database's own program, "
            "and correct it in the configuration."
        )
        return Misconfigured(_ASK, self.subject, hint)


def _begun(engine: Any) -> Any:
    """Return a connection whose transaction sees one moment."""
    dialect = engine.dialect.name
    level = "REPEATABLE READ" if dialect in _SNAPSHOTS else "SERIALIZABLE"
    options: Mapping[str, Any] = {"yield_per": _ROWS_AT_ONCE, "no_parameters": True}
    connection = engine.connect()
    try:
        levels = engine.dialect.get_isolation_level_values(connection.connection.dbapi_connection)
    except NotImplementedError:
        levels = ()
    if level in levels:
        connection = connection.execution_options(isolation_level=level)
    if dialect == "sqlite":
        # Python's driver begins no transaction for a query.
        connection.exec_driver_sql("BEGIN")
    return connection.execution_options(**options)


def _write(connection: Any, query: str, path: Path) -> None:
    """Write the answer to a query as CSV."""
    result = connection.exec_driver_sql(query)
    if not result.returns_rows:
        raise Misconfigured(_ASK, path.stem, "the query gives no table. It begins with SELECT.")
    names = list(result.keys())
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        for rows in result.partitions():
            writer.writerows(map(_text, names, row) for row in rows)
        file.flush()
        os.fsync(file.fileno())


def _text(column: str, value: object) -> str | None:
    if isinstance(value, bytes | bytearray | memoryview):
        hint = f"column {column!r} holds bytes. Have the query give it as a text."
        raise Misconfigured(_ASK, "answer", hint)
    return cell_text(value)


def _passes(error: Exception) -> bool:
    """Whether a query failed for what is not in it: a lock, a lost connection, an overload."""
    own = getattr(error, "orig", error)
    codes = (getattr(own, name, None) for name in ("sqlstate", "pgcode", "sqlite_errorname"))
    return any(code is not None and str(code).startswith(_PASSING) for code in codes)


def _words_at_fault(said: str, query: str) -> list[str]:
    """Return the words of a query that an error names, if the error is in the query itself.

    One that is in the data may name a value.
    """
    if not _IN_THE_QUERY.search(said):
        return []
    known = {word.casefold() for word in re.findall(r"\w+", query)}
    words = re.findall(r"\w+", said.partition("\n")[0])
    return list(dict.fromkeys(word for word in words if word.casefold() in known))


def _type(error: Exception) -> str:
    """Return the type of an error, the driver's own where it has one."""
    return type(getattr(error, "orig", None) or error).__name__
