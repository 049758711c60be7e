package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rowrun/rowrun/store/session"
)

// targetPatience bounds one look at a target database.
const targetPatience = 5 * time.Second

// RoleFacts are the rights of the role that asks beyond what a sidecar needs.
type RoleFacts struct {
	Owner           string // who owns Rowrun's tables
	IsOwner         bool   // the role is that, or a member
	Superuser       bool
	CreateRole      bool
	BypassRLS       bool
	OwnsDatabase    bool
	CreatesInPublic bool
	Mighty          []string // PostgreSQL's own roles that it is a member of that lead to files, programs or everybody's rows
}

// RoleFacts asks the server. A member counts as the role itself, whether or not it inherits: it may SET ROLE.
func (s *Store) RoleFacts(ctx context.Context) (RoleFacts, error) {
	return collectOne(ctx, s, "look at the role", statement("doctor_role"), pgx.RowToStructByName[RoleFacts])
}

// Attachment is something by which code of somebody else's runs, or may come to run, in the sessions that use our tables.
type Attachment struct {
	What string
	Fix  string // the statement that ends it
}

// Attachments lists up to 100: rights to attach a trigger or a foreign key, or to make functions in the schema, that
// anybody but the owner holds; and foreign keys, children and rules that lead to tables of others. Triggers are in Triggers.
func (s *Store) Attachments(ctx context.Context) ([]Attachment, error) {
	return collect(ctx, s, "look for what is attached to the tables", statement("doctor_attachments"), pgx.RowToStructByPos[Attachment])
}

// TargetRole is the role that a target database is reached with.
type TargetRole struct {
	Name      string
	Here      bool // on the server that also has Rowrun's database
	Superuser bool // or CREATEROLE, or a member of a role that leads there
	// Lends is a role of Rowrun's that it is or may take: the sidecar's own, the owner's, rowrun_replica; "": none.
	Lends string
}

// TargetRole looks at the target, and at what its role may do on Rowrun's server: whoever writes SQL tasks has that role.
// sidecar is the role of the sidecars, owner that of the tables.
func (s *Store) TargetRole(ctx context.Context, url, sidecar, owner string) (TargetRole, error) {
	ctx, cancel := context.WithTimeout(ctx, targetPatience)
	defer cancel()
	var start string
	if err := s.pool.QueryRow(ctx, statement("doctor_server_start")).Scan(&start); err != nil {
		return TargetRole{}, fmt.Errorf("ask when the server started: %w", err)
	}
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return TargetRole{}, fmt.Errorf("read the target's URL: %w", err)
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	session.Encode(config)
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return TargetRole{}, fmt.Errorf("connect to the target: %w", err)
	}
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(end)
	}()
	if _, err := conn.Exec(ctx, `SET search_path = pg_catalog, pg_temp`); err != nil {
		return TargetRole{}, fmt.Errorf("look at the target: %w", err)
	}
	var t TargetRole
	if err := conn.QueryRow(ctx, statement("doctor_target"), start, []string{sidecar, owner, "rowrun_replica"}).Scan(&t.Name, &t.Here, &t.Superuser, &t.Lends); err != nil {
		return TargetRole{}, fmt.Errorf("look at the target: %w", err)
	}
	return t, nil
}
