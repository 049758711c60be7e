CREATE OR REPLACE FUNCTION rowrun.delete_webhook(webhook_id bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    DELETE FROM webhook w WHERE w.id = delete_webhook.webhook_id;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'webhook % does not exist', coalesce(delete_webhook.webhook_id::text, 'NULL')
            USING ERRCODE = 'no_data_found', HINT = 'Look for its id in rowrun.webhook.';
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.delete_webhook(bigint) IS 'Deletes a webhook with what is addressed to it.';
