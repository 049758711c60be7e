package dbexec

import "slices"

// alterNature says of an ALTER whether it can be told from the engine's refusal that it took effect before.
func alterNature(s *statement) nature {
	n := nature{commits: true}
	kind, at := object(s)
	if kind != "TABLE" {
		n.harmless = kind != "" // VIEW, DATABASE, USER, EVENT …: the same again
		return n
	}
	for i, clause := range clauses(s.tokens[at+1:]) {
		if i == 0 {
			clause = behindName(clause)
		}
		tells, sure := alterClause(clause)
		if !sure {
			return nature{commits: true}
		}
		n.tells = append(n.tells, tells...)
	}
	n.harmless = len(n.tells) == 0
	return n
}

// clauses are the parts between commas that no parenthesis encloses.
func clauses(tokens []string) [][]string {
	var out [][]string
	depth, start := 0, 0
	for i, t := range tokens {
		switch {
		case t == "(":
			depth++
		case t == ")":
			depth--
		case t == "," && depth == 0:
			out = append(out, tokens[start:i])
			start = i + 1
		}
	}
	return append(out, tokens[start:])
}

// behindName leaves the table's name out, and what stands before it.
func behindName(clause []string) []string {
	if at(clause, 0) == "IF" {
		clause = clause[min(2, len(clause)):]
	}
	clause = clause[min(1, len(clause)):]
	for at(clause, 0) == "." {
		clause = clause[min(2, len(clause)):]
	}
	return clause
}

// alterClause returns which refusals tell that a clause took effect before. sure is false where a repetition could go through and
// do more, such as a second index that the engine finds a name for.
func alterClause(c []string) (tells []int, sure bool) {
	switch at(c, 0) {
	case "ADD":
		return addClause(c[1:])
	case "DROP":
		switch {
		case slices.Contains(c, "IF"):
			return nil, true
		case at(c, 1) == "PARTITION":
			return []int{errPartitionGone}, true
		}
		return []int{errPartGone, errCheckGone, errConstraintGone}, true
	case "RENAME":
		switch at(c, 1) {
		case "COLUMN":
			return []int{errColumnGone}, true
		case "INDEX", "KEY":
			return []int{errKeyGone}, true
		}
		return []int{errNoSuchTable, errTableExists}, true
	case "CHANGE":
		return []int{errColumnGone}, true
	case "MODIFY", "ALTER", "ENGINE", "COMMENT", "AUTO_INCREMENT", "CONVERT", "DEFAULT", "CHARACTER", "CHARSET", "COLLATE", "ORDER",
		"ALGORITHM", "LOCK", "FORCE", "ENABLE", "DISABLE", "ROW_FORMAT", "KEY_BLOCK_SIZE", "STATS_PERSISTENT", "NOWAIT", "WAIT":
		return nil, true
	}
	return nil, false
}

func addClause(c []string) (tells []int, sure bool) {
	switch first := at(c, 0); first {
	case "INDEX", "KEY", "UNIQUE", "FULLTEXT", "SPATIAL":
		c = c[1:]
		if first != "INDEX" && first != "KEY" && (at(c, 0) == "INDEX" || at(c, 0) == "KEY") {
			c = c[1:]
		}
		return []int{errKeyExists}, at(c, 0) != "(" && at(c, 0) != "USING" && at(c, 0) != ""
	case "PRIMARY":
		return []int{errPrimaryKeyExists}, true
	case "CONSTRAINT":
		switch at(c, 1) {
		case "PRIMARY":
			return []int{errPrimaryKeyExists}, true
		case "FOREIGN", "UNIQUE", "CHECK", "":
			return nil, false // without a name
		}
		return []int{errKeyExists, errPrimaryKeyExists, errConstraintExists, errCheckExists, errForeignKey}, true
	case "PARTITION":
		return []int{errPartitionExists}, at(c, 1) == "("
	case "FOREIGN", "CHECK", "PERIOD", "SYSTEM", "":
		return nil, false
	case "COLUMN":
		c = c[1:]
	}
	if at(c, 0) == "IF" {
		return nil, true
	}
	return []int{errColumnExists}, true
}

func at(words []string, n int) string {
	if n < len(words) {
		return words[n]
	}
	return ""
}
