#!/usr/bin/env bash
# Kafka Connect casts the number 1 to true and the text 1 to false
#
# Guess:    a value is cast alike as a number and as a text, and one out of range is refused
# Seen:     each number but 0 is true, and each text but true is false; 300 as a text is
#           out of range of int8, as a number it is 44, and a fraction loses what follows the point
# Versions: connect-transforms 4.3.0; Java 17.
# Output seen:
#   to boolean: number 1 -> true, text 1 -> false
#   to int8: number 300 -> 44, text 300 -> DataException
#   to int32: number 2.7 -> 2, text 2.7 -> DataException
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
import java.util.Map;
import org.apache.kafka.connect.errors.DataException;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.transforms.Cast;

class Ask {
    static Object cast(String type, Object value) {
        var cast = new Cast.Value<SourceRecord>();
        cast.configure(Map.of("spec", type));
        try {
            return cast.apply(new SourceRecord(null, null, "people", null, value)).value();
        } catch (DataException refused) {
            return "DataException";
        }
    }

    static void ask(String type, Number number, Object ofNumber, Object ofText) {
        Object first = cast(type, number);
        Object second = cast(type, number.toString());
        System.out.printf("to %s: number %s -> %s, text %s -> %s%n", type, number, first, number, second);
        if (!first.equals(ofNumber) || !second.equals(ofText)) {
            throw new AssertionError("the behaviour has changed");
        }
    }

    public static void main(String[] args) {
        ask("boolean", 1, true, false);
        ask("int8", 300, (byte) 44, "DataException");
        ask("int32", 2.7, 2, "DataException");
    }
}
JAVA
java -cp 'lib/*' Ask.java 2> java.log
