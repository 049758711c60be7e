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
	errRoutineGone      = 1305 // or a savepoint
	errTriggerExists    = 1359
	errTriggerGone      = 1360
	errUser             = 1396 // CREATE USER or DROP USER failed
	errPartitionGone    = 1507
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
	n := mysqlNatureOfWords(s)
	if len(s.tokens) > 0 && (!n.commits || isOfTable(s)) {
		n.reads, n.variables = readsOfSession(s), variablesOf(s, n.opaque)
	}
	return n
}

// readsOfSession names what a statement reads of those before it; "": nothing.
func readsOfSession(s *statement) string {
	for i, t := range s.tokens {
		switch {
		case t == "LAST_INSERT_ID", t == "FOUND_ROWS":
			return t + "()"
		case t == "IDENTITY" && i > 1 && (s.word(i-1) == "@" || s.word(i-2) == "SESSION"):
			return "@@identity"
		}
	}
	return ""
}

// isOfTable is false for a routine, a trigger, an event or a view, whose words are not executed when it is made.
func isOfTable(s *statement) bool {
	kind, _ := object(s)
	return kind == "TABLE"
}

func mysqlNatureOfWords(s *statement) nature {
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
	case "SELECT", "WITH", "VALUES", "TABLE", "EXPLAIN", "DESCRIBE", "DESC":
		n := nature{quiet: true, counts: first == "WITH"}
		if setsVariable(s) {
			n.keeps = aVariable
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
		return renameNature(s)
	case "ANALYZE":
		return analyzeNature(s)
	case "FLUSH":
		return nature{commits: true, harmless: true, locks: s.has("LOCK") || s.has("EXPORT")}
	}
	return nature{commits: true, opaque: true}
}

func renameNature(s *statement) nature {
	if s.word(1) == "TABLE" && !s.has(",") {
		return nature{commits: true, tells: []int{errNoSuchTable, errTableExists}}
	}
	return nature{commits: true}
}

// analyzeNature is for ANALYZE TABLE, and for MariaDB's ANALYZE, which executes the statement behind it.
func analyzeNature(s *statement) nature {
	at := 1
	switch s.word(1) {
	case "TABLE", "TABLES", "LOCAL", "NO_WRITE_TO_BINLOG", "":
		return nature{commits: true, harmless: true}
	case "FORMAT":
		at = 4 // FORMAT = JSON
	}
	return mysqlNature(&statement{tokens: s.tokens[min(at, len(s.tokens)-1):]})
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
	case "DO", "SHOW", "HELP", "CHECKSUM":
		return nature{quiet: true}, true
	case "HANDLER", "SIGNAL", "RESIGNAL", "GET", "KILL", "SAVEPOINT", "RELEASE":
		return nature{}, true
	case "USE":
		return nature{session: true}, true
	case "CALL", "EXECUTE", "IF", "CASE", "LOOP", "FOR", "REPEAT", "WHILE", "DECLARE":
		return nature{opaque: true, counts: first == "CALL"}, true
	case "PREPARE", "DEALLOCATE":
		return nature{keeps: "a prepared statement"}, true
	case "GRANT", "REVOKE", "OPTIMIZE", "REPAIR", "CHECK", "CACHE":
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
	if s.word(1) == "STATEMENT" {
		return setStatementNature(s)
	}
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
		case i == 1 && (t == "PASSWORD" || t == "DEFAULT" && s.word(2) == "ROLE"):
			return nature{commits: true, harmless: !givesPasswordAnew(s)}
		case t == "GLOBAL" || t == "PERSIST" || t == "PERSIST_ONLY":
			n = nature{quiet: true, harmless: true}
		}
	}
	if computesVariable(s) {
		n.keeps = aVariable
	}
	return n
}

// setStatementNature is for SET STATEMENT … FOR …, which executes the statement behind FOR.
func setStatementNature(s *statement) nature {
	depth := 0
	for i, t := range s.tokens {
		switch {
		case t == "(":
			depth++
		case t == ")":
			depth--
		case t == "FOR" && depth == 0 && i+1 < len(s.tokens):
			n := mysqlNature(&statement{tokens: s.tokens[i+1:]})
			if n.control != controlNone {
				return nature{lacks: "SET STATEMENT … FOR " + s.word(i+1) + " is not for tasks: use SET, and " + s.word(i+1) + " by itself"}
			}
			return n
		}
	}
	return nature{commits: true, opaque: true}
}

// computesVariable is true for a SET that gives a variable of the user's a value of a function, a query or the clock.
func computesVariable(s *statement) bool {
	depth, variable, computed := 0, false, false
	for i, t := range s.tokens {
		switch {
		case t == "(":
			depth++
			computed = computed || isCall(s.word(i-1))
		case t == ")":
			depth--
		case t == "@" && depth == 0 && s.word(i+1) != "@" && (i == 1 || s.word(i-1) == ","):
			variable = true
		case slices.Contains([]string{
			"SELECT", "NEXT", "PREVIOUS", "CURRENT_USER", "CURRENT_ROLE", "CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP",
			"LOCALTIME", "LOCALTIMESTAMP", "UTC_DATE", "UTC_TIME", "UTC_TIMESTAMP", "LAST_INSERT_ID", "IDENTITY",
		}, t):
			computed = true
		}
	}
	return variable && computed
}

// isCall is true for a word that names a function where a parenthesis follows it.
func isCall(word string) bool {
	switch word {
	case "", "AND", "OR", "XOR", "NOT", "IN", "DIV", "MOD", "LIKE", "BETWEEN", "CASE", "WHEN", "THEN", "ELSE":
		return false
	}
	return word[0] == '`' || isWordStart(word[0])
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
	case s.word(1) == "OR" && s.word(2) == "REPLACE":
		n.harmless = slices.Contains([]string{"VIEW", "INDEX", "TRIGGER", "PROCEDURE", "FUNCTION", "PACKAGE", "SERVER"}, kind)
		return n
	case s.word(at+1) == "IF" && kind != "":
		n.harmless = kind != "EVENT" || !mayEnd(s)
		return n
	}
	if slices.Contains([]string{"PROCEDURE", "FUNCTION", "TRIGGER", "EVENT"}, kind) && s.has("BEGIN") && s.tokens[len(s.tokens)-1] != "END" && !endsNamed(s) {
		return nature{lacks: "CREATE " + kind + " ends before its END, at the first semicolon: put DELIMITER // on a line before it, // behind its END, and DELIMITER ; on a line after it"}
	}
	if kind != "EVENT" || !mayEnd(s) {
		n.tells = refusals(kind, true)
	}
	return n
}

// mayEnd is true for an event that is gone once its time is over: made again, it would be executed again.
func mayEnd(s *statement) bool {
	i := slices.Index(s.tokens, "SCHEDULE")
	return i >= 0 && (s.word(i+1) == "AT" || s.has("ENDS"))
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
