package migrations

// spelling is how the server reads the statements that make the schema, and writes down its objects, whatever the database and
// the role have as defaults: as pg_dump has it. A backslash in a text is one, = NULL is no IS NULL, and constants and names are
// written in one way only, as what was recorded is compared with what is.
const spelling = "SET standard_conforming_strings = on; SET transform_null_equals = off; SET array_nulls = on; SET quote_all_identifiers = off; " +
	"SET DateStyle = 'ISO, MDY'; SET IntervalStyle = 'postgres'; SET TimeZone = 'UTC'; SET extra_float_digits = 1; SET bytea_output = 'hex'"
