// Runs Debezium's embedded engine and appends what it says to a file, a JSON object a line:
// {"topic": ..., "key": ..., "value": ...}, both of them JSON or null, as a Kafka topic would hold them.
//
//     java -cp 'libs/*' Engine.java engine.properties out.jsonl
//
// Ends on SIGTERM, after the offsets are stored; after kill -9 it tells some changes again.

import io.debezium.engine.ChangeEvent;
import io.debezium.engine.DebeziumEngine;
import io.debezium.engine.format.Json;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Properties;

public class Engine {
    public static void main(String[] args) throws Exception {
        Properties given = new Properties();
        try (FileInputStream file = new FileInputStream(args[0])) {
            given.load(file);
        }
        OutputStream out = new FileOutputStream(args[1], true);
        DebeziumEngine<ChangeEvent<String, String>> engine = DebeziumEngine.create(Json.class)
                .using(given)
                .notifying(event -> {
                    String line = "{\"topic\": \"" + event.destination() + "\", \"key\": " + event.key()
                            + ", \"value\": " + event.value() + "}\n";
                    try {
                        out.write(line.getBytes(StandardCharsets.UTF_8));
                    } catch (java.io.IOException error) {
                        throw new IllegalStateException(error);
                    }
                })
                .using((success, message, error) -> {
                    if (!success) {
                        System.err.println(message);
                        System.exit(1);
                    }
                })
                .build();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            try {
                engine.close();
            } catch (java.io.IOException error) {
                System.err.println(error.getMessage());
            }
        }));
        engine.run();
    }
}
