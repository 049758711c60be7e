package dbexec

// addClause takes what stands behind ADD in an ALTER TABLE.
func addClause(c []string) (found []clause, sure bool) {
	switch first := at(c, 0); first {
	case "INDEX", "KEY", "UNIQUE", "FULLTEXT", "SPATIAL":
		return addIndex(c)
	case "VECTOR":
		if next := at(c, 1); next == "INDEX" || next == "KEY" || next == "(" {
			return addIndex(c)
		}
	case primary:
		return addPrimary(), true
	case "CONSTRAINT":
		return addConstraint(c[1:])
	case "PARTITION":
		return []clause{{tells: []int{errPartitionExists}}}, at(c, 1) == "("
	case "FOREIGN", "CHECK", "PERIOD", "SYSTEM", "":
		return nil, false // without a name
	case "COLUMN":
		c = c[1:]
	}
	c, conditional := behindIf(c)
	if at(c, 0) == "(" {
		return addList(c[1:], conditional)
	}
	name, sure := nameOf(at(c, 0))
	column := clause{tells: []int{errColumnExists}, makes: []part{{partColumn, name}}, conditional: conditional}
	return []clause{column.asConditional()}, sure
}

// addList takes a list in parentheses, in which keys stand among the columns. IF NOT EXISTS before it is the columns'.
func addList(c []string, conditional bool) (found []clause, sure bool) {
	depth := 1
	for i, t := range c {
		switch t {
		case "(":
			depth++
		case ")":
			depth--
		}
		if depth == 0 {
			c = c[:i]
			break
		}
	}
	for _, item := range clauses(c) {
		if at(item, 0) == "(" || at(item, 0) == "PARTITION" {
			return nil, false
		}
		added, sure := addClause(item)
		if !sure {
			return nil, false
		}
		for _, a := range added {
			a.conditional = a.conditional || conditional && a.makes[0].kind == partColumn
			found = append(found, a.asConditional())
		}
	}
	return found, true
}

func addPrimary() []clause {
	return []clause{{tells: []int{errPrimaryKeyExists}, makes: []part{{partIndex, primary}}}}
}

// addIndex takes an index. Without a name the server finds another one each time.
func addIndex(c []string) (found []clause, sure bool) {
	first := c[0]
	c = c[1:]
	if next := at(c, 0); first != "INDEX" && first != "KEY" && (next == "INDEX" || next == "KEY") {
		c = c[1:]
	}
	c, conditional := behindIf(c)
	if conditional && at(c, 0) == "(" {
		c = c[1:] // it is looked for by the name of its first column
	}
	name, sure := nameOf(at(c, 0))
	index := clause{tells: []int{errKeyExists}, makes: []part{{partIndex, name}}, conditional: conditional}
	return []clause{index.asConditional()}, sure && name != "USING"
}

// addConstraint takes what stands behind CONSTRAINT.
func addConstraint(c []string) (found []clause, sure bool) {
	c, conditional := behindIf(c)
	switch at(c, 0) {
	case primary:
		return addPrimary(), true
	case "FOREIGN", "UNIQUE", "CHECK":
		return nil, false // without a name
	}
	name, sure := nameOf(at(c, 0))
	added := clause{
		tells:       []int{errKeyExists, errPrimaryKeyExists, errConstraintExists, errCheckExists, errForeignKey},
		conditional: conditional,
	}
	switch at(c, 1) {
	case primary:
		added.makes = []part{{partIndex, primary}}
	case "UNIQUE":
		added.makes = []part{{partIndex, name}}
		index := from(c, 2)
		if next := at(index, 0); next == "INDEX" || next == "KEY" {
			index = index[1:]
		}
		if own, ok := nameOf(at(index, 0)); ok && own != "USING" && own != name {
			added.makes = append(added.makes, part{partIndex, own})
		}
	case "FOREIGN":
		added.makes = []part{{partForeignKey, name}}
	case "CHECK":
		added.makes = []part{{partCheck, name}}
	default:
		return nil, false
	}
	return []clause{added.asConditional()}, sure
}
