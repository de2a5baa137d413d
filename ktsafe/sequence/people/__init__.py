"""People of a sequence: births, departures, changes of their attributes."""
