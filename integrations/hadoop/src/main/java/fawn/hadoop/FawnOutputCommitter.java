package fawn.hadoop;

import fawn.client.bulk.Spool;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.hadoop.mapreduce.JobContext;
import org.apache.hadoop.mapreduce.OutputCommitter;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.hadoop.mapreduce.TaskAttemptID;

/**
 * Puts what an attempt has spooled once it may commit. Hadoop lets one attempt of a task commit, and another one only if that
 * has failed.
 */
final class FawnOutputCommitter extends OutputCommitter {
    /** What an attempt keeps until it may commit, in the folder that YARN removes with the task. */
    static Path spool(TaskAttemptID attempt) {
        return Path.of(System.getProperty("java.io.tmpdir"), "fawn-" + attempt + ".spool");
    }

    @Override
    public void setupJob(JobContext job) {
        // Nothing is begun for a job.
    }

    @Override
    public void setupTask(TaskAttemptContext context) throws IOException {
        Spool.delete(spool(context.getTaskAttemptID()));
    }

    @Override
    public boolean needsTaskCommit(TaskAttemptContext context) {
        return Files.exists(spool(context.getTaskAttemptID()));
    }

    @Override
    public void commitTask(TaskAttemptContext context) throws IOException {
        FawnSettings settings = new FawnSettings(context.getConfiguration());
        try (FawnStore store = new FawnStore(settings, context)) {
            Spool.read(spool(context.getTaskAttemptID()), (key, value, flags, expiry) ->
                    store.put(key, value == null ? FawnRecord.deletion() : new FawnRecord(value, flags, expiry)));
            store.flush();
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw new IOException("the task was interrupted while it committed: some of its records are put", error);
        }
        Spool.delete(spool(context.getTaskAttemptID()));
    }

    @Override
    public void abortTask(TaskAttemptContext context) throws IOException {
        Spool.delete(spool(context.getTaskAttemptID()));
    }

    /** Whatever tasks have committed is put already, and stays if the application master is started again. */
    @Override
    public boolean isRecoverySupported(JobContext job) {
        return true;
    }

    @Override
    public void recoverTask(TaskAttemptContext context) {
        // See above.
    }

    @Override
    public boolean isCommitJobRepeatable(JobContext job) {
        return true;
    }
}
