#!/usr/bin/env bash
# A header that Kafka Connect writes as a text is read as a number that was cut out of it
#
# Guess:    the converter of headers, by default, gives back the text that it was given
# Seen:     it tells the type by what the text looks like: 007 is 7, true is no text,
#           and of 12:30 and 5,6 only what stands before the sign is left
# Versions: connect-api 4.3.0; Java 17.
# Output seen:
#   007 -> 7 (Byte)
#   true -> true (Boolean)
#   12:30 -> 12 (Byte)
#   5,6 -> 5 (Byte)
#   5-6 -> 5-6 (String)
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
      <artifactId>connect-api</artifactId>
      <version>4.3.0</version>
    </dependency>
  </dependencies>
</project>
XML
mvn -q -B dependency:copy-dependencies -DoutputDirectory=lib > mvn.log
cat > Ask.java <<'JAVA'
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.storage.SimpleHeaderConverter;

class Ask {
    public static void main(String[] args) {
        var converter = new SimpleHeaderConverter();
        converter.configure(Map.of());
        var found = new ArrayList<Object>();
        for (String text : new String[] {"007", "true", "12:30", "5,6", "5-6"}) {
            byte[] written = converter.fromConnectHeader("people", "note", Schema.STRING_SCHEMA, text);
            Object read = converter.toConnectHeader("people", "note", written).value();
            System.out.println(text + " -> " + read + " (" + read.getClass().getSimpleName() + ")");
            found.add(read);
        }
        if (!found.equals(List.of((byte) 7, true, (byte) 12, (byte) 5, "5-6"))) {
            throw new AssertionError("the behaviour has changed");
        }
    }
}
JAVA
java -cp 'lib/*' Ask.java 2> java.log
