package replica

import (
	"bytes"
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler/dbexec"
	"github.com/rowrun/rowrun/scheduler/sqlexec"
)

// One target that can't be made any more stays as it was, and holds no other up; a new one that can't is refused as a whole, of all engines.
func TestATargetThatCanNotBeMadeHoldsNoOtherUp(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	dir := t.TempDir()
	var files [2]string
	for i, name := range []string{"mysql.pem", "postgres.pem"} {
		files[i] = filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(files[i], pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600))
	}
	var log bytes.Buffer
	x := &executors{named: &engineNames{}}
	var err error
	x.sql, err = sqlexec.New(sqlexec.Config{Deployment: uuid.NewString(), Log: zerolog.New(&log)})
	require.NoError(t, err)
	x.others, err = dbexec.New(dbexec.Config{Deployment: uuid.NewString(), Log: zerolog.New(&log)})
	require.NoError(t, err)

	all := map[string]FileDatabase{
		"m": {URL: "mysql://u@h/m?ssl-ca=" + files[0]}, "p": {URL: "postgres://h/p?sslmode=verify-ca&sslrootcert=" + files[1]},
	}
	require.NoError(t, x.setTargets(all))
	for _, file := range files {
		require.NoError(t, os.Remove(file))
	}
	all["m2"], all["p2"] = FileDatabase{URL: "mysql://u@h/m2"}, FileDatabase{URL: "postgres://h/p2"}
	for range 2 {
		require.NoError(t, x.setTargets(all))
		require.Equal(t, []string{"m", "m2"}, x.others.Databases())
		require.Equal(t, []string{"p", "p2"}, x.sql.Databases())
	}
	require.Equal(t, 2, strings.Count(log.String(), "it stays as it was"), "once of each: %s", log.String())

	for _, refused := range []FileDatabase{{URL: "mysql://u@h/m3?ssl-ca=" + files[0]}, {URL: "postgres://h/p3?sslmode=verify-ca&sslrootcert=" + files[1]}} {
		require.Error(t, x.setTargets(map[string]FileDatabase{"new": {URL: "postgres://h/new"}, "other": {URL: "mysql://u@h/other"}, "refused": refused}))
		require.Equal(t, []string{"m", "m2"}, x.others.Databases())
		require.Equal(t, []string{"p", "p2"}, x.sql.Databases())
		require.Equal(t, map[string]bool{"m": true, "m2": true}, *x.named.names.Load())
	}
	all["m"] = FileDatabase{URL: "mysql://u@elsewhere/m?ssl-ca=" + files[0]}
	require.Error(t, x.setTargets(all), "it leads elsewhere now, where the old one doesn't")
}
