-- note_act
-- Has the stream tell of an act.
-- $1 bigint: act
-- $2 text: event
-- Returns: nothing of use
SELECT rowrun.note_act($1, $2)
