import java.util.List;
import java.util.Set;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.transaction.support.TransactionTemplate;

class Example {
    public static void main(String[] args) throws InterruptedException {
        var source = new DriverManagerDataSource(System.getenv("JDBC_URL"));
        var db = new JdbcTemplate(source);
        var transaction = new TransactionTemplate(new DataSourceTransactionManager(source));
        var insert = "INSERT INTO rowrun.task_run (task_id, input, idempotency_key) VALUES (?, ?::jsonb, ?)";
        long task = db.queryForObject("SELECT id FROM rowrun.task WHERE name = 'send receipt' AND plan_id IS NULL", Long.class);

        // The order and its job: both or neither.
        var run = transaction.execute(status -> {
            long order = db.queryForObject("INSERT INTO shop_order (total) VALUES (30) RETURNING id", Long.class);
            var input = "{\"order\": " + order + "}"; // an ObjectMapper's work where it holds text
            return db.queryForMap(insert + " RETURNING id, input::text, idempotency_key", task, input, "order " + order);
        });

        // Many in one batch; with reWriteBatchedInserts=true in the URL in one statement.
        transaction.execute(status -> db.batchUpdate(insert, List.of(1, 2, 3).stream()
            .map(copy -> new Object[] {task, "{\"copy\": " + copy + "}", null}).toList()));

        // Once more: the key gives the run that is there.
        long again = db.queryForObject(insert + " ON CONFLICT (task_id, idempotency_key) DO UPDATE SET input = excluded.input RETURNING id",
            Long.class, task, run.get("input"), run.get("idempotency_key"));

        // The job's status, over all its attempts.
        var status = "";
        while (!Set.of("DONE", "FAILED", "CANCELED").contains(status)) {
            Thread.sleep(100);
            status = db.queryForObject("SELECT status FROM rowrun.job WHERE root_id = ?", String.class, run.get("id"));
        }
        System.out.println("run " + run.get("id") + ", again " + again + ": " + status);
    }
}
