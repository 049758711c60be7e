package dbexec

import (
	"slices"
	"strings"
)

// A server does an ALTER TABLE as a whole or not at all. A second time it does no harm where each clause is refused, or finds the table
// as it left it. Neither is sure of a clause that takes away what another one makes: columns that change their names with each other
// change them back, and a column that is dropped and added loses what was written to it since.

// alterNature says of an ALTER whether it can be told from the engine's refusal that it took effect before.
func alterNature(s *statement) nature {
	n := nature{commits: true}
	kind, at := object(s)
	switch kind {
	case "TABLE":
		var sure bool
		if n.tells, sure = alterTable(s.tokens[at+1:]); !sure {
			return nature{commits: true}
		}
		n.harmless = len(n.tells) == 0
	case "VIEW", "DATABASE", "SCHEMA", "PROCEDURE", "FUNCTION", "SERVER": // the same again
		n.harmless = true
	case "USER":
		n.harmless = !givesPasswordAnew(s)
	case "SEQUENCE":
		n.harmless = !s.has("RESTART") // numbers that were taken since
	case "EVENT":
		switch {
		case s.has("SCHEDULE"): // its times begin anew
		case s.has("RENAME"):
			n.tells = []int{errEventExists, errEventGone}
		default:
			n.harmless = true
		}
	}
	return n
}

// givesPasswordAnew is true where the password before is kept (the second time the new one), or another one is drawn each time.
func givesPasswordAnew(s *statement) bool { return s.has("RETAIN") || s.has("RANDOM") }

// part is something of a table that has a name.
type part struct {
	kind partKind
	name string
}

type partKind int

const (
	partColumn partKind = iota
	partIndex
	partForeignKey
	partCheck
)

// primary is the name of a primary key, as an index.
const primary = "PRIMARY"

// clause is what a part of an ALTER TABLE does.
type clause struct {
	tells         []int // the refusals that tell that it took effect before; none: its repetition changes nothing
	drops, makes  []part
	renames       bool   // what it makes is what it drops
	conditional   bool   // IF EXISTS, IF NOT EXISTS
	moves, behind string // a column that it moves, and the one that this follows then; "": it is the first
}

// alterTable takes what stands behind ALTER TABLE. sure is false where a repetition could go through and change something.
func alterTable(tokens []string) (tells []int, sure bool) {
	if len(tokens) > maxTokens/2 {
		return nil, false // clauses may be missing
	}
	var all []clause
	for i, c := range clauses(tokens) {
		if i == 0 {
			c = behindName(c)
		}
		found, sure := alterClause(c)
		if !sure || partitions(c) {
			return nil, false
		}
		all = append(all, found...)
	}
	return together(all)
}

// together judges clauses, each of which is sure by itself, as one statement.
func together(all []clause) (tells []int, sure bool) {
	makers, movers := map[part]int{}, map[string]int{}
	for i, c := range all {
		for _, p := range c.makes {
			if _, twice := makers[p]; twice {
				return nil, false
			}
			makers[p] = i
		}
		if c.moves != "" {
			movers[c.moves] = i
		}
	}
	again := make([]bool, len(all)) // a key that is dropped, and made again from the same text
	for i, c := range all {
		for _, p := range c.drops {
			maker, ok := makers[p]
			if !ok {
				continue
			}
			if p.kind == partColumn || c.renames || all[maker].renames || all[maker].conditional {
				return nil, false
			}
			again[i], again[maker] = true, true
		}
		if movers[c.behind] > i {
			return nil, false // it follows a column that is then moved on
		}
	}
	for i, c := range all {
		if !again[i] {
			tells = append(tells, c.tells...)
		}
	}
	return tells, true
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

// behindName leaves the table's name out, what stands before it, and how long the table is waited for.
func behindName(c []string) []string {
	if at(c, 0) == "IF" {
		c = from(c, 2)
	}
	c = from(c, 1)
	for at(c, 0) == "." {
		c = from(c, 2)
	}
	switch at(c, 0) {
	case "WAIT":
		return from(c, 2)
	case "NOWAIT":
		return from(c, 1)
	}
	return c
}

func alterClause(c []string) (found []clause, sure bool) {
	switch first := at(c, 0); first {
	case "ADD":
		return addClause(c[1:])
	case "DROP":
		return dropClause(c[1:])
	case "RENAME":
		return renameClause(c[1:])
	case "CHANGE", "MODIFY":
		return defineClause(c[1:], first == "CHANGE")
	case "CONVERT":
		return nil, at(c, 1) == "TO" // and not a partition or a table
	case "ALTER", "ENGINE", "COMMENT", "DEFAULT", "CHARACTER", "CHARSET", "COLLATE", "ORDER", "ALGORITHM", "LOCK", "FORCE", "ENABLE", "DISABLE",
		"ROW_FORMAT", "KEY_BLOCK_SIZE", "STATS_PERSISTENT":
		// Options follow each other without commas too. AUTO_INCREMENT lowers the next number to that of the last row: those of rows
		// that were deleted since are given out a second time.
		return nil, !slices.Contains(c, "AUTO_INCREMENT")
	}
	return nil, false
}

// partitions is true where PARTITION BY or REMOVE PARTITIONING follows a clause, without a comma.
func partitions(c []string) bool {
	return at(c, 1) != "PARTITION" && (slices.Contains(c, "PARTITION") || slices.Contains(c, "PARTITIONING"))
}

func dropClause(c []string) (found []clause, sure bool) {
	kinds := []partKind{partColumn}
	switch at(c, 0) {
	case "PARTITION":
		if at(c, 1) == "IF" {
			return nil, true
		}
		return []clause{{tells: []int{errPartitionGone}}}, true
	case "SYSTEM", "PERIOD":
		return nil, false
	case "PRIMARY":
		return []clause{{tells: []int{errPartGone}, drops: []part{{partIndex, primary}}}}, true
	case "INDEX", "KEY":
		kinds, c = []partKind{partIndex}, c[1:]
	case "FOREIGN":
		kinds, c = []partKind{partForeignKey}, from(c, 2)
	case "CHECK":
		kinds, c = []partKind{partCheck}, c[1:]
	case "CONSTRAINT":
		kinds, c = []partKind{partIndex, partForeignKey, partCheck}, c[1:]
	case "COLUMN":
		c = c[1:]
	}
	c, conditional := behindIf(c)
	name, sure := nameOf(at(c, 0))
	dropped := clause{tells: []int{errPartGone, errCheckGone, errConstraintGone}, conditional: conditional}
	for _, kind := range kinds {
		dropped.drops = append(dropped.drops, part{kind, name})
	}
	return []clause{dropped.asConditional()}, sure
}

func renameClause(c []string) (found []clause, sure bool) {
	kind, gone := partColumn, errColumnGone
	switch at(c, 0) {
	case "COLUMN":
	case "INDEX", "KEY":
		kind, gone = partIndex, errKeyGone
	default:
		return []clause{{tells: []int{errNoSuchTable, errTableExists}}}, true
	}
	c, conditional := behindIf(c[1:])
	if at(c, 1) != "TO" {
		return nil, false
	}
	return renamed(kind, at(c, 0), at(c, 2), gone, conditional)
}

// renamed is the change of a name.
func renamed(kind partKind, old, to string, gone int, conditional bool) (found []clause, sure bool) {
	before, ok1 := nameOf(old)
	after, ok2 := nameOf(to)
	if before == after {
		return nil, ok1 && ok2
	}
	c := clause{tells: []int{gone}, drops: []part{{kind, before}}, makes: []part{{kind, after}}, renames: true, conditional: conditional}
	return []clause{c.asConditional()}, ok1 && ok2
}

// defineClause is for MODIFY, and for CHANGE, which names the column twice.
func defineClause(c []string, change bool) (found []clause, sure bool) {
	if at(c, 0) == "COLUMN" {
		c = c[1:]
	}
	c, conditional := behindIf(c)
	name, sure := nameOf(at(c, 0))
	if change {
		to, ok := nameOf(at(c, 1))
		if !sure || !ok || to != name {
			return renamed(partColumn, at(c, 0), at(c, 1), errColumnGone, conditional)
		}
		c = c[1:]
	}
	out := clause{}
	depth := 0
	for i, t := range c {
		switch {
		case t == "(":
			depth++
		case t == ")":
			depth--
		case depth > 0 || i == 0:
		case t == "UNIQUE", t == "CHECK", t == "REFERENCES": // a second index, check or foreign key, which needs no name
			return nil, false
		case t == primary, t == "KEY":
			out.makes, out.tells = []part{{partIndex, primary}}, []int{errPrimaryKeyExists}
		case t == "FIRST":
			out.moves = name
		case t == "AFTER":
			out.moves = name
			out.behind, _ = nameOf(at(c, i+1))
		}
	}
	return []clause{out}, sure
}

// asConditional leaves the refusals out where a clause has IF.
func (c clause) asConditional() clause {
	if c.conditional {
		c.tells = nil
	}
	return c
}

// behindIf passes IF EXISTS and IF NOT EXISTS.
func behindIf(c []string) (rest []string, conditional bool) {
	switch {
	case at(c, 0) != "IF":
		return c, false
	case at(c, 1) == "NOT":
		return from(c, 3), true
	}
	return from(c, 2), true
}

// nameOf is the name that a token is, in upper case.
func nameOf(token string) (name string, ok bool) {
	if quoted, ok := strings.CutPrefix(token, "`"); ok {
		return strings.ToUpper(quoted), true
	}
	return token, token != "" && isWordPart(token[0]) && token[0] != '$'
}

func at(words []string, n int) string {
	if n < len(words) {
		return words[n]
	}
	return ""
}

func from(words []string, n int) []string { return words[min(n, len(words)):] }
