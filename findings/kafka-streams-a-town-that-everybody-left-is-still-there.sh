#!/usr/bin/env bash
# A town that everybody has left stays in a count of Kafka Streams, with 0 people
#
# Guess:    count() of a grouped table holds the groups that have people, as GROUP BY does
# Seen:     the last who leaves makes it 0, and nothing takes the row away: former towns are published
#           with the others, and the smallest class has 0 people
# Docs:     of the method say which records are ignored, not what becomes of an empty group
# Versions: kafka-streams 4.3.0; Java 17.
# Output seen:
#   both in Rome: {Rome=2}
#   both in Oslo: {Oslo=2, Rome=0}
#   both gone: {Oslo=0, Rome=0}
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
cd "$room"
cat > pom.xml <<'XML'
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>ask</groupId>
  <artifactId>ask</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>kafka-streams-test-utils</artifactId>
      <version>4.3.0</version>
    </dependency>
  </dependencies>
</project>
XML
mvn -q -B dependency:copy-dependencies -DoutputDirectory=lib > mvn.log
cat > Ask.java <<'JAVA'
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.state.KeyValueStore;

class Ask {
    static void say(String when, TopologyTestDriver driver, Map<String, Long> wanted) {
        KeyValueStore<String, Long> store = driver.getKeyValueStore("people-of-town");
        var found = new TreeMap<String, Long>();
        try (var rows = store.all()) {
            rows.forEachRemaining(row -> found.put(row.key, row.value));
        }
        System.out.println(when + ": " + found);
        if (!found.equals(wanted)) {
            throw new AssertionError("the behaviour has changed");
        }
    }

    public static void main(String[] args) {
        var settings = new Properties();
        settings.put("application.id", "ask");
        settings.put("bootstrap.servers", "unused:1");
        settings.put("state.dir", "state");
        settings.put("default.key.serde", Serdes.String().getClass());
        settings.put("default.value.serde", Serdes.String().getClass());
        var builder = new StreamsBuilder();
        builder.<String, String>table("towns")
            .groupBy((name, town) -> KeyValue.pair(town, name))
            .count(Materialized.as("people-of-town"));
        try (var driver = new TopologyTestDriver(builder.build(), settings)) {
            var towns = driver.createInputTopic("towns", new StringSerializer(), new StringSerializer());
            towns.pipeInput("ann", "Rome");
            towns.pipeInput("bo", "Rome");
            say("both in Rome", driver, Map.of("Rome", 2L));
            towns.pipeInput("ann", "Oslo");
            towns.pipeInput("bo", "Oslo");
            say("both in Oslo", driver, Map.of("Oslo", 2L, "Rome", 0L));
            towns.pipeInput("ann", (String) null);
            towns.pipeInput("bo", (String) null);
            say("both gone", driver, Map.of("Oslo", 0L, "Rome", 0L));
        }
    }
}
JAVA
java -cp 'lib/*' Ask.java 2> java.log
