#!/usr/bin/env bash
# Kafka Connect flattens two fields to one name, and the last of them counts
#
# Guess:    home_town beside a town within home is refused when flattened with _, or both are kept
# Seen:     with a schema it is refused; without one the record has one of them,
#           which one depends on the order of fields in the message; so it is with a new name
# Versions: connect-transforms 4.3.0; Java 17.
# Output seen:
#   flat, nested: {home_town=Ulm}
#   nested, flat: {home_town=Bonn}
#   home renamed to town, home first: {town=Bonn}
#   home renamed to town, town first: {town=Ulm}
#   with a schema: SchemaBuilderException
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
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaBuilder;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.errors.SchemaBuilderException;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.transforms.Flatten;
import org.apache.kafka.connect.transforms.ReplaceField;
import org.apache.kafka.connect.transforms.Transformation;

class Ask {
    static Map<String, Object> fields(String first, Object one, String second, Object other) {
        var fields = new LinkedHashMap<String, Object>();
        fields.put(first, one);
        fields.put(second, other);
        return fields;
    }

    static Transformation<SourceRecord> flatten() {
        var flatten = new Flatten.Value<SourceRecord>();
        flatten.configure(Map.of("delimiter", "_"));
        return flatten;
    }

    static Transformation<SourceRecord> rename() {
        var rename = new ReplaceField.Value<SourceRecord>();
        rename.configure(Map.of("renames", "home:town"));
        return rename;
    }

    static void ask(String name, Transformation<SourceRecord> change, Object value, String expected) {
        Object found = change.apply(new SourceRecord(null, null, "people", null, value)).value();
        System.out.printf("%s: %s%n", name, found);
        if (!found.toString().equals(expected)) {
            throw new AssertionError("the behaviour has changed");
        }
    }

    static void askWithSchema() {
        Schema home = SchemaBuilder.struct().field("town", Schema.STRING_SCHEMA).build();
        Schema both = SchemaBuilder.struct()
            .field("home_town", Schema.STRING_SCHEMA).field("home", home).build();
        Struct value = new Struct(both)
            .put("home_town", "Bonn").put("home", new Struct(home).put("town", "Ulm"));
        try {
            flatten().apply(new SourceRecord(null, null, "people", both, value));
        } catch (SchemaBuilderException refused) {
            System.out.println("with a schema: SchemaBuilderException");
            return;
        }
        throw new AssertionError("the behaviour has changed");
    }

    public static void main(String[] args) {
        var nested = Map.of("town", "Ulm");
        ask("flat, nested", flatten(), fields("home_town", "Bonn", "home", nested), "{home_town=Ulm}");
        ask("nested, flat", flatten(), fields("home", nested, "home_town", "Bonn"), "{home_town=Bonn}");
        ask("home renamed to town, home first", rename(), fields("home", "Ulm", "town", "Bonn"), "{town=Bonn}");
        ask("home renamed to town, town first", rename(), fields("town", "Bonn", "home", "Ulm"), "{town=Ulm}");
        askWithSchema();
    }
}
JAVA
java -cp 'lib/*' Ask.java 2> java.log
