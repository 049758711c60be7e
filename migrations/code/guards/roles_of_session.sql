-- What the database refuses, whoever asks, and what it fills in: triggers that look at the new row and at its task,
-- and lock nothing else; the INSERT of a plan's run may leave a mark (rowrun.mark_ready). SQLSTATEs: RR001 an edge that the state machine hasn't, RR003 a value that users
-- may not give, RR004 a state in which that can't be done, RR005 a column that is fixed while a run is unfinished,
-- RR006 a row that can't be deleted yet.

-- Who executes a statement decides what is believed: inside of a SECURITY DEFINER function that is its owner, in a
-- statement of a replica the role that the replica signed in with. Settings are anybody's, and decide nothing.
CREATE OR REPLACE FUNCTION rowrun.is_owner() RETURNS boolean LANGUAGE sql STABLE
    RETURN pg_has_role(current_user, (SELECT c.relowner FROM pg_catalog.pg_class c WHERE c.oid = 'rowrun.task_run'::regclass), 'USAGE');
COMMENT ON FUNCTION rowrun.is_owner() IS 'Internal: whether the role that executes owns the tables.';

CREATE OR REPLACE FUNCTION rowrun.is_trusted() RETURNS boolean LANGUAGE sql STABLE
    RETURN rowrun.is_owner() OR pg_has_role(current_user, 'rowrun_replica', 'USAGE');
COMMENT ON FUNCTION rowrun.is_trusted() IS 'Internal: whether the role that executes owns the tables or is a replica''s.';

-- Types whose tasks are for authors: their payload is executed on targets or on the sidecar's machine.
CREATE OR REPLACE FUNCTION rowrun.is_authors(type text) RETURNS boolean LANGUAGE sql IMMUTABLE
    RETURN type IN ('SQL', 'DATABASE_MIGRATE', 'COMMAND');
COMMENT ON FUNCTION rowrun.is_authors(text) IS 'Internal: whether tasks of a type are for authors.';

CREATE OR REPLACE FUNCTION rowrun.is_author() RETURNS boolean LANGUAGE sql STABLE
    RETURN rowrun.is_trusted() OR pg_has_role(current_user, 'rowrun_author', 'USAGE');
COMMENT ON FUNCTION rowrun.is_author() IS 'Internal: whether the role that executes may write tasks for authors.';

-- Who calls a function of ours that runs with its owner's rights, inside of which current_user is that owner: the role that was set, or the
-- one that signed in. A function of somebody else's that runs with its owner's rights isn't seen in between.
CREATE OR REPLACE FUNCTION rowrun.calling_role() RETURNS text LANGUAGE sql STABLE
    RETURN CASE current_setting('role') WHEN 'none' THEN session_user::text ELSE current_setting('role') END;
COMMENT ON FUNCTION rowrun.calling_role() IS 'Internal: the role that calls a function which runs with its owner''s rights.';
