-- What is wrong is said without the row: the message of a CHECK would show the URL to whoever reads the server's log.
CREATE OR REPLACE FUNCTION rowrun.webhook_fill() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    unknown text;
BEGIN
    NEW.id := coalesce(NEW.id, nextval('rowrun.webhook_id_seq'));
    IF TG_OP = 'INSERT' THEN
        PERFORM rowrun.check_id(NEW.id, 'rowrun.webhook_id_seq');
    END IF;
    NEW.project := coalesce(NEW.project, 'default');
    NEW.name := coalesce(NEW.name, '');
    NEW.events := coalesce(NEW.events, '{PIPELINE_FAILED,PIPELINE_COMPLETED}');
    NEW.format := coalesce(NEW.format, 'standard');
    NEW.enabled := coalesce(NEW.enabled, true);
    NEW.created_at := coalesce(NEW.created_at, now());
    IF TG_OP = 'UPDATE' AND NEW.id <> OLD.id THEN
        RAISE EXCEPTION 'webhook % keeps its id', OLD.id
            USING ERRCODE = 'RR003', HINT = 'Leave id out of the UPDATE; a webhook with another id is inserted.';
    END IF;
    IF NEW.project = '' OR octet_length(NEW.project) > 200 OR octet_length(NEW.name) > 200 THEN
        RAISE EXCEPTION 'project of a webhook has 1 to 200 bytes, its name at most 200'
            USING ERRCODE = 'check_violation', HINT = 'Leave project out for default, and shorten the name.';
    END IF;
    IF NEW.url ~* '^https?://[^/?#]*@' THEN
        RAISE EXCEPTION 'url of a webhook has no user and password in it'
            USING ERRCODE = 'check_violation', HINT = 'Put the whole URL where only the sidecar reads it: env:NAME or file:PATH.';
    ELSIF NEW.url IS NULL OR octet_length(NEW.url) > 2000
       OR (NEW.url !~ '^env:[A-Za-z_][A-Za-z0-9_]*$' AND NEW.url !~ '^file:[^[:cntrl:]]+$'
           AND NEW.url !~* E'^https?://[^/?#@\\\\:[:space:][:cntrl:]][^/?#@\\\\[:space:][:cntrl:]]*([/?#][^[:space:][:cntrl:]]*)?$')
    THEN
        RAISE EXCEPTION 'url of a webhook is http://... or https://..., env:NAME or file:PATH, of at most 2,000 bytes'
            USING ERRCODE = 'check_violation', HINT = 'The whole address, such as https://chat.example/hooks/1; env: and file: name where the sidecar finds it.';
    END IF;
    IF octet_length(NEW.secret_ref) > 2000
       OR (NEW.secret_ref !~ '^env:[A-Za-z_][A-Za-z0-9_]*$' AND NEW.secret_ref !~ '^file:[^[:cntrl:]]+$')
    THEN
        RAISE EXCEPTION 'secret_ref of a webhook names where its secret is: env:NAME or file:PATH'
            USING ERRCODE = 'check_violation', HINT = 'The secret itself never stands in the table; for none use NULL.';
    END IF;
    SELECT e INTO unknown FROM unnest(NEW.events) e WHERE e IS NULL OR e NOT IN ('PIPELINE_FAILED', 'PIPELINE_COMPLETED', 'RUN_FAILED', 'SCHEDULE_PAUSED', 'TYPE_ORPHANED') LIMIT 1;
    IF FOUND OR cardinality(NEW.events) = 0 THEN
        RAISE EXCEPTION 'events of a webhook are of PIPELINE_FAILED, PIPELINE_COMPLETED, RUN_FAILED, SCHEDULE_PAUSED and TYPE_ORPHANED%', coalesce(', not "' || left(unknown, 100) || '"', '')
            USING ERRCODE = 'check_violation', HINT = 'For none of them set enabled to false.';
    END IF;
    IF NEW.format NOT IN ('standard', 'slack', 'teams', 'discord', 'cloudevents') THEN
        RAISE EXCEPTION 'format of a webhook is standard, slack, teams, discord or cloudevents, not "%"', left(NEW.format, 100)
            USING ERRCODE = 'check_violation', HINT = 'standard, the default, is for receivers of your own; the others are for what they are named after.';
    END IF;
    RETURN NEW;
END $$;
COMMENT ON FUNCTION rowrun.webhook_fill() IS 'Trigger: NULLs get their defaults; what no webhook can be is refused.';
CREATE OR REPLACE TRIGGER webhook_fill BEFORE INSERT OR UPDATE ON rowrun.webhook FOR EACH ROW EXECUTE FUNCTION rowrun.webhook_fill();
