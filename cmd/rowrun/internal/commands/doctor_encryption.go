package commands

import (
	"context"
	"crypto/tls"
	"errors"
	"net"

	"github.com/jackc/pgx/v5"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/database"
	"github.com/rowrun/rowrun/store/session"
)

// checkEncryption warns of a connection to another host that isn't encrypted: payloads, results and, with some ways to
// authenticate, the password can be read on the way. sslmode means what it means to libpq; its default, prefer, takes
// what the server offers.
func (d *doctor) checkEncryption(ctx context.Context) error {
	urls := []string{d.database.URL}
	if d.database.DirectURL != d.database.URL {
		urls = append(urls, d.database.DirectURL)
	}
	for _, url := range urls {
		config, err := pgx.ParseConfig(url)
		if err != nil {
			return errors.New("not a connection string") // resolve has parsed it before
		}
		session.Encode(config)
		conn, err := pgx.ConnectConfig(ctx, config)
		if err != nil {
			return err
		}
		d.judgeEncryption(url, conn.PgConn().Conn())
		database.Close(ctx, conn)
	}
	return nil
}

func (d *doctor) judgeEncryption(url string, conn net.Conn) {
	address, overTCP := conn.RemoteAddr().(*net.TCPAddr)
	_, encrypted := conn.(*tls.Conn)
	switch {
	case encrypted:
		d.add("encryption", fine, "the connection to "+database.Place(url)+" is encrypted", "")
	case !overTCP || address.IP.IsLoopback():
		d.add("encryption", fine, "the connection to "+database.Place(url)+" stays on this machine", "")
	default:
		d.add("encryption", warning, "the connection to "+database.Place(url)+" is not encrypted: what tasks get and give can be read and changed on the way",
			"rowrun doctor --database-url 'postgres://…?sslmode=verify-full&sslrootcert=/path/to/ca.crt'  # with ssl = on at the server; require encrypts without knowing whom it talks to")
	}
}
