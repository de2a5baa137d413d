#!/usr/bin/env bash
# GraphML of TinkerPop turns unknown into false
#
# Guess:    values of several types under one key are kept, made texts, or refused
# Seen:     the first value gives the type of all: after true, a text is read as false;
#           after a whole number, a fraction is written, and its own reader fails
# Versions: tinkergraph-gremlin 3.7.3; Java 17.
# Output seen:
#   true, unknown -> true, false
#   unknown, true -> unknown, true
#   2.5, 7 -> 2.5, 7.0
#   7, 2.5 -> NumberFormatException
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
      <groupId>org.apache.tinkerpop</groupId>
      <artifactId>tinkergraph-gremlin</artifactId>
      <version>3.7.3</version>
    </dependency>
  </dependencies>
</project>
XML
mvn -q -B dependency:copy-dependencies -DoutputDirectory=lib > mvn.log
cat > Ask.java <<'JAVA'
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import org.apache.tinkerpop.gremlin.structure.T;
import org.apache.tinkerpop.gremlin.structure.io.graphml.GraphMLReader;
import org.apache.tinkerpop.gremlin.structure.io.graphml.GraphMLWriter;
import org.apache.tinkerpop.gremlin.tinkergraph.structure.TinkerGraph;

class Ask {
    static String read(Object first, Object second) throws Exception {
        var written = TinkerGraph.open();
        written.addVertex(T.id, 1, "answer", first);
        written.addVertex(T.id, 2, "answer", second);
        var file = new ByteArrayOutputStream();
        GraphMLWriter.build().create().writeGraph(file, written);
        var again = TinkerGraph.open();
        try {
            var source = new ByteArrayInputStream(file.toByteArray());
            GraphMLReader.build().create().readGraph(source, again);
        } catch (NumberFormatException error) {
            return "NumberFormatException";
        }
        Object one = again.vertices("1").next().value("answer");
        Object two = again.vertices("2").next().value("answer");
        return one + ", " + two;
    }

    static void check(Object first, Object second, String expected) throws Exception {
        String found = read(first, second);
        System.out.println(first + ", " + second + " -> " + found);
        if (!found.equals(expected)) {
            throw new AssertionError("the behaviour has changed");
        }
    }

    public static void main(String[] args) throws Exception {
        check(true, "unknown", "true, false");
        check("unknown", true, "unknown, true");
        check(2.5, 7, "2.5, 7.0");
        check(7, 2.5, "NumberFormatException");
    }
}
JAVA
java -cp 'lib/*' Ask.java 2> java.log || { cat java.log; exit 1; }
