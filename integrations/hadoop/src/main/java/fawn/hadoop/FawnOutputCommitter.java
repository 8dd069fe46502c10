package fawn.hadoop;

import java.io.IOException;
import org.apache.hadoop.mapreduce.JobContext;
import org.apache.hadoop.mapreduce.OutputCommitter;
import org.apache.hadoop.mapreduce.TaskAttemptContext;

/**
 * Puts what an attempt has spooled once it may commit. Hadoop lets one attempt of a task commit, and another one only if that
 * has failed.
 */
final class FawnOutputCommitter extends OutputCommitter {
    @Override
    public void setupJob(JobContext job) {
        // Nothing is begun for a job.
    }

    @Override
    public void setupTask(TaskAttemptContext context) throws IOException {
        Spool.delete(context.getTaskAttemptID());
    }

    @Override
    public boolean needsTaskCommit(TaskAttemptContext context) {
        return Spool.exists(context.getTaskAttemptID());
    }

    @Override
    public void commitTask(TaskAttemptContext context) throws IOException {
        FawnSettings settings = new FawnSettings(context.getConfiguration());
        try (FawnStore store = new FawnStore(settings)) {
            PutQueue queue = new PutQueue(store, FawnStore.meter(context), settings);
            Spool.read(context.getTaskAttemptID(), queue::put);
            queue.flush();
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw new IOException("the task was interrupted while it committed: some of its records are put", error);
        }
        Spool.delete(context.getTaskAttemptID());
    }

    @Override
    public void abortTask(TaskAttemptContext context) throws IOException {
        Spool.delete(context.getTaskAttemptID());
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
