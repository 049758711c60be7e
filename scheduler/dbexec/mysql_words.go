package dbexec

import "slices"

// Errors of MySQL and MariaDB that say that something is there already, or isn't there any more.
const (
	errDatabaseExists   = 1007
	errDatabaseGone     = 1008
	errTableExists      = 1050
	errTableGone        = 1051
	errColumnGone       = 1054 // an unknown column
	errColumnExists     = 1060
	errKeyExists        = 1061
	errPrimaryKeyExists = 1068
	errPartGone         = 1091 // a column or key that can't be dropped
	errNoSuchTable      = 1146
	errKeyGone          = 1176
	errRoutineExists    = 1304
	errRoutineGone      = 1305
	errTriggerExists    = 1359
	errTriggerGone      = 1360
	errUser             = 1396 // CREATE USER or DROP USER failed
	errPartitionGone    = 1508
	errPartitionExists  = 1517
	errEventExists      = 1537
	errEventGone        = 1539
	errConstraintExists = 1826
	errCheckGone        = 3821
	errCheckExists      = 3822
	errConstraintGone   = 3940
	errSequenceGone     = 4091
	errViewGone         = 4092
	errForeignKey       = 1005 // with errno 121: a foreign key of that name
)

// notMySQLs says what a statement that MySQL doesn't have is.
func notMySQLs(first string) string {
	switch first {
	case "LISTEN", "UNLISTEN", "NOTIFY", "COPY", "VACUUM", "REINDEX", "CLUSTER", "DISCARD", "REFRESH", "REASSIGN", "MERGE":
		return first + " is PostgreSQL's, and this database doesn't have it"
	case "PRAGMA", "ATTACH", "DETACH":
		return first + " is SQLite's, and this database doesn't have it"
	case "SOURCE", "SYSTEM", "TEE", "NOTEE", "PAGER":
		return first + " is a command of the client, and there is none"
	case "XA":
		return "XA leaves transactions behind that outlive the run, and nobody ends them: use START TRANSACTION and COMMIT with \"transaction\": false"
	}
	return ""
}

// mysqlNature says what MySQL and MariaDB make of a statement.
func mysqlNature(s *statement) nature {
	for len(s.tokens) > 1 && s.tokens[0] == "(" {
		s.tokens = s.tokens[1:]
	}
	first, second := s.word(0), s.word(1)
	if lacks := notMySQLs(first); lacks != "" {
		return nature{lacks: lacks}
	}
	if n, ok := simpleNature(first); ok {
		return n
	}
	switch first {
	case "SELECT", "WITH", "VALUES", "TABLE":
		n := nature{quiet: true, counts: first == "WITH"}
		if setsVariable(s) {
			n.keeps = "a variable"
		}
		return n
	case "LOAD":
		return loadNature(s)
	case "SET":
		return setNature(s)
	case "BEGIN", "START", "COMMIT", "ROLLBACK":
		return controlNature(s)
	case "LOCK", "UNLOCK":
		return nature{commits: true, locks: second == "TABLES" || second == "TABLE", keeps: "a lock"}
	case "CREATE":
		return createNature(s)
	case "DROP":
		return dropNature(s)
	case "ALTER":
		return alterNature(s)
	case "RENAME":
		if second == "TABLE" && !s.has(",") {
			return nature{commits: true, tells: []int{errNoSuchTable, errTableExists}}
		}
		return nature{commits: true}
	case "FLUSH":
		return nature{commits: true, harmless: true, locks: s.has("LOCK") || s.has("EXPORT")}
	}
	return nature{commits: true, opaque: true}
}

func loadNature(s *statement) nature {
	switch {
	case s.has("LOCAL"):
		return nature{lacks: "LOAD DATA LOCAL reads a file of the client, and there is none: use INSERT, or a file of the server"}
	case s.word(1) == "DATA" || s.word(1) == "XML":
		return nature{counts: true}
	}
	return nature{commits: true, harmless: true} // LOAD INDEX INTO CACHE
}

// simpleNature knows the statements whose first word says all.
func simpleNature(first string) (n nature, ok bool) {
	switch first {
	case "INSERT", "UPDATE", "DELETE", "REPLACE":
		return nature{counts: true}, true
	case "DO", "SHOW", "DESCRIBE", "DESC", "EXPLAIN", "HELP", "CHECKSUM":
		return nature{quiet: true}, true
	case "HANDLER", "SIGNAL", "RESIGNAL", "GET", "KILL", "SAVEPOINT", "RELEASE":
		return nature{}, true
	case "USE":
		return nature{session: true}, true
	case "CALL", "EXECUTE", "IF", "CASE", "LOOP", "FOR", "REPEAT", "WHILE", "DECLARE":
		return nature{opaque: true, counts: first == "CALL"}, true
	case "PREPARE", "DEALLOCATE":
		return nature{keeps: "a prepared statement"}, true
	case "GRANT", "REVOKE", "ANALYZE", "OPTIMIZE", "REPAIR", "CHECK", "CACHE":
		return nature{commits: true, harmless: true}, true
	case "TRUNCATE":
		return nature{commits: true}, true
	}
	return nature{}, false
}

// setsVariable is true for SELECT … INTO @name and @name := ….
func setsVariable(s *statement) bool {
	for i, t := range s.tokens {
		if t == "INTO" && s.word(i+1) == "@" || t == ":" && s.word(i+1) == "=" {
			return true
		}
	}
	return false
}

func setNature(s *statement) nature {
	n := nature{session: true, quiet: true}
	depth := 0
	for i, t := range s.tokens {
		switch {
		case t == "(":
			depth++
		case t == ")":
			depth--
		case depth > 0:
		case t == "AUTOCOMMIT" && (s.word(i+1) == "=" || s.word(i+1) == ":"):
			return nature{lacks: "SET autocommit is not for tasks: use START TRANSACTION and COMMIT with \"transaction\": false"}
		case i == 1 && t == "PASSWORD":
			return nature{commits: true, harmless: true}
		case t == "GLOBAL" || t == "PERSIST" || t == "PERSIST_ONLY":
			n = nature{quiet: true, harmless: true}
		}
	}
	return n
}

func controlNature(s *statement) nature {
	first, second := s.word(0), s.word(1)
	switch {
	case s.has("CHAIN") && !s.has("NO"):
		return nature{lacks: first + " AND CHAIN is not for tasks: end the transaction, then begin the next one"}
	case first == "BEGIN" && (len(s.tokens) == 1 || second == "WORK"), first == "START" && second == "TRANSACTION":
		return nature{control: controlBegins}
	case first == "BEGIN":
		return nature{opaque: true} // BEGIN NOT ATOMIC … END
	case first == "START":
		return nature{commits: true, opaque: true} // START REPLICA
	case first == "ROLLBACK" && (second == "TO" || second == "WORK" && s.word(2) == "TO"):
		return nature{}
	}
	return nature{control: controlEnds}
}

// object finds what a CREATE or DROP is about, behind the options before it.
func object(s *statement) (kind string, at int) {
	for i, t := range s.tokens[1:min(len(s.tokens), 40)] {
		switch t {
		case "TABLE", "DATABASE", "SCHEMA", "VIEW", "INDEX", "TRIGGER", "PROCEDURE", "FUNCTION", "EVENT", "SEQUENCE", "USER", "ROLE",
			"SERVER", "TABLESPACE", "PACKAGE", "PREPARE":
			return t, i + 1
		}
	}
	return "", 0
}

func createNature(s *statement) nature {
	kind, at := object(s)
	n := nature{commits: true}
	temporary := slices.Contains(s.tokens[:max(at, 1)], "TEMPORARY")
	switch {
	case temporary && kind == "TABLE":
		return nature{keeps: "a temporary table"}
	case s.word(1) == "OR" && s.word(2) == "REPLACE", s.word(at+1) == "IF" && kind != "":
		n.harmless = true
		return n
	}
	if slices.Contains([]string{"PROCEDURE", "FUNCTION", "TRIGGER", "EVENT"}, kind) && s.has("BEGIN") && s.tokens[len(s.tokens)-1] != "END" && !endsNamed(s) {
		return nature{lacks: "CREATE " + kind + " ends before its END, at the first semicolon: put DELIMITER // on a line before it, // behind its END, and DELIMITER ; on a line after it"}
	}
	n.tells = refusals(kind, true)
	return n
}

// refusals are the errors by which a server says that an object is there already, or that it isn't.
func refusals(kind string, exists bool) []int {
	var there int
	var gone []int
	switch kind {
	case "TABLE", "VIEW", "SEQUENCE":
		there, gone = errTableExists, []int{errTableGone, errViewGone, errSequenceGone}
	case "DATABASE", "SCHEMA":
		there, gone = errDatabaseExists, []int{errDatabaseGone}
	case "INDEX":
		there, gone = errKeyExists, []int{errPartGone}
	case "TRIGGER":
		there, gone = errTriggerExists, []int{errTriggerGone}
	case "PROCEDURE", "FUNCTION":
		there, gone = errRoutineExists, []int{errRoutineGone}
	case "EVENT":
		there, gone = errEventExists, []int{errEventGone}
	case "USER", "ROLE":
		there, gone = errUser, []int{errUser}
	default:
		return nil
	}
	if exists {
		return []int{there}
	}
	return gone
}

// endsNamed is true for a body that ends with END and its label.
func endsNamed(s *statement) bool {
	n := len(s.tokens)
	return n > 1 && s.tokens[n-2] == "END" && !slices.Contains([]string{"IF", "CASE", "LOOP", "WHILE", "REPEAT", "FOR"}, s.tokens[n-1])
}

func dropNature(s *statement) nature {
	kind, at := object(s)
	n := nature{commits: true}
	switch {
	case s.word(1) == "TEMPORARY":
		return nature{keeps: "a temporary table that is gone"}
	case kind == "PREPARE":
		return nature{keeps: "a prepared statement that is gone"}
	case s.word(at+1) == "IF" && kind != "":
		n.harmless = true
		return n
	}
	n.tells = refusals(kind, false)
	return n
}
