package replica

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
)

func TestARowNamesNoFileOrSocketOfTheSidecarsMachine(t *testing.T) {
	t.Parallel()
	byURL := FleetSource{Query: "SELECT"}
	for _, url := range []string{
		"postgres:///d", "postgres://u:p@/d", "postgres://u:p@:5432/d", "postgres://u:p@h,/d", "postgres://u:p@h,,i/d", "postgres://%2Ftmp/d",
		"postgres:///d?host=/var/run/postgresql", "postgres://h/d?host=%2Ftmp", "postgres://h/d?host=i,%2Ftmp", "postgres://h/d?h%6Fst=/tmp", "postgres://h/d?host=",
		"postgres://[,]/d", "postgres:///d?host=h&host=/tmp", "postgres://h/d?host=C:%5Cx",
		"postgres://h/d?passfile=/x", "postgres://h/d?service=x", "postgres://h/d?servicefile=/x", "postgres://h/d?sslkey=/x", "postgres://h/d?sslcert=/x",
		"postgres://h/d?sslrootcert=/x", "postgres://h/d?a=b&passfil%65=/x", "postgres://h?passfile=/x", "postgres://h/@i/d?passfile=/x",
		"postgresql://h?x=@/d?passfile=/x", "postgres://h/d?passfile=/x#a", "postgres://h/d ?passfile=/x", "POSTGRES://h/d", "postgres:h/d",
		"mysql://u@/d?socket=/x", "mysql://u@h/d?ssl-key=/x&ssl-cert=/y", "mysql://u@h/d?ssl-ca=/x", "MariaDB://u@/d?s%6Fcket=/x", "mysql://u@/d", "mysql://u@h/d?socket=/x#a",
	} {
		_, err := byURL.target(map[string]string{"name": "a", "url": url})
		require.ErrorContains(t, err, "url is not accepted", url)
	}
	for url, want := range map[string]string{
		"postgres://u:p@h:5432/d":              "postgres://u:p@h:5432/d?passfile=",
		"postgres://h,i:1,[::1]:2/d?x=a@b":     "postgres://h,i:1,[::1]:2/d?x=a@b&passfile=&password=",
		"postgres://u:@h/d?password=p":         "postgres://u:@h/d?password=p&passfile=",
		"postgresql:///d?host=h,::1":           "postgresql:///d?host=h,::1&passfile=&password=",
		"mysql://u:p@ss@h/d?ssl-mode=disabled": "mysql://u:p@ss@h/d?ssl-mode=disabled",
	} {
		target, err := byURL.target(map[string]string{"name": "a", "url": url})
		require.NoError(t, err, url)
		require.Equal(t, want, target.URL)
	}
}

// What the sidecar's own file says is its word: only what a row puts in place of a placeholder is asked.
func TestATemplateMayNameFilesAndSockets(t *testing.T) {
	t.Parallel()
	row := func(template, value string) (FileDatabase, error) {
		s := FleetSource{Query: "SELECT", Target: template}
		return s.target(map[string]string{"name": value})
	}
	for _, template := range []string{
		"postgres:///d?host=/run/postgresql&search_path={name}", "postgres://u@h/{name}?sslcert=/c&sslkey=/k&sslrootcert=/r", "mysql://u@/{name}?socket=/s",
	} {
		target, err := row(template, "a")
		require.NoError(t, err, template)
		require.NotContains(t, target.URL, "passfile", "%s: the host is the file's, and so may the password be", template)
	}
	target, err := row("postgres://u@{name}/d?sslrootcert=/r", "h")
	require.NoError(t, err)
	require.Equal(t, "postgres://u@h/d?sslrootcert=/r&passfile=&password=", target.URL)
	for template, value := range map[string]string{
		"postgres://u@{name}/d": "/tmp", "postgres://{name}:1/d": "", "postgres:///d?host={name}": "/tmp", "postgres://h/d?{name}=/x": "passfile",
		"postgres://h/d?passfile={name}": "/x", "postgres://h,{name}/d": "", "mysql://u@{name}/d": "", "mysql://u@/d?socket={name}": "/x",
	} {
		_, err := row(template, value)
		require.ErrorContains(t, err, "url is not accepted", template)
	}
}

// Not parallel. A row says which server gets the password: that of the sidecar's environment, and of its password file, is none of its.
func TestAServerOfARowGetsNoPasswordOfTheSidecars(t *testing.T) { //nolint:paralleltest // it sets variables of the process
	file := filepath.Join(t.TempDir(), "pgpass")
	require.NoError(t, os.WriteFile(file, []byte("*:*:*:*:of-the-file\n"), 0o600))
	for name, value := range map[string]string{"PGPASSWORD": "of-the-environment", "PGPASSFILE": file} {
		t.Setenv(name, value)
	}
	s := FleetSource{Query: "SELECT"}
	for url, want := range map[string]string{"postgres://u@h/d": "", "postgres://u@h/d?": "", "postgres://u@h?user=b?": "", "postgres://u:@h/d?sslmode=disable": "", "postgres://u:own@h/d": "own", "postgres://u@h/d?password=own": "own"} {
		target, err := s.target(map[string]string{"name": "a", "url": url})
		require.NoError(t, err)
		config, err := pgconn.ParseConfig(target.URL)
		require.NoError(t, err)
		require.Equal(t, want, config.Password, url)
		t.Setenv("PGPASSWORD", "")
		config, err = pgconn.ParseConfig(target.URL)
		require.NoError(t, err)
		require.Equal(t, want, config.Password, url)
		t.Setenv("PGPASSWORD", "of-the-environment")
	}
}
