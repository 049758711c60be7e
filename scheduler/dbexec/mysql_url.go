package dbexec

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// mysqlForm is what is accepted, in words.
const mysqlForm = "mysql://user:password@host:3306/database?ssl-mode=verify-identity"

// parseMySQL makes the driver's configuration of a URL. Its errors show no part of what may be a password.
func parseMySQL(address string) (*mysql.Config, error) {
	u, err := url.Parse(address)
	if err != nil || u.Opaque != "" || u.User == nil || u.User.Username() == "" || u.Fragment != "" {
		return nil, errors.New("url is not one that MySQL's driver understands; accepted: " + mysqlForm +
			", with what is special in user and password written as %XX")
	}
	given, err := options(u, "ssl-mode", "ssl-ca", "ssl-cert", "ssl-key", "socket")
	if err != nil {
		return nil, err
	}
	c := mysql.NewConfig()
	c.User = u.User.Username()
	c.Passwd, _ = u.User.Password()
	c.DBName = strings.TrimPrefix(u.Path, "/")
	switch {
	case c.DBName == "" || strings.ContainsAny(c.DBName, "/`"):
		return nil, errors.New("url names no database, in which the ledger of migrations stands; accepted: " + mysqlForm)
	case given["socket"] != "" && u.Host != "":
		return nil, errors.New("url has both a host and a socket: give one")
	case given["socket"] != "":
		c.Net, c.Addr = "unix", given["socket"]
	case u.Hostname() == "":
		return nil, errors.New("url names no host; accepted: " + mysqlForm + ", or mysql://user@/database?socket=/run/mysqld/mysqld.sock")
	default:
		port := u.Port()
		if port == "" {
			port = "3306"
		}
		c.Net, c.Addr = "tcp", net.JoinHostPort(u.Hostname(), port)
	}
	if err := encrypt(c, given, u.Hostname()); err != nil {
		return nil, err
	}
	c.ClientFoundRows = true // rows_affected is what a statement found, as elsewhere
	c.Logger = &mysql.NopLogger{}
	c.Timeout = connectLimit
	return c, nil
}

// encrypt sets TLS as the clients of MySQL and MariaDB name it.
func encrypt(c *mysql.Config, given map[string]string, host string) error {
	mode := strings.ToLower(strings.ReplaceAll(given["ssl-mode"], "_", "-"))
	if c.Net == "unix" {
		if mode != "" || given["ssl-ca"] != "" {
			return errors.New("url has a socket, which needs no ssl-mode")
		}
		return nil
	}
	if mode == "" {
		mode = "preferred"
		if given["ssl-ca"] != "" {
			mode = "verify-ca"
		}
	}
	config := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	if path := given["ssl-ca"]; path != "" {
		text, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("ssl-ca: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return fmt.Errorf("ssl-ca: %s holds no certificate", path)
		}
	}
	if (given["ssl-cert"] == "") != (given["ssl-key"] == "") {
		return errors.New("ssl-cert and ssl-key go together")
	}
	if given["ssl-cert"] != "" {
		pair, err := tls.LoadX509KeyPair(given["ssl-cert"], given["ssl-key"])
		if err != nil {
			return fmt.Errorf("ssl-cert, ssl-key: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	switch mode {
	case "disabled":
		return nil
	case "preferred":
		c.AllowFallbackToPlaintext = true
		config.InsecureSkipVerify = true // as the clients do: encrypted, and no proof of who answers
	case "required":
		config.InsecureSkipVerify = true
	case "verify-ca":
		config.InsecureSkipVerify = true // the name only; the chain is verified below
		roots := config.RootCAs
		config.VerifyConnection = func(state tls.ConnectionState) error {
			between := x509.NewCertPool()
			for _, certificate := range state.PeerCertificates[1:] {
				between.AddCert(certificate)
			}
			_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between})
			return err
		}
	case "verify-identity":
	default:
		return fmt.Errorf("ssl-mode %q is not accepted; accepted: disabled, preferred, required, verify-ca, verify-identity", cut(given["ssl-mode"], 50))
	}
	c.TLS = config
	return nil
}
