"""How coarsely quasi-identifiers are told: hierarchies of values, and the search among settings."""
