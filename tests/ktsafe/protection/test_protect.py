"""`protect`: every kind of graph in, a verified release of the same kind out."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

import ktsafe
from ktsafe import InvalidGraph, InvalidParams
from ktsafe.errors import AbsentFromGraph, WrittenOtherwise
from ktsafe.stream.cli import run_command
from tests import messy_network
from tests.ktsafe.protection.karate import ASKED, NAME, karate, protected


def as_networkx() -> tuple[Any, ...]:
    return (karate(),)


def as_igraph() -> tuple[Any, ...]:
    graph = karate()
    nodes = list(graph)
    position = {node: i for i, node in enumerate(nodes)}
    columns = {name: [graph.nodes[node][name] for node in nodes] for name in ("club", "health")}
    edges = [(position[u], position[v]) for u, v in graph.edges]
    return (igraph.Graph(len(nodes), edges, vertex_attrs={"name": nodes, **columns}),)


def as_pandas() -> tuple[Any, ...]:
    graph = karate()
    vertices = pd.DataFrame([{"id": node, **data} for node, data in graph.nodes(data=True)])
    return pd.DataFrame(list(graph.edges), columns=["source", "target"]), vertices


def as_pyarrow() -> tuple[Any, ...]:
    return tuple(pa.Table.from_pandas(frame, preserve_index=False) for frame in as_pandas())


def as_polars() -> tuple[Any, ...]:
    return tuple(pl.DataFrame(table) for table in as_pyarrow())


def as_sparse() -> tuple[Any, ...]:
    return sparse.csr_array(nx.to_scipy_sparse_array(karate(), dtype=np.int8)), as_pandas()[1]


KINDS = [as_networkx, as_igraph, as_pandas, as_pyarrow, as_sparse, as_polars]


def everything_in(graph: Any) -> str:
    """Return all that a release says, as text."""
    match graph:
        case nx.Graph():
            return repr((list(graph.nodes(data=True)), list(graph.edges(data=True))))
        case igraph.Graph():
            columns = {name: graph.vs[name] for name in graph.vs.attributes()}
            return repr((columns, graph.get_edgelist(), graph.es.attributes()))
        case (one, two):
            return everything_in(one) + everything_in(two)
        case pd.DataFrame():
            return str(graph.to_csv())
        case pa.Table():
            return repr(graph.to_pydict())
        case pl.DataFrame():
            return str(graph.write_csv())
        case _:
            return repr(graph.toarray().tolist())


@pytest.mark.parametrize("kind", KINDS)
def test_a_release_has_the_kind_of_the_graph_and_nobodys_name(
    kind: Callable[[], tuple[Any, ...]],
) -> None:
    """Same types out, safe by the verifier, and no id of the owner in it."""
    graph = kind()
    safe = protected(*graph)
    out = safe.graph if isinstance(safe.graph, tuple) else (safe.graph,)
    assert [type(part) for part in out] == [type(part) for part in graph]
    assert NAME not in everything_in(safe.graph)
    told = {line[:9].strip(): line[10:] for line in safe.report().splitlines()}
    for name, found in (("people", safe.utility.vertices), ("ties", safe.utility.edges)):
        counts = f"{found.true:,} true, {found.released:,} released; "
        assert told[name] == f"{counts}precision {found.precision:.2f}, recall {found.recall:.2f}"
    assert told["cost"].startswith(f"{safe.utility.edges.cost_share:.2f} of the true ties")
    assert NAME not in repr(safe) + safe.report() + repr(safe.private_mapping)
    assert safe.verify().is_safe
    assert all(str(name).startswith(NAME) for name in safe.private_mapping.values())


def test_all_kinds_say_the_same() -> None:
    """The same seed gives the same release, however the graph was given."""
    seen = [protected(*kind()) for kind in KINDS]
    first = seen[0]
    edges = {tuple(sorted(edge)) for edge in first.graph.edges}
    assert {tuple(edge) for edge in seen[1].graph.get_edgelist()} == edges
    assert set(seen[2].graph[0].itertuples(index=False, name=None)) == edges
    assert set(zip(*seen[3].graph[0].to_pydict().values(), strict=True)) == edges
    assert set(nx.from_scipy_sparse_array(seen[4].graph[0]).edges) == edges
    assert set(seen[5].graph[0].rows()) == edges
    assert all(dict(one.private_mapping) == dict(first.private_mapping) for one in seen)
    assert all(one.utility == first.utility for one in seen)
    assert seen[2].graph[1]["club"].tolist() == [
        first.graph.nodes[v]["club"] for v in range(first.graph.number_of_nodes())
    ]


def test_positions_tell_nothing() -> None:
    """Where somebody stood is not where the release has them: over seeds, one in n stays."""
    graph = karate()
    order = {node: i for i, node in enumerate(graph)}
    stayed = [
        order[node] == published
        for seed in range(20)
        for published, node in protected(graph, seed=seed).private_mapping.items()
    ]
    assert np.mean(stayed) < 0.1


def test_a_seed_does_for_a_generator() -> None:
    """They give the same release."""
    one = ktsafe.protect(*as_networkx(), rng=3, **ASKED)
    other = protected(*as_networkx(), seed=3)
    assert everything_in(one.graph) == everything_in(other.graph)


@pytest.mark.parametrize("rng", ["x", -1, 1.5])
def test_what_is_no_seed_is_refused(rng: Any) -> None:
    """With the name of the argument."""
    with pytest.raises(InvalidParams, match="rng is no seed"):
        ktsafe.protect(karate(), rng=rng, **ASKED)


def test_two_calls_without_rng_differ() -> None:
    """Randomness comes from the system unless it is given."""
    one, two = (ktsafe.protect(karate(), **ASKED) for _ in range(2))
    assert dict(one.private_mapping) != dict(two.private_mapping)


def test_the_aim_decides_how_much_is_shown() -> None:
    """Fewer ties are hidden and edges inserted where that is the aim; other words are refused."""
    safe = {aim: ktsafe.protect(karate(), rng=3, aim=aim, **ASKED) for aim in ("balanced", "cost")}
    cost = {aim: made.utility.edges.cost for aim, made in safe.items()}
    shown = {aim: made.utility.edges.released for aim, made in safe.items()}
    assert cost["cost"] <= cost["balanced"] <= karate().number_of_edges()
    assert shown["cost"] < shown["balanced"]
    with pytest.raises(ktsafe.InvalidParams, match="aim cannot be 'best'"):
        ktsafe.protect(karate(), aim="best", **ASKED)  # type: ignore[arg-type]


def with_weight() -> nx.Graph:
    graph = karate()
    nx.set_edge_attributes(graph, 2, "weight")
    return graph


def doubled(frames: tuple[Any, ...]) -> tuple[Any, ...]:
    return frames[0], pd.concat([frames[1], frames[1]])


def one_way() -> tuple[Any, ...]:
    matrix, vertices = as_sparse()
    return sparse.csr_array(sparse.triu(matrix)), vertices


REFUSED: list[tuple[Callable[[], tuple[Any, ...]], dict[str, Any], str]] = [
    (lambda: (with_weight(),), {}, r"'weight'.*ignore="),
    (as_networkx, {"quasi_identifiers": []}, "'club'"),
    (as_networkx, {"quasi_identifiers": ["clubb"]}, "No vertex has .*'clubb'.*mean 'club'"),
    (as_networkx, {"ignore": ["wieght"]}, "'wieght'"),
    (lambda: (with_weight(),), {"ignore": ["wieght"]}, "'wieght'.*Did you mean 'weight'"),
    (as_networkx, {"quasi_identifiers": "club"}, "collection of texts"),
    (as_networkx, {"sensitive_values": "chronic"}, "collection of texts"),
    (as_networkx, {"sensitive_values": ["cronic"]}, "Did you mean 'chronic'"),
    (lambda: (karate().to_directed(),), {}, r"directions.*in both: .*reciprocal=True"),
    (lambda: (as_igraph()[0].as_directed(),), {}, r"directions.*in both: .*mode=.mutual"),
    (lambda: ({"a": ["b"]},), {}, "no graph of a kind"),
    (lambda: (as_pandas()[0],), {}, "no graph of a kind"),
    (lambda: (as_pandas()[0], as_pandas()[1].rename(columns={"id": "who"})), {}, "column id"),
    (lambda: (as_pandas()[0], as_pandas()[1].iloc[1:]), {}, r"not among .*rows 0, 1.*\(counted"),
    (lambda: doubled(as_pandas()), {}, "same id: rows 34, 35, 36, 37, 38 and 29 more"),
    (as_networkx, {"sensitive": None}, "no sensitive attribute"),
    (as_networkx, {"sensitive": ["health", "club"]}, "mapping of each"),
    (as_networkx, {"keep": ["club"]}, "auto"),
    (one_way, {}, r"matrix \+ matrix\.T"),
    (lambda: (as_sparse()[0][1:], as_sparse()[1]), {}, "row and a column"),
    (lambda: (as_sparse()[0] * 3, as_sparse()[1]), {}, "'weight'"),
]


@pytest.mark.parametrize(("graph", "changes", "words"), REFUSED)
def test_what_a_release_cannot_show_is_refused(
    graph: Callable[[], tuple[Any, ...]], changes: dict[str, Any], words: str
) -> None:
    """With words that say what to do, and without anybody's name."""
    with pytest.raises((InvalidGraph, InvalidParams, AbsentFromGraph), match=words) as caught:
        protected(*graph(), **changes)
    assert NAME not in str(caught.value)


@pytest.mark.parametrize(
    ("graph", "ignore"),
    [
        (nx.les_miserables_graph, ["weight"]),
        (nx.florentine_families_graph, []),
        (lambda: igraph.Graph.Famous("Zachary"), []),
        (lambda: sparse.csr_array(nx.to_scipy_sparse_array(nx.davis_southern_women_graph())), []),
    ],
)
def test_graphs_without_attributes_are_graphs(graph: Callable[[], Any], ignore: list[str]) -> None:
    """An attacker may know ties alone; nothing has to be declared."""
    given = graph()
    if isinstance(given, nx.Graph) and not ignore:
        for _, data in given.nodes(data=True):
            data.clear()
    safe = ktsafe.protect(given, k=3, ignore=ignore, effort="fast", min_f1=0, rng=1)
    assert type(safe.graph) is type(given)
    assert safe.verify().is_safe
    assert safe.provenance.given.n_edges == safe.utility.edges.true > 0
    assert "none" not in everything_in(safe.graph)
    with pytest.raises(AbsentFromGraph, match="No vertex has the attribute 'club'"):
        ktsafe.protect(given, quasi_identifiers=["club"], ignore=ignore)


def test_what_is_to_be_declared_is_told() -> None:
    """A call with a graph alone names its attributes and the arguments that say what they are."""
    words = r"'club', 'health'.*quasi_identifiers=.*sensitive=.*ignore=\['club', 'health'\]"
    with pytest.raises(InvalidGraph, match=words):
        ktsafe.protect(karate())
    with pytest.raises(InvalidGraph, match=r"Edges have 'weight'.*ignore=\['weight'\]"):
        ktsafe.protect(with_weight(), ignore=["club", "health"])


def test_a_misspelt_name_is_answered_by_the_one_that_is_meant() -> None:
    """By that alone: nobody is told to ignore what was meant."""
    graph = karate()
    nx.set_node_attributes(graph, "here", "town")
    for changes, meant in (
        ({"quasi_identifiers": ["Club"], "ignore": ["town"]}, "club"),
        ({"sensitive": "helth", "ignore": ["town"]}, "health"),
        ({"ignore": ["twon"]}, "town"),
    ):
        with pytest.raises(InvalidGraph, match=f"Did you mean '{meant}'") as caught:
            protected(graph, **changes)
        assert "ignore=[" not in str(caught.value)
        assert "expect_absent" not in str(caught.value)


@pytest.mark.parametrize("generalize", [True, False, None, "Auto", ""])
def test_generalize_is_one_of_its_words(generalize: Any) -> None:
    """True means nothing, so it is refused with the word that does."""
    with pytest.raises(InvalidParams, match='Say generalize="auto"'):
        protected(karate(), generalize=generalize)


ONES: list[list[Any]] = [
    [1, 0],
    [1.0, 0.0],
    ["1", "0"],
    ["1.0", "0.0"],
    [np.int8(1), np.int8(0)],
]


@pytest.mark.parametrize("declared", [[1], (1.0,), {"1"}, frozenset({"1.0"}), np.array([1])])
@pytest.mark.parametrize("values", ONES)
def test_a_number_is_declared_however_it_is_written(declared: Any, values: list[Any]) -> None:
    """`1`, `1.0` and `"1"` are one value in the graph and where it is declared."""
    graph = karate()
    for _, data in graph.nodes(data=True):
        data["health"] = values[data["health"] != "chronic"]
    safe = protected(graph, sensitive_values=declared)
    assert sum(safe.provenance.given.is_sensitive) == 4
    assert set(nx.get_node_attributes(safe.graph, "health").values()) <= {"1", "0", "-"}


@pytest.mark.parametrize("declared", [[True], ["True"], ["true"]])
def test_a_boolean_is_declared_however_it_is_written(declared: list[Any]) -> None:
    """As Python, pandas and Parquet write it; a number is no boolean, and the word is told."""
    graph = karate()
    for _, data in graph.nodes(data=True):
        data["health"] = data["health"] == "chronic"
    assert sum(protected(graph, sensitive_values=declared).provenance.given.is_sensitive) == 4
    with pytest.raises(AbsentFromGraph, match="Did you mean 'true'"):
        protected(graph, sensitive_values=[1])


def test_values_in_groups_are_spelt_alike() -> None:
    """Of groups and of declared hierarchies, as in the graph."""
    graph = karate()
    for i, (_, data) in enumerate(graph.nodes(data=True)):
        data["club"] = [1.0, 2, "3.0"][i % 3]
    safe = protected(graph, groups={"club": {"few": [1, 2.0], "more": ["3"]}})
    assert set(nx.get_node_attributes(safe.graph, "club").values()) <= {"few", "more"}
    levels = [{"few": [1, 2], "more": [3.0]}]
    safe = protected(graph, generalize="auto", keep=["club"], hierarchies={"club": levels})
    assert set(nx.get_node_attributes(safe.graph, "club").values()) <= {
        "few",
        "more",
        "1",
        "2",
        "3",
    }


def test_codes_are_taken_as_they_are_written() -> None:
    """`1.0` is not `1` where codes are declared, in groups and among sensitive values, too."""
    graph = karate()
    for i, (_, data) in enumerate(graph.nodes(data=True)):
        data["club"] = ["1.0", "1", "True", " 2"][i % 4]
        data["health"] = "1.0" if i % 11 == 0 else "0"
    asked: dict[str, Any] = {"sensitive_values": ["1.0"], "k": 2, "min_f1": 0}
    safe = protected(graph, nominal=["club", "health"], **asked)
    assert safe.provenance.given.categories == (("1", "1.0", "2", "True"), ("0", "1.0"))
    assert sum(safe.provenance.given.is_sensitive) == 4
    groups = {"club": {"ones": ["1.0", "1"]}}
    safe = protected(graph, nominal=["club", "health"], groups=groups, **asked)
    assert safe.provenance.given.categories[0] == ("2", "True", "ones")
    safe = protected(graph, **asked)
    assert safe.provenance.given.categories == (("1", "2", "true"), ("0", "1"))
    for name in ("town", "income"):
        with pytest.raises(InvalidGraph, match=f"'{name}' is declared nominal"):
            protected(graph, nominal=[name], **asked)


def test_what_is_almost_sensitive_is_refused_unless_it_is_meant() -> None:
    """Of one attribute and of several, where each is judged by itself."""
    graph = karate()
    nx.set_node_attributes(graph, "some", "income")
    first, second = list(graph)[1:3]
    graph.nodes[first]["health"], graph.nodes[second]["income"] = "Chronic", "none"
    several = {"health": ["chronic"], "income": ["none"]}
    for changes in (
        {"ignore": ["income"]},
        {"sensitive": ["health", "income"], "sensitive_values": several},
    ):
        with pytest.raises(WrittenOtherwise, match="'Chronic' almost like 'chronic'"):
            protected(graph, **changes)
        assert protected(graph, harmless_values=["Chronic"], **changes).verify().is_safe
    with pytest.raises(AbsentFromGraph, match=r"'nine'.*mean 'none'"):
        protected(
            karate_with_income(),
            sensitive=["health", "income"],
            sensitive_values={"health": ["chronic"], "income": ["nine"]},
        )


def karate_with_income() -> nx.Graph:
    graph = karate()
    for i, (_, data) in enumerate(graph.nodes(data=True)):
        data["income"] = "none" if i % 9 == 0 else "some"
    return graph


def test_values_that_are_numbers_to_igraph_are_published_as_those_of_networkx() -> None:
    """Its only missing number is NaN, and whole numbers are fractions there."""
    ages = [30.0, float("nan"), 41.5] * 11 + [30.0]
    graph = as_igraph()[0]
    graph.vs["age"] = ages
    safe = protected(graph, quasi_identifiers=["age"], ignore=["club"], k=3, min_f1=0)
    assert set(safe.provenance.given.categories[0]) == {"30", "-", "41.5"}


def test_the_version_is_told() -> None:
    """As the package is installed."""
    assert ktsafe.__version__ == version("ktsafe")


def test_what_is_ignored_may_be_there() -> None:
    """Weights and other columns that the owner named are left out."""
    safe = protected(with_weight(), ignore=["weight"])
    assert not any(data for _, _, data in safe.graph.edges(data=True))


def test_nothing_need_be_sensitive() -> None:
    """Without a sensitive attribute a release has no column in its place, in any kind."""
    for kind in KINDS:
        graph = kind()
        safe = protected(*graph, sensitive=None, sensitive_values=(), ignore=["health"])
        assert safe.verify().is_safe
        assert "none" not in everything_in(safe.graph)


def test_values_may_stay_in_place() -> None:
    """Then each person shows the own value, or `-`; the ties are the same."""
    graph = karate()
    exchanged, safe = (protected(graph, values=values) for values in ("exchanged", "in place"))
    shown, true = (nx.get_node_attributes(each, "health") for each in (safe.graph, graph))
    assert safe.provenance.made.value_at is None
    assert all(shown[v] in {true[node], "-"} for v, node in safe.private_mapping.items())
    assert set(safe.graph.edges) == set(exchanged.graph.edges)


def test_all_faults_are_told_at_once() -> None:
    """Each with its rows, and nobody's name or value."""
    edges, vertices = as_pandas()
    vertices = pd.concat([vertices, vertices.iloc[:7]], ignore_index=True)
    vertices["age"] = [*["secret-age"] * 3, *range(len(vertices) - 3)]
    lost = pd.DataFrame({"source": [NAME] * 6, "target": [NAME] * 6})
    with pytest.raises(ktsafe.errors.SeveralFaults) as caught:
        protected(
            pd.concat([edges, lost]),
            vertices,
            quasi_identifiers=["age"],
            buckets={"age": (10, 20)},
            sensitive_values=["cronic"],
            ignore=["wieght"],
        )
    text, n = str(caught.value), len(edges)
    assert len(caught.value.faults) == 6
    assert f"rows {n}, {n + 1}, {n + 2}, {n + 3}, {n + 4} and 1 more" in text
    assert "same id: rows 34, 35, 36, 37, 38 and 2 more" in text
    assert "no number: rows 0, 1, 2 (counted from 0)" in text
    assert all(word in text for word in ("'club'", "'wieght'", "'cronic'"))
    assert NAME not in text
    assert "secret-age" not in text


def test_a_worthless_release_is_refused_with_the_advice() -> None:
    """Nothing is silent: the error says what would show more; `min_f1=0` returns it."""
    graph = karate()
    for i, node in enumerate(graph):
        graph.nodes[node]["town"] = f"town {i}"
    asked = {"quasi_identifiers": ["town"], "ignore": ["club"]}
    with pytest.raises(
        ktsafe.BelowMinimumUtility, match=r"Tell `town` in 2 values|Drop `town`"
    ) as caught:
        protected(graph, **asked)
    assert caught.value.reason == "below_min_f1"
    assert 'generalize="auto"' in str(caught.value)
    assert protected(graph, min_f1=0, **asked).graph.number_of_nodes() == 0
    safe = protected(graph, generalize="auto", keep=["town"], **asked)
    told = set(nx.get_node_attributes(safe.graph, "town").values())
    assert len(told) == 2
    assert safe.generalized["town"].keys() == told
    assert all(values == [] for values in safe.generalized["town"].values())
    assert safe.verify().is_safe
    assert safe.provenance.advice is not None
    assert safe.advise(keep=["town"]).best.kept == ("town",)


def test_the_library_is_as_able_as_the_commands(tmp_path) -> None:
    """Attacks, audit, report page and folders of one release, which the verifier passes."""
    safe = protected(karate(), min_f1=0)
    assert {one.attack.partition(".")[0] for one in safe.attack(["one_hop"])} == {"one_hop"}
    assert safe.audit().usefulness.edges.true == karate().number_of_edges()
    page = safe.to_html()
    assert page.startswith("<!DOCTYPE html>")
    assert NAME not in page
    assert "srcdoc" in safe._repr_html_()
    safe.save(tmp_path / "out", tmp_path / "audit")
    assert NAME not in "".join(path.read_text() for path in (tmp_path / "out").iterdir())
    assert NAME in (tmp_path / "audit" / "mapping.csv").read_text()
    assert run_command(["verify", str(tmp_path / "out")]) == 0
    with pytest.raises(InvalidGraph, match="exists already"):
        safe.save(tmp_path / "out", tmp_path / "another")


def test_the_messy_network_keeps_all_that_is_to_be_kept() -> None:
    """Gender spelt six ways, an age with gaps, 40 cities: told in groups, most ties are right."""
    columns = messy_network.vertices()
    edges = messy_network.edges(messy_network.ties(columns))
    names = columns["id"]
    ends = pd.DataFrame([(names[u], names[v]) for u, v in edges], columns=["source", "target"])
    safe = ktsafe.protect(
        ends,
        pd.DataFrame(columns),
        generalize="auto",
        keep=["gender", "age", "city"],
        ignore=[name for name in columns if name.startswith("other")],
        effort="fast",
        rng=1,
        **messy_network.ASKED,
    )
    vertices = safe.graph[1]
    assert all(vertices[name].nunique() >= 2 for name in ("gender", "age", "city"))
    assert safe.utility.edges.f1 is not None
    assert safe.utility.edges.f1 >= 0.69
    assert safe.verify().is_safe
    genders = [set(values) for values in safe.generalized["gender"].values()]
    assert all({"Male", "M", "male"} <= one or not {"Male", "M", "male"} & one for one in genders)
    assert "3,200 repeated edges, 5 self-loops" in safe.report()
