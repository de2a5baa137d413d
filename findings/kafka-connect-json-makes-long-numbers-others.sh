#!/usr/bin/env bash
# Kafka Connect reads two long numbers of JSON as one
#
# Guess:    a whole number of JSON that no long holds is kept as a larger type, or refused
# Seen:     without schemas it is cut to its lowest 64 bits: 2**64 is 0, 2**63 is negative,
#           and somebody whose number is 2**64 + 7 is whoever has 7
# Versions: connect-json 4.3.0; Java 17.
# Output seen:
#   9223372036854775808 -> -9223372036854775808
#   18446744073709551616 -> 0
#   18446744073709551623 -> 7
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
      <artifactId>connect-json</artifactId>
      <version>4.3.0</version>
    </dependency>
  </dependencies>
</project>
XML
mvn -q -B dependency:copy-dependencies -DoutputDirectory=lib > mvn.log
cat > Ask.java <<'JAVA'
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.json.JsonConverter;

class Ask {
    public static void main(String[] args) {
        var converter = new JsonConverter();
        converter.configure(Map.of("schemas.enable", "false", "converter.type", "value"));
        var found = new ArrayList<Object>();
        String[] numbers = {"9223372036854775808", "18446744073709551616", "18446744073709551623"};
        for (String number : numbers) {
            byte[] json = number.getBytes(StandardCharsets.UTF_8);
            found.add(converter.toConnectData("people", json).value());
            System.out.println(number + " -> " + found.get(found.size() - 1));
        }
        if (!found.equals(List.of(Long.MIN_VALUE, 0L, 7L))) {
            throw new AssertionError("the behaviour has changed");
        }
    }
}
JAVA
java -cp 'lib/*' Ask.java 2> java.log
