#!/usr/bin/env bash
# Average distances of JUNG are 1 divided by the average distance
#
# Guess:    of three people in a row the outer ones are 1.5 ties from the others on average
# Seen:     it is 0.67, and 0.5 in a longer row: the further apart, the less, and less than one tie; it is
#           closeness under another name; with somebody who has no tie the diameter is infinite
# Docs:     of the method promise the average of shortest distances from each vertex to the others
# Versions: jung-algorithms 2.1.1; Java 17.
# Output seen:
#   row of 3: 0.67 1.00 0.67, diameter 2
#   row of 4: 0.50 0.75 0.75 0.50, diameter 3
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
      <groupId>net.sf.jung</groupId>
      <artifactId>jung-algorithms</artifactId>
      <version>2.1.1</version>
    </dependency>
    <dependency>
      <groupId>net.sf.jung</groupId>
      <artifactId>jung-graph-impl</artifactId>
      <version>2.1.1</version>
    </dependency>
  </dependencies>
</project>
XML
mvn -q -B dependency:copy-dependencies -DoutputDirectory=lib > mvn.log
cat > Ask.java <<'JAVA'
import edu.uci.ics.jung.algorithms.shortestpath.DistanceStatistics;
import edu.uci.ics.jung.graph.UndirectedSparseGraph;

class Ask {
    static void ask(int people, double outer, double diameter) {
        var graph = new UndirectedSparseGraph<Integer, String>();
        for (int each = 0; each + 1 < people; each++) {
            graph.addEdge("tie " + each, each, each + 1);
        }
        var average = DistanceStatistics.averageDistances(graph);
        var said = new StringBuilder("row of " + people + ":");
        for (int each = 0; each < people; each++) {
            said.append(String.format(" %.2f", average.apply(each)));
        }
        double found = DistanceStatistics.diameter(graph);
        System.out.printf("%s, diameter %.0f%n", said, found);
        if (Math.abs(average.apply(0) - outer) > 1e-9 || found != diameter) {
            throw new AssertionError("the behaviour has changed");
        }
    }

    public static void main(String[] args) {
        ask(3, 2.0 / (1 + 2), 2);
        ask(4, 3.0 / (1 + 2 + 3), 3);
    }
}
JAVA
java -cp 'lib/*' Ask.java
