package fawn.spark;

import java.io.File;
import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** A master of Spark and two workers, each a process. Workers have addresses of their own: Spark speculates on other hosts. */
final class Standalone implements AutoCloseable {
    private static final String CLASS_PATH =
            System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));

    private final List<Process> processes = new ArrayList<>();
    private final Path directory;
    private final int port;

    Standalone() throws IOException {
        directory = Files.createTempDirectory("fawn-spark-standalone");
        // Workers start executors only where Spark is installed. All jars are on the class path.
        Files.createDirectories(home().resolve("jars"));
        try (ServerSocket free = new ServerSocket(0)) {
            port = free.getLocalPort();
        }
        launch("127.0.0.1", "org.apache.spark.deploy.master.Master", "--port", String.valueOf(port), "--webui-port", "0");
        for (String host : List.of("127.0.0.2", "127.0.0.3")) {
            launch(host, "org.apache.spark.deploy.worker.Worker", "--cores", "2", "--memory", "1g", "--webui-port", "0",
                    "--work-dir", directory.resolve(host).toString(), url());
        }
    }

    String url() {
        return "spark://127.0.0.1:" + port;
    }

    private Path home() {
        return directory.resolve("home");
    }

    static String classPath() {
        return CLASS_PATH;
    }

    private void launch(String host, String main, String... arguments) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx256m", "-cp", CLASS_PATH, main,
                "--host", host));
        command.addAll(List.of(arguments));
        ProcessBuilder builder = new ProcessBuilder(command);
        builder.environment().put("SPARK_LOCAL_IP", host);
        builder.environment().put("SPARK_HOME", home().toString());
        File log = directory.resolve(host + ".log").toFile();
        processes.add(builder.redirectErrorStream(true).redirectOutput(log).start());
    }

    @Override
    public void close() throws IOException {
        // Workers end their executors before they end.
        for (int at = processes.size() - 1; at >= 0; at--) {
            processes.get(at).destroy();
            processes.get(at).onExit().join();
        }
        try (Stream<Path> files = Files.walk(directory)) {
            files.sorted((one, other) -> other.compareTo(one)).forEach(file -> file.toFile().delete());
        }
    }
}
