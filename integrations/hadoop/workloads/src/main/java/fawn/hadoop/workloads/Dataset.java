package fawn.hadoop.workloads;

/** Where records are: a path of HDFS, or the keys of a FAWN cluster under a prefix. */
final class Dataset {
    /** HDFS: the path. FAWN: the prefix, perhaps empty. */
    final String path;
    /** Addresses of managers; {@code null} for HDFS. */
    final String managers;

    private Dataset(String path, String managers) {
        this.path = path;
        this.managers = managers;
    }

    boolean isFawn() {
        return managers != null;
    }

    /** Of {@code hdfs:PATH}, or {@code fawn:MANAGERS/PREFIX}, where both parts may be left out. */
    static Dataset of(String text) {
        if (text.startsWith("hdfs:") && text.length() > 5) {
            return new Dataset(text.substring(5), null);
        }
        if (text.startsWith("fawn:")) {
            String rest = text.substring(5);
            int slash = rest.indexOf('/');
            String managers = slash < 0 ? rest : rest.substring(0, slash);
            String known = managers.isEmpty() ? System.getenv("FAWN_MANAGERS") : managers;
            if (known == null || known.isEmpty()) {
                throw new IllegalArgumentException("`" + text + "` names no manager: say fawn:HOST:PORT/PREFIX");
            }
            return new Dataset(slash < 0 ? "" : rest.substring(slash + 1), known);
        }
        throw new IllegalArgumentException("`" + text + "` is no data set: say hdfs:PATH or fawn:HOST:PORT/PREFIX");
    }
}
