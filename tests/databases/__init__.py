"""Tables of a database, in plain Python: what they hold, and what Debezium tells of them."""
