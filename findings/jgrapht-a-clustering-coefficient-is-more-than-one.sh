#!/usr/bin/env bash
# Clustering coefficients of JGraphT are more than 1 where somebody has a tie to oneself
#
# Guess:    a self-loop is left out or refused, as for coreness: each coefficient is at most 1
# Seen:     in a triangle with one self-loop two people have 1.5, and the global coefficient falls
# Versions: jgrapht-core 1.5.3; Java 17.
# Output seen:
#   bo 1.50, ci 1.50, global 0.375
#   coreness: Graph must be simple
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
      <groupId>org.jgrapht</groupId>
      <artifactId>jgrapht-core</artifactId>
      <version>1.5.3</version>
    </dependency>
  </dependencies>
</project>
XML
mvn -q -B dependency:copy-dependencies -DoutputDirectory=lib > mvn.log
cat > Ask.java <<'JAVA'
import java.util.Map;
import org.jgrapht.alg.scoring.ClusteringCoefficient;
import org.jgrapht.alg.scoring.Coreness;
import org.jgrapht.graph.DefaultEdge;
import org.jgrapht.graph.Pseudograph;

class Ask {
    static void check(boolean seen) {
        if (!seen) {
            throw new AssertionError("the behaviour has changed");
        }
    }

    public static void main(String[] args) {
        var graph = new Pseudograph<String, DefaultEdge>(DefaultEdge.class);
        for (String name : new String[] {"ann", "bo", "ci"}) {
            graph.addVertex(name);
        }
        graph.addEdge("ann", "bo");
        graph.addEdge("bo", "ci");
        graph.addEdge("ci", "ann");
        check(new ClusteringCoefficient<>(graph).getGlobalClusteringCoefficient() == 1);
        graph.addEdge("ann", "ann");
        var clustering = new ClusteringCoefficient<>(graph);
        Map<String, Double> scores = clustering.getScores();
        double all = clustering.getGlobalClusteringCoefficient();
        System.out.printf("bo %.2f, ci %.2f, global %.3f%n", scores.get("bo"), scores.get("ci"), all);
        check(scores.get("bo") == 1.5 && scores.get("ci") == 1.5);
        check(clustering.getAverageClusteringCoefficient() > 1);
        check(all == 0.375);
        try {
            new Coreness<>(graph).getScores();
            check(false);
        } catch (IllegalArgumentException refused) {
            System.out.println("coreness: " + refused.getMessage());
        }
    }
}
JAVA
java -cp 'lib/*' Ask.java
