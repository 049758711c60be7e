-- What waited may be sent now: the delivery loops are told to look.
CREATE OR REPLACE FUNCTION rowrun.webhook_changed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    PERFORM rowrun.notify_look();
    RETURN NULL;
END $$;
COMMENT ON FUNCTION rowrun.webhook_changed() IS 'Trigger: deliveries that waited may be sent.';
CREATE OR REPLACE TRIGGER webhook_changed AFTER UPDATE ON rowrun.webhook FOR EACH ROW
    WHEN (NEW.enabled AND (NOT OLD.enabled OR NEW.url <> OLD.url OR NEW.secret_ref IS DISTINCT FROM OLD.secret_ref))
    EXECUTE FUNCTION rowrun.webhook_changed();
CREATE OR REPLACE TRIGGER webhook_delivery_changed AFTER UPDATE ON rowrun.webhook_delivery FOR EACH ROW
    WHEN (NEW.status = 'PENDING' AND OLD.status <> 'PENDING')
    EXECUTE FUNCTION rowrun.webhook_changed();

CREATE OR REPLACE FUNCTION rowrun.webhook_deleted() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    DELETE FROM rowrun.webhook_delivery WHERE webhook_id = OLD.id;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION rowrun.webhook_deleted() IS 'Trigger: nothing is addressed to a webhook that is gone.';
CREATE OR REPLACE TRIGGER webhook_deleted AFTER DELETE ON rowrun.webhook FOR EACH ROW EXECUTE FUNCTION rowrun.webhook_deleted();
