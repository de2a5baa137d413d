"""A real PostgreSQL and a real Debezium, beside what the tests take them to do."""
