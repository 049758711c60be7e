package dbexec

import (
	"iter"
	"strings"
)

// sqliteScanner finds tokens as SQLite's own (tokenize.c) does.
type sqliteScanner struct {
	text string
	pos  int
}

func (s *sqliteScanner) next() (token, error) {
	start := s.pos
	k, err := s.scan()
	return token{kind: k, start: start, end: s.pos}, err
}

func (s *sqliteScanner) scan() (kind, error) {
	rest := s.text[s.pos:]
	if rest == "" {
		return kindEnd, nil
	}
	switch c := rest[0]; {
	case isSpace(c), strings.HasPrefix(rest, byteOrderMark):
		s.pos = behindSpace(s.text, s.pos)
		return kindSpace, nil
	case strings.HasPrefix(rest, "--"):
		if n := strings.IndexByte(rest, '\n'); n >= 0 {
			s.pos += n
		} else {
			s.pos = len(s.text)
		}
		return kindComment, nil
	case strings.HasPrefix(rest, "/*"):
		n := strings.Index(rest[2:], "*/")
		if n < 0 {
			start := s.pos
			s.pos = len(s.text)
			return kindComment, &textError{start, "a comment that does not end begins"}
		}
		s.pos += n + 4
		return kindComment, nil
	case c == '\'':
		return kindString, s.quoted("string")
	case c == '"', c == '`':
		return kindName, s.quoted("quoted name")
	case c == '[':
		n := strings.IndexByte(rest, ']')
		if n < 0 {
			return kindName, &textError{s.pos, "a quoted name that does not end begins"}
		}
		s.pos += n + 1
		return kindName, nil
	case c == ';':
		s.pos++
		return kindDelimiter, nil
	case isWordPart(c) && c != '$':
		for s.pos < len(s.text) && isWordPart(s.text[s.pos]) {
			s.pos++
		}
		return kindWord, nil
	case c == '\\':
		return kindOther, &textError{s.pos, "a backslash, which SQLite doesn't have outside of quotes, stands"}
	default:
		s.pos++
		return kindOther, nil
	}
}

func (s *sqliteScanner) quoted(what string) error {
	start := s.pos
	end, ok := quoted(s.text, s.pos, false)
	s.pos = end
	if !ok {
		return &textError{start, "a " + what + " that does not end begins"}
	}
	return nil
}

// splitSQLite cuts a text at the semicolons that end a statement, by the rule of sqlite3_complete: a CREATE TRIGGER ends with
// ; END ;
func splitSQLite(text string) ([]statement, error) {
	c, err := newCutter(text)
	if err != nil {
		return nil, err
	}
	s := sqliteScanner{text: text}
	body := triggerEnd{}
	for {
		t, err := s.next()
		if err != nil {
			return nil, err
		}
		switch t.kind {
		case kindEnd:
			c.finish()
			return c.out, nil
		case kindDelimiter:
			if isTrigger(c.tokens) && !body.semicolon() {
				c.add(t)
				continue
			}
			c.finish()
			body = triggerEnd{}
		case kindSpace, kindComment:
			c.add(t)
		default:
			if t.kind == kindOther && text[t.start] == '.' && !c.begun() {
				return nil, &textError{t.start, "a command of SQLite's shell (.read, .mode, …), which is not SQL, stands"}
			}
			c.add(t)
			body.token(t.kind == kindWord && strings.EqualFold(text[t.start:t.end], "END"))
		}
	}
}

// triggerEnd knows whether the last tokens were ; END.
type triggerEnd struct{ afterSemicolon, afterEnd bool }

func (e *triggerEnd) token(isEnd bool) {
	e.afterEnd = isEnd && e.afterSemicolon
	e.afterSemicolon = false
}

// semicolon is true where one ends the trigger.
func (e *triggerEnd) semicolon() bool {
	ends := e.afterEnd
	e.afterSemicolon, e.afterEnd = true, false
	return ends
}

// isTrigger is true in [EXPLAIN] CREATE [TEMP] TRIGGER.
func isTrigger(tokens []string) bool {
	if at(tokens, 0) == "EXPLAIN" {
		tokens = tokens[1:]
		if at(tokens, 0) == "QUERY" {
			tokens = tokens[min(2, len(tokens)):]
		}
	}
	if at(tokens, 0) != "CREATE" {
		return false
	}
	next := at(tokens, 1)
	if next == "TEMP" || next == "TEMPORARY" {
		next = at(tokens, 2)
	}
	return next == "TRIGGER"
}

// sqliteTokens are the tokens of one statement.
func sqliteTokens(text string) iter.Seq2[token, error] {
	return func(yield func(token, error) bool) {
		s := sqliteScanner{text: text}
		for {
			t, err := s.next()
			if err == nil && t.kind == kindEnd || !yield(t, err) || err != nil {
				return
			}
		}
	}
}

// sqliteNature says what SQLite makes of a statement.
func sqliteNature(s *statement) nature {
	n := sqliteNatureOfWords(s)
	if s.has("LAST_INSERT_ROWID") && !isTrigger(s.tokens) {
		n.reads = "last_insert_rowid()"
	}
	return n
}

func sqliteNatureOfWords(s *statement) nature {
	first, second := s.word(0), s.word(1)
	if lacks := notSQLites(first, second); lacks != "" {
		return nature{lacks: lacks}
	}
	switch first {
	case "INSERT", "UPDATE", "DELETE", "REPLACE":
		return nature{counts: true}
	case "WITH":
		return nature{counts: s.has("INSERT") || s.has("UPDATE") || s.has("DELETE") || s.has("REPLACE")}
	case "BEGIN":
		return nature{control: controlBegins}
	case "SAVEPOINT", "RELEASE":
		return nature{nests: true}
	case "COMMIT", "END":
		return nature{control: controlEnds}
	case "ROLLBACK":
		if s.has("TO") {
			return nature{}
		}
		return nature{control: controlEnds}
	case "VACUUM":
		if s.has("INTO") {
			return nature{lacks: "VACUUM INTO writes another file with the sidecar's rights: use a COMMAND task"}
		}
		return nature{commits: true, outside: true, harmless: true}
	case "PRAGMA":
		return pragmaNature(s)
	case "CREATE", "DROP":
		if second == "TEMP" || second == "TEMPORARY" {
			return nature{keeps: "a temporary " + s.word(2)}
		}
	}
	return nature{}
}

func notSQLites(first, second string) string {
	switch first {
	case "ATTACH", "DETACH":
		return first + " reaches other files with the sidecar's rights: make the other file a database of the configuration"
	case "LISTEN", "UNLISTEN", "NOTIFY", "COPY", "CLUSTER", "DISCARD", "COMMENT", "REFRESH", "REASSIGN", "MERGE":
		return first + " is PostgreSQL's, and SQLite doesn't have it"
	case "DELIMITER", "SHOW", "USE", "OPTIMIZE", "REPAIR", "FLUSH", "RENAME", "HANDLER", "XA", "KILL":
		return first + " is MySQL's, and SQLite doesn't have it"
	case "TRUNCATE":
		return "SQLite has no TRUNCATE: use DELETE FROM, without a WHERE it is as fast"
	case "GRANT", "REVOKE":
		return "SQLite has no roles: who may read the file may read all of it"
	case "SET":
		return "SQLite has no SET: use PRAGMA"
	case "CALL", "DO", "PREPARE", "EXECUTE", "DEALLOCATE", "DECLARE", "LOCK":
		return "SQLite has no " + first
	}
	if first == "CREATE" || first == "DROP" || first == "ALTER" {
		switch second {
		case "SCHEMA", "DATABASE", "ROLE", "USER", "FUNCTION", "PROCEDURE", "SEQUENCE", "TYPE", "EXTENSION", "EVENT", "MATERIALIZED", "POLICY":
			return "SQLite has no " + first + " " + second
		}
	}
	return ""
}

// pragmaNature tells pragmas that mean nothing in a transaction, and that are refused: which reach beyond the database.
func pragmaNature(s *statement) nature {
	name := s.word(1)
	if s.word(2) == "." {
		name = s.word(3)
	}
	if strings.HasPrefix(name, "`") || name == "'" {
		return nature{lacks: "a PRAGMA whose name is quoted can't be told from those that are refused: write it without quotes"}
	}
	if isDirectoryPragma(name) {
		return nature{lacks: "PRAGMA " + name + " sets a directory for the whole sidecar"}
	}
	if isRefusedPragma(name) {
		return nature{lacks: "PRAGMA " + name + " is the sidecar's to set"}
	}
	switch name {
	case "FOREIGN_KEYS":
		return nature{commits: true, outside: true, harmless: true, session: true}
	case "JOURNAL_MODE", "SYNCHRONOUS", "AUTO_VACUUM", "PAGE_SIZE", "WAL_CHECKPOINT", "INCREMENTAL_VACUUM", "TEMP_STORE":
		return nature{commits: true, outside: true, harmless: true}
	}
	return nature{session: true}
}

func isDirectoryPragma(name string) bool {
	return name == "TEMP_STORE_DIRECTORY" || name == "DATA_STORE_DIRECTORY"
}

// maySet is true where a PRAGMA, its name in upper case, would set what a text may not set. Without a value it is read.
func maySet(name, value string) bool {
	return isDirectoryPragma(name) || value != "" && isRefusedPragma(name)
}

// isRefusedPragma is true of those, in upper case, that a text may not set.
func isRefusedPragma(name string) bool {
	switch name {
	case "WRITABLE_SCHEMA", "TRUSTED_SCHEMA", "BUSY_TIMEOUT", "HARD_HEAP_LIMIT", "SOFT_HEAP_LIMIT", "LOCKING_MODE":
		return true
	}
	return isDirectoryPragma(name)
}
