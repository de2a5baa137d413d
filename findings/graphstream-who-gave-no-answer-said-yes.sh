#!/usr/bin/env bash
# Everybody who gave no answer said yes when GraphStream reads GraphML
#
# Guess:    a value that a file does not give is not there after reading, as the key has no default
# Seen:     the reader gives one to everybody: true, 0 or an empty text; a tie without a weight
#           weighs 0; GraphStream's own format keeps what is missing
# Versions: gs-core 2.0; Java 17.
# Output seen:
#   GraphML: bo smokes true, age 0; tie weighs 0.0
#   DGS: bo smokes null, age null; tie weighs null
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
      <groupId>org.graphstream</groupId>
      <artifactId>gs-core</artifactId>
      <version>2.0</version>
    </dependency>
  </dependencies>
</project>
XML
mvn -q -B dependency:copy-dependencies -DoutputDirectory=lib > mvn.log
cat > Ask.java <<'JAVA'
import java.util.Arrays;
import java.util.List;
import org.graphstream.graph.implementations.MultiGraph;
import org.graphstream.stream.file.*;

class Ask {
    static List<Object> readBack(String name, FileSink writer, FileSource reader) throws Exception {
        var people = new MultiGraph("people");
        for (String each : new String[] {"ann", "bo", "ci"}) {
            people.addNode(each);
        }
        people.getNode("ann").setAttribute("smokes", true);
        people.getNode("ann").setAttribute("age", 31);
        people.addEdge("first", "ann", "bo").setAttribute("weight", 2.5);
        people.addEdge("second", "bo", "ci");
        writer.writeAll(people, name);
        var read = new MultiGraph("read");
        reader.addSink(read);
        reader.readAll(name);
        var bo = read.getNode("bo");
        var tie = bo.getEdgeBetween("ci");
        return Arrays.asList(bo.getAttribute("smokes"), bo.getAttribute("age"), tie.getAttribute("weight"));
    }

    public static void main(String[] args) throws Exception {
        var first = readBack("GraphML", new FileSinkGraphML(), new FileSourceGraphML());
        var second = readBack("DGS", new FileSinkDGS(), new FileSourceDGS());
        String line = "%s: bo smokes %s, age %s; tie weighs %s%n";
        System.out.printf(line, "GraphML", first.get(0), first.get(1), first.get(2));
        System.out.printf(line, "DGS", second.get(0), second.get(1), second.get(2));
        if (!first.equals(List.of(true, 0, 0.0)) || !second.equals(Arrays.asList(null, null, null))) {
            throw new AssertionError("the behaviour has changed");
        }
    }
}
JAVA
java -cp 'lib/*' Ask.java
