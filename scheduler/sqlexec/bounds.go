package sqlexec

import (
	"errors"
	"fmt"
	"io"

	"github.com/jackc/pgx/v5/pgproto3"
)

// maxTargetMessage bounds what a target may send at once: a row, an error, a notice. Rows are dropped, so that nothing needs
// more, and each run holds one message in memory.
const maxTargetMessage = 4 << 20

// BoundedFrontend reads what a target sends. A message of more than 4 MiB is not read: the connection is closed with an error.
func BoundedFrontend(r io.Reader, w io.Writer) *pgproto3.Frontend {
	f := pgproto3.NewFrontend(r, w)
	f.SetMaxBodyLen(maxTargetMessage)
	return f
}

// tooLong says of an error that it is a message of more than maxTargetMessage; "": it isn't.
func tooLong(err error) string {
	exceeded, ok := errors.AsType[*pgproto3.ExceededMaxBodyLenErr](err)
	if !ok {
		return ""
	}
	return fmt.Sprintf("the database sent a row, an error or a notice of %d bytes, at most %d are accepted, and the connection "+
		"was closed: nobody gets the rows, so select less, or put the value into a table", exceeded.ActualBodyLen, exceeded.MaxExpectedBodyLen)
}
