DROP TABLE rowrun.webhook_delivery, rowrun.webhook_delivery_log, rowrun.webhook;
DROP FUNCTION rowrun.delete_webhook(bigint), rowrun.webhook_deleted(), rowrun.webhook_changed(), rowrun.webhook_fill();
DELETE FROM rowrun.migration WHERE version = 8;
