#!/usr/bin/env bash
# Whoever has no tie is the closest to all others in GraphStream
#
# Guess:    closeness of somebody without ties is 0 or not defined
# Seen:     it is infinite, one divided by the sum of no distances: the loneliest is first in a
#           ranking; others keep finite values, as those who cannot be reached are left out
# Versions: gs-algo and gs-core 2.0; Java 17.
# Output seen:
#   ann 0.50, bo 0.50, ci 0.50, di Infinity
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
      <artifactId>gs-algo</artifactId>
      <version>2.0</version>
    </dependency>
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
import java.util.ArrayList;
import java.util.List;
import org.graphstream.algorithm.measure.ClosenessCentrality;
import org.graphstream.graph.implementations.SingleGraph;

class Ask {
    public static void main(String[] args) {
        var people = new SingleGraph("people");
        String[] names = {"ann", "bo", "ci", "di"};
        for (String each : names) {
            people.addNode(each);
        }
        people.addEdge("1", "ann", "bo");
        people.addEdge("2", "bo", "ci");
        people.addEdge("3", "ci", "ann");
        var closeness = new ClosenessCentrality("near");
        closeness.init(people);
        closeness.compute();
        var found = new ArrayList<Double>();
        var lines = new ArrayList<String>();
        for (String each : names) {
            found.add(people.getNode(each).getNumber("near"));
            lines.add(String.format("%s %.2f", each, found.get(found.size() - 1)));
        }
        System.out.println(String.join(", ", lines));
        if (!found.equals(List.of(0.5, 0.5, 0.5, Double.POSITIVE_INFINITY))) {
            throw new AssertionError("the behaviour has changed");
        }
    }
}
JAVA
java -cp 'lib/*' Ask.java 2> java.log
