import fawn.client.FawnClient;
import fawn.client.Item;
import fawn.client.Options;
import fawn.client.Scan;
import fawn.client.ScanPart;
import fawn.client.Swap;
import fawn.client.Value;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** What the client does, on a cluster that is running: {@code java -cp target/classes examples/Tour.java HOST:PORT}. */
final class Tour {
    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    public static void main(String[] managers) throws Exception {
        try (FawnClient client = FawnClient.connect(List.of(managers), new Options())) {
            client.put(bytes("greeting"), bytes("hello, deer"));
            Value seen = client.get(bytes("greeting")).orElseThrow();
            System.out.println(new String(seen.bytes, StandardCharsets.UTF_8));

            Swap swap = client.cas(bytes("greeting"), Item.of(bytes("hello again")), seen.cas);
            System.out.println("the version that was read is still there: " + swap.isDone());

            try (Scan scan = client.scan()) {
                for (ScanPart part = scan.next(); part != null; part = scan.next()) {
                    System.out.println(part.entries().size() + " keys as of record " + part.asOf.seq);
                }
            }
        }
    }
}
