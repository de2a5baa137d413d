"""One network protected and verified, with nothing installed but the library."""

import networkx as nx

import ktsafe

people = nx.karate_club_graph()
for person, data in people.nodes(data=True):
    data["health"] = "chronic" if person % 11 == 0 else "well"
asked = {"quasi_identifiers": ["club"], "sensitive": "health", "sensitive_values": ["chronic"]}
safe = ktsafe.protect(people, ignore=["weight"], k=5, **asked)
assert safe.verify().is_safe
