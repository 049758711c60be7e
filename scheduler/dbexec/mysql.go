package dbexec

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// mysqlEngine is MySQL or MariaDB: one protocol, and nearly one language.
type mysqlEngine struct {
	named  Engine
	config *mysql.Config
}

func newMySQL(named Engine, address string) (*mysqlEngine, error) {
	c, err := parseMySQL(address)
	if err != nil {
		return nil, err
	}
	return &mysqlEngine{named: named, config: c}, nil
}

func (e *mysqlEngine) kind() Engine { return e.named }

func (e *mysqlEngine) tokens(text string) iter.Seq2[token, error] { return mysqlTokens(text) }

func (e *mysqlEngine) split(text string) ([]statement, error) {
	out, err := splitMySQL(text)
	for i := range out {
		out[i].nature = mysqlNature(&out[i])
	}
	return out, err
}

// connect opens a session whose sql_mode is the one that the splitter knows. It ends by itself when it is idle for a minute, so that
// a sidecar that was stopped holds no locks for ever.
func (e *mysqlEngine) connect(ctx context.Context, t *target, label string) (*session, error) {
	return e.dial(ctx, t, label, "")
}

// dial is connect to the address that another session leads to; "": any.
func (e *mysqlEngine) dial(ctx context.Context, t *target, label, peer string) (*session, error) {
	s := &session{engine: e, target: t, label: label}
	c := e.config.Clone()
	c.ConnectionAttributes = "program_name:rowrun,rowrun_label:" + strings.ReplaceAll(label, ":", " ")
	c.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if peer != "" && network == "tcp" {
			address = peer
		}
		// A statement may be silent for hours: only keepalives find out that its host is gone.
		conn, err := (&net.Dialer{KeepAliveConfig: net.KeepAliveConfig{
			Enable: true, Idle: 15 * time.Second, Interval: 15 * time.Second, Count: 4,
		}}).DialContext(ctx, network, address)
		if err == nil && network == "tcp" {
			s.peer = conn.RemoteAddr().String()
		}
		return conn, err
	}
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return nil, errors.New("its url can't be used")
	}
	s.db = sql.OpenDB(connector)
	if s.conn, err = locked(ctx, s.db); err != nil {
		return nil, err
	}
	if err := e.prepare(ctx, s); err != nil {
		s.close(ctx)
		return nil, err
	}
	return s, nil
}

func (e *mysqlEngine) prepare(ctx context.Context, s *session) error {
	rows, err := s.query(ctx, "SELECT CONNECTION_ID() AS id, @@SESSION.sql_mode AS mode")
	if err != nil {
		return err
	}
	s.id = rows[0]["id"]
	if _, err := strconv.ParseUint(s.id, 10, 64); err != nil {
		return errors.New("the server says no connection id")
	}
	if _, err := s.conn.ExecContext(ctx, "SET SESSION sql_mode = ?, SESSION wait_timeout = 60, SESSION autocommit = 1", readableMode(rows[0]["mode"])); err != nil {
		return err
	}
	return nil
}

// readableMode leaves out of a sql_mode what changes how a text is read.
func readableMode(mode string) string {
	return strings.Join(slices.DeleteFunc(strings.Split(mode, ","), func(word string) bool {
		switch word {
		// Besides the two themselves those that stand for several, of which the others are listed too.
		case "ANSI_QUOTES", "NO_BACKSLASH_ESCAPES", "ANSI", "DB2", "MAXDB", "MSSQL", "ORACLE", "POSTGRESQL":
			return true
		}
		return false
	}), ",")
}

func (e *mysqlEngine) limit(ctx context.Context, s *session) error {
	if t := s.target.lockTimeout; t > 0 {
		seconds := max(int64((t+time.Second-1)/time.Second), 1)
		if _, err := s.conn.ExecContext(ctx, "SET SESSION lock_wait_timeout = ?, SESSION innodb_lock_wait_timeout = ?", seconds, seconds); err != nil {
			return err
		}
	}
	if t := s.target.statementTimeout; t > 0 {
		// For the statements of a sidecar that was killed: a second longer than the sidecar's own clock. MariaDB ends any statement,
		// MySQL a SELECT.
		_, err := s.conn.ExecContext(ctx, "SET SESSION max_statement_time = "+strconv.FormatFloat((t+time.Second).Seconds(), 'f', 3, 64))
		if r := e.read(err); r != nil && r.number == 1193 {
			_, err = s.conn.ExecContext(ctx, "SET SESSION max_execution_time = "+strconv.FormatInt((t+time.Second).Milliseconds(), 10))
		}
		return err
	}
	return nil
}

// savepoint is lost when a transaction ends, by whatever, and outside of one it is not set. It is set right before it is needed:
// RELEASE drops those that were set after it, and a text may have its own.
const savepoint = "rowrun_transaction"

func (e *mysqlEngine) begin(ctx context.Context, s *session) error {
	_, err := s.do(ctx, "START TRANSACTION")
	return err
}

func (e *mysqlEngine) watch(ctx context.Context, s *session) error {
	_, err := s.do(ctx, "SAVEPOINT "+savepoint)
	return err
}

func (e *mysqlEngine) lasts(ctx context.Context, s *session) (bool, error) {
	_, err := s.do(ctx, "RELEASE SAVEPOINT "+savepoint)
	if r := e.read(err); r != nil && r.number == errRoutineGone {
		return false, nil
	}
	return err == nil, err
}

func (e *mysqlEngine) open(ctx context.Context, s *session, _ bool) (bool, error) {
	if err := e.watch(ctx, s); err != nil {
		return false, err
	}
	return e.lasts(ctx, s)
}

func (e *mysqlEngine) sent(s *session, text string) string {
	return "/* " + s.label + " */ " + text
}

// notices are the warnings of the last statement.
func (e *mysqlEngine) notices(ctx context.Context, s *session) []noticeRow {
	rows, err := s.query(ctx, "SHOW WARNINGS LIMIT 20")
	if err != nil {
		return nil // the next statement meets it too
	}
	var out []noticeRow
	for _, row := range rows {
		out = append(out, noticeRow{Severity: strings.ToUpper(row["Level"]), Code: row["Code"], Message: cut(row["Message"], maxNoticeText)})
	}
	return out
}

// read returns what the server said.
func (e *mysqlEngine) read(err error) *refusal {
	said, ok := errors.AsType[*mysql.MySQLError](err)
	if !ok {
		return nil
	}
	state := string(said.SQLState[:])
	if said.SQLState == [5]byte{} {
		state = "HY000"
	}
	first, _, _ := strings.Cut(strings.TrimSpace(said.Message), "\n")
	r := &refusal{
		code: state, number: int(said.Number), message: said.Message,
		text:      fmt.Sprintf("ERROR %d (%s): %s", said.Number, state, cut(strings.TrimRight(first, "\r"), maxMessage)),
		permanent: isPermanent(said.Number, state),
	}
	switch said.Number {
	case 1053, 1077, 1079, 1152, 1184, 1927, 4031: // shutdown, an aborted or killed connection
		r.fatal = true
	}
	if said.Number == 1064 || said.Number == 1149 {
		r.line = lineOf(said.Message)
	}
	return r
}

// lineOf reads "… at line 3".
func lineOf(message string) int {
	i := strings.LastIndex(message, "at line ")
	if i < 0 {
		return 0
	}
	n, err := strconv.Atoi(strings.TrimSpace(message[i+len("at line "):]))
	if err != nil {
		return 0
	}
	return n
}

// isPermanent is true for errors that are the text's or the login's own. What depends on others (locks, deadlocks, rows, room, a
// failover, a connection that was lost) may pass.
func isPermanent(number uint16, state string) bool {
	switch number {
	case 1040, 1203, 1226: // too many connections
		return false
	case 1193, 1215, 1235, 1289, 1347, 1418, 1419, 1553, 1821, 1822, 1825, 3780: // HY000, and yet about the text
		return true
	}
	switch state[:2] {
	case "42", "28", "3D", "0A":
		return true
	}
	return false
}
