-- schema_code
-- Which functions, triggers and views the schema has.
-- Returns: their release, the hash of their source
SELECT c.release, c.hash FROM rowrun.code_version c
