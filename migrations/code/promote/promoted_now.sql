-- What the transaction has promoted so far, so that its next statement can claim it without a search; more than a
-- hundred at once aren't noted. The transaction's id stands before them: what a role or a database has set is no note.
CREATE OR REPLACE FUNCTION rowrun.promoted_now() RETURNS bigint[] LANGUAGE sql STABLE
    RETURN CASE WHEN split_part(current_setting('rowrun.promoted', true), ' ', 1) = pg_current_xact_id_if_assigned()::text
                THEN split_part(current_setting('rowrun.promoted', true), ' ', 2)::bigint[] ELSE '{}' END;
COMMENT ON FUNCTION rowrun.promoted_now() IS 'Internal: what the transaction has promoted so far.';

CREATE OR REPLACE FUNCTION rowrun.note_promoted(ids bigint[]) RETURNS text LANGUAGE sql VOLATILE
    RETURN CASE WHEN cardinality(ids) <= 100
                THEN set_config('rowrun.promoted', pg_current_xact_id()::text || ' ' || (rowrun.promoted_now() || ids)::text, true) END;
COMMENT ON FUNCTION rowrun.note_promoted(bigint[]) IS 'Internal: notes what was promoted, for the claim in the same transaction.';
