"""Tests against a real Kafka broker that the test session starts and stops."""
