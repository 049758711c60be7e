ALTER TABLE rowrun.gate_mark
    DROP CONSTRAINT gate_mark_database_id_up_to_200_bytes,
    DROP CONSTRAINT gate_mark_limit_key_up_to_300_bytes;
