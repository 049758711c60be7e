DROP TABLE rowrun.webhook_delivery, rowrun.webhook_delivery_log, rowrun.webhook;
DROP FUNCTION rowrun.delete_webhook(bigint), rowrun.webhook_deleted(), rowrun.webhook_changed(), rowrun.webhook_fill(), rowrun.next_delivery_id();
DELETE FROM rowrun.migration WHERE version = 8;
