-- Marks are taken a thousand at a time by one statement, which gathers their texts: one that is longer than any there can be is refused.
DELETE FROM rowrun.gate_mark WHERE octet_length(database_id) > 200 OR octet_length(limit_key) > 300;
ALTER TABLE rowrun.gate_mark
    ADD CONSTRAINT gate_mark_database_id_up_to_200_bytes CHECK (octet_length(database_id) <= 200),
    ADD CONSTRAINT gate_mark_limit_key_up_to_300_bytes CHECK (octet_length(limit_key) <= 300);
