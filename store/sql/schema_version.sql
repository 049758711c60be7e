-- schema_version
-- The newest table step that was applied.
-- Returns: it; whether every step has a checksum, which those of the old numbering lack
SELECT coalesce(max(m.version), 0), coalesce(bool_and(to_jsonb(m) ? 'checksum'), true) FROM rowrun.migration m
