package fawn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** A cluster of processes on this machine: a manager, and nodes n1, n2 and so on. All are killed when it is closed. */
public final class Cluster implements AutoCloseable {
    private static final long READY_MS = 120_000;

    private final String binary;
    private final Path directory;
    private final Path certificates;
    private final Map<String, Process> processes = new HashMap<>();
    private String manager;

    private Cluster(String binary, boolean isProtected) throws IOException {
        this.binary = binary;
        directory = Files.createTempDirectory("fawn-java");
        certificates = isProtected ? directory.resolve("certs") : null;
    }

    /** Starts one of so many nodes and replicas; the test is skipped where no binary is named. */
    public static Cluster start(int nodes, int replicas, boolean isProtected) throws Exception {
        String binary = System.getProperty("fawn.bin", System.getenv("FAWN_BIN"));
        assumeTrue(binary != null, "skipped: name the fawn binary in FAWN_BIN, or with -Dfawn.bin=PATH");
        Cluster cluster = new Cluster(new File(binary).getAbsolutePath(), isProtected);
        try {
            cluster.start(nodes, replicas);
            return cluster;
        } catch (Exception | AssertionError error) {
            cluster.close();
            throw error;
        }
    }

    private void start(int nodes, int replicas) throws Exception {
        if (certificates != null) {
            List<String> init = new ArrayList<>(List.of("certs", "init", "--certs", certificates.toString(), "--manager", "manager"));
            for (int number = 1; number <= nodes; number++) {
                init.addAll(List.of("--member", "n" + number));
            }
            assertEquals(0, run(init).waitFor());
            assertEquals(0, run(List.of("certs", "add", "--certs", certificates.toString(), "--client", "app")).waitFor());
        }
        Path own = directory.resolve("m");
        manager = launch("m", List.of("manager", "--dir", own.toString(), "--listen", "127.0.0.1:0", "--replicas",
                String.valueOf(replicas)), " ready on ");
        for (int number = 1; number <= nodes; number++) {
            startNode("n" + number);
        }
        waitForWrites();
    }

    /** Starts a node, for the first time or again. */
    public void startNode(String name) throws IOException {
        launch(name, List.of("node", "--name", name, "--dir", directory.resolve(name).toString(), "--memory", "64M",
                "--threads", "1", "--virtual-ids", "2", "--listen", "127.0.0.1:0", "--cluster-listen", "127.0.0.1:0",
                "--manager", manager), "serving memcached on ");
    }

    /** Kills a process with SIGKILL. */
    public void kill(String name) {
        processes.get(name).destroyForcibly().onExit().join();
    }

    /** Where the manager listens. */
    public String manager() {
        return manager;
    }

    public Certificates certificates() {
        return Certificates.inDirectory(certificates, "app");
    }

    /** The folder of the certificates; the client's are called {@code app}. */
    public Path certificatesDirectory() {
        return certificates;
    }

    /** A client with these options, and with certificates if the cluster has some. */
    public FawnClient connect(Options options) throws FawnException {
        return FawnClient.connect(List.of(manager), certificates == null ? options : options.certificates(certificates()));
    }

    private void waitForWrites() throws Exception {
        long end = System.currentTimeMillis() + READY_MS;
        for (;;) {
            try (FawnClient client = connect(new Options())) {
                client.put(new byte[] {'w'}, new byte[0]);
                client.delete(new byte[] {'w'});
                return;
            } catch (FawnException error) {
                if (System.currentTimeMillis() > end) {
                    throw error;
                }
            }
        }
    }

    private static ProcessBuilder builder(List<String> command) {
        ProcessBuilder builder = new ProcessBuilder(command);
        builder.environment().remove("FAWN_BIN");
        return builder;
    }

    private Process run(List<String> arguments) throws IOException {
        List<String> command = new ArrayList<>(List.of(binary));
        command.addAll(arguments);
        return builder(command).redirectOutput(directory.resolve("out").toFile())
                .redirectError(ProcessBuilder.Redirect.appendTo(directory.resolve("err").toFile())).start();
    }

    /** Starts a process that serves; returns what follows {@code before} in what it prints. */
    private String launch(String name, List<String> arguments, String before) throws IOException {
        List<String> command = new ArrayList<>(List.of(binary));
        command.addAll(arguments);
        if (certificates != null) {
            command.addAll(List.of("--certs", certificates.toString()));
        }
        Process process = builder(command)
                .redirectError(ProcessBuilder.Redirect.appendTo(directory.resolve(name + ".log").toFile())).start();
        processes.put(name, process);
        BufferedReader lines = new BufferedReader(
                new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            int at = line.indexOf(before);
            if (at >= 0) {
                return line.substring(at + before.length()).trim();
            }
        }
        throw new IOException(name + " has ended: " + Files.readString(directory.resolve(name + ".log")));
    }

    @Override
    public void close() throws IOException {
        new ArrayList<>(processes.keySet()).forEach(this::kill);
        try (Stream<Path> files = Files.walk(directory)) {
            files.sorted((one, other) -> other.compareTo(one)).forEach(file -> file.toFile().delete());
        }
    }
}
