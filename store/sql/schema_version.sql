-- schema_version
-- Returns: the newest migration that was applied, 0: none; 42P01 or 3F000 where there is no schema
SELECT coalesce(max(version), 0) FROM rowrun.migration
