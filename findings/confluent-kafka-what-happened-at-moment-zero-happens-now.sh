#!/usr/bin/env bash
# A tie of moment 0 gets the time of today from confluent-kafka
#
# Guess:    a message has the timestamp that it was given, 0 as well as 1
# Seen:     0 stands for the present: of a network whose moments are numbered from 0 the first ties
#           come last, years after all others; 1 and a negative time are kept
# Docs:     the current time is named as the default, not as the meaning of 0
# Versions: confluent-kafka 2.16.1 with its own mock of a broker; Python 3.11.
# Output seen:
#   given 0, got the present
#   given 1, got 1
#   given 2, got 2
#   given -5, got -5
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check confluent-kafka==2.16.1
cd "$room"
"$room/venv/bin/python" - <<'PY' 2> log
import time

from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition

given = (0, 1, 2, -5)
started = time.time_ns() // 1_000_000
producer = Producer({"bootstrap.servers": "unused:1", "test.mock.num.brokers": 1})
for moment in given:
    producer.produce("ties", str(moment), partition=0, timestamp=moment)
assert producer.flush(60) == 0

(broker,) = producer.list_topics(timeout=60).brokers.values()
consumer = Consumer({"bootstrap.servers": f"{broker.host}:{broker.port}", "group.id": "ask"})
consumer.assign([TopicPartition("ties", 0, OFFSET_BEGINNING)])
got = {}
while len(got) < len(given):
    (message,) = consumer.consume(1, timeout=60)
    assert message.error() is None
    got[int(message.value())] = message.timestamp()[1]
consumer.close()

for moment in given:
    print(f"given {moment}, got {'the present' if got[moment] >= started else got[moment]}")
assert got[0] >= started
assert [got[moment] for moment in given[1:]] == list(given[1:])
PY
