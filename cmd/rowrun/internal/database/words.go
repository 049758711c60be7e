package database

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/rowrun/rowrun/store/connect"
)

const (
	// PromptPatience is after what time commands at a prompt give up; what serves waits for ever.
	PromptPatience = 30 * time.Second
	// AnswerPatience bounds each question that a command asks of the database.
	AnswerPatience = 30 * time.Second
)

// InWords shows an error of the server with its hint, and a lost connection without its address. That of a file, such as an
// output that is full, stays as it is.
func InWords(err error) error {
	var server *pgconn.PgError
	var network interface{ Timeout() bool }
	var file *fs.PathError // which can tell of a timeout, too
	switch {
	case err == nil:
		return nil
	case errors.As(err, &file):
		return err
	case errors.As(err, &server):
		text := fmt.Sprintf("%s (SQLSTATE %s)", strings.TrimSpace(server.Message), server.Code)
		if server.Code == "42501" {
			text = "the role may not do this: " + text
		}
		if server.Hint != "" {
			text += "\nhint: " + server.Hint
		}
		return errors.New(text)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("the database did not answer within %s", AnswerPatience)
	case errors.As(err, &network), pgconn.SafeToRetry(err):
		return errors.New("connection to the database lost: " + connect.Diagnose(err).Text)
	}
	return err
}
