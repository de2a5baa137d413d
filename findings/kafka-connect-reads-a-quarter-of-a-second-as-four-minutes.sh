#!/usr/bin/env bash
# Kafka Connect reads a quarter of a second as four minutes
#
# Guess:    of a time with six digits behind the point, read as .SSSSSS, at most digits past
#           milliseconds are lost
# Seen:     all six digits are taken for milliseconds: 250,000 of them are 4 minutes and 10 seconds;
#           read as .S, half a second is 5 milliseconds
# Versions: connect-transforms 4.3.0; Java 17.
# Output seen:
#   12:00:00.250000 by HH:mm:ss.SSSSSS -> 12:04:10.000
#   12:00:00.5 by HH:mm:ss.S -> 12:00:00.005
#   12:00:00.250 by HH:mm:ss.SSS -> 12:00:00.250
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
      <artifactId>connect-transforms</artifactId>
      <version>4.3.0</version>
    </dependency>
  </dependencies>
</project>
XML
mvn -q -B dependency:copy-dependencies -DoutputDirectory=lib > mvn.log
cat > Ask.java <<'JAVA'
import java.time.Instant;
import java.time.LocalTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Map;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.transforms.TimestampConverter;

class Ask {
    static void ask(String format, String time, String expected) {
        var convert = new TimestampConverter.Value<SourceRecord>();
        convert.configure(Map.of("target.type", "unix", "format", "yyyy-MM-dd " + format));
        var record = new SourceRecord(null, null, "ties", null, "2024-01-01 " + time);
        var moment = Instant.ofEpochMilli((long) convert.apply(record).value());
        String read = LocalTime.ofInstant(moment, ZoneOffset.UTC)
            .format(DateTimeFormatter.ofPattern("HH:mm:ss.SSS"));
        System.out.printf("%s by %s -> %s%n", time, format, read);
        if (!read.equals(expected)) {
            throw new AssertionError("the behaviour has changed");
        }
    }

    public static void main(String[] args) {
        ask("HH:mm:ss.SSSSSS", "12:00:00.250000", "12:04:10.000");
        ask("HH:mm:ss.S", "12:00:00.5", "12:00:00.005");
        ask("HH:mm:ss.SSS", "12:00:00.250", "12:00:00.250");
    }
}
JAVA
java -cp 'lib/*' Ask.java 2> java.log
