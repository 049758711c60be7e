package replica

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/rowrun/rowrun/scheduler/dbexec"
)

// errRowURL shows no part of the URL.
var errRowURL = errors.New("url is not accepted; accepted of a row: postgres://…, mysql://… or mariadb://… with the host of a server, without " +
	strings.Join(ofThisMachine(), ", "))

// ofThisMachine are the options of URLs that name files and sockets of the sidecar's machine.
func ofThisMachine() []string {
	return []string{"passfile", "service", "servicefile", "sslcert", "sslkey", "sslrootcert", "socket", "ssl-ca", "ssl-cert", "ssl-key"}
}

// target is that of a row. A row names servers only: no variable, file or socket of this machine's.
func (s *FleetSource) target(row map[string]string) (FileDatabase, error) {
	target := FileDatabase{URL: row["url"], Labels: map[string]string{}}
	if s.Target != "" {
		var missing string
		target.URL = placeholder().ReplaceAllStringFunc(s.Target, func(found string) string {
			value, there := row[found[1:len(found)-1]]
			if !there {
				missing = found
			}
			return strings.ReplaceAll(url.QueryEscape(value), "+", "%20")
		})
		if missing != "" {
			return target, fmt.Errorf("target has %s, and the row no such column, or NULL", missing)
		}
	}
	var err error
	if target.URL, err = ofServer(target.URL, s.Target); err != nil {
		return target, err
	}
	for column, value := range row {
		switch column {
		case "name", "url":
		case "labels":
			given := map[string]string{}
			if err := json.Unmarshal([]byte(value), &given); err != nil {
				return target, errors.New("labels is not a JSON object of texts")
			}
			maps.Copy(target.Labels, given)
		default:
			target.Labels[column] = value
		}
	}
	return target, nil
}

func placeholder() *regexp.Regexp { return regexp.MustCompile(`\{[A-Za-z_][A-Za-z0-9_]*\}`) }

// rowURL is a URL in the parts that say where it leads.
type rowURL struct {
	login, hosts string // as they are written
	rowsHosts    bool   // the row says hosts, and not the template
	options      []rowOption
}

type rowOption struct {
	key, value string
	rows       bool // the row says it, and not the template
}

// ofServer refuses a row's URL that leads elsewhere than to servers. What the template of the sidecar's file says without a placeholder
// is the file's word, and not asked. Where the row says the host, nobody but the URL says the password: PGPASSWORD and the password file
// of this machine would go to whatever server the row names.
func ofServer(address, template string) (string, error) {
	engine, err := dbexec.EngineOf("", address)
	if err != nil || engine == dbexec.SQLite {
		return "", errRowURL
	}
	u, ok := rowURLOf(engine, address, template)
	if !ok || !u.leadsToServers() {
		return "", errRowURL
	}
	if engine == dbexec.PostgreSQL && u.rowsHost() {
		address += u.noEnvironment(address)
	}
	return address, nil
}

// rowURLOf takes an expanded URL and its template apart, side by side: no value brings what separates the parts.
func rowURLOf(engine dbexec.Engine, address, template string) (rowURL, bool) {
	said, ok := splitURL(engine, address)
	if !ok {
		return rowURL{}, false
	}
	written := said
	if template != "" {
		if written, ok = splitURL(engine, template); !ok || len(written.options) != len(said.options) {
			return rowURL{}, false
		}
	}
	fromRow := func(text string) bool { return template == "" || placeholder().MatchString(text) }
	u := rowURL{login: said.login, hosts: said.hosts, rowsHosts: fromRow(written.hosts)}
	for i, text := range said.options {
		key, value, _ := strings.Cut(text, "=")
		key, wrongKey := url.PathUnescape(key)
		value, wrongValue := url.PathUnescape(value)
		if wrongKey != nil || wrongValue != nil {
			return rowURL{}, false
		}
		u.options = append(u.options, rowOption{key, value, fromRow(written.options[i])})
	}
	return u, true
}

func (u rowURL) gives(key string) bool {
	return slices.ContainsFunc(u.options, func(o rowOption) bool { return o.key == key })
}

// rowsHost says whether the row has a say in which server it is.
func (u rowURL) rowsHost() bool {
	return u.rowsHosts || slices.ContainsFunc(u.options, func(o rowOption) bool { return o.key == "host" && o.rows })
}

func (u rowURL) leadsToServers() bool {
	for _, o := range u.options {
		if o.rows && (slices.Contains(ofThisMachine(), o.key) || o.key == "host" && !areHosts(o.value, `[^\[\],/\\\s]+`)) {
			return false
		}
	}
	if !u.rowsHosts || u.hosts == "" && u.gives("host") {
		return true
	}
	return areHosts(u.hosts, `(\[[0-9A-Fa-f:.]+\]|[^\[\]:,/\\%\s]+)(:[0-9]*)?`)
}

// noEnvironment is what is added so that nothing of this machine's says the password. An empty one of the login isn't one to the driver.
func (u rowURL) noEnvironment(address string) string {
	added := "?passfile="
	switch {
	case len(u.options) > 0:
		added = "&passfile="
	case strings.HasSuffix(address, "?"):
		added = "passfile="
	}
	if _, given, _ := strings.Cut(u.login, ":"); given == "" && !u.gives("password") {
		added += "&password="
	}
	return added
}

// urlParts are parts of a URL as they are written.
type urlParts struct {
	login, hosts string
	options      []string // key=value
}

// splitURL takes a URL apart as its driver does: PostgreSQL's login ends with the first @, MySQL's with the last one.
func splitURL(engine dbexec.Engine, address string) (parts urlParts, ok bool) {
	form := `^(?i:mysql|mariadb)://(?:([^/?#]*)@)?([^@/?#]*)/[^?#]*(?:\?([^#]*))?$`
	if engine == dbexec.PostgreSQL {
		form = `^postgres(?:ql)?://(?:([^@/\s]*)@)?([^@/?\s]*)(?:/[^?\s]*)?(?:\?(\S*))?$`
	}
	found := regexp.MustCompile(form).FindStringSubmatch(address)
	if found == nil {
		return parts, false
	}
	parts.login, parts.hosts = found[1], found[2]
	if found[3] != "" {
		parts.options = strings.Split(found[3], "&")
	}
	return parts, true
}

// areHosts says whether each of a list is a host of this form. None may be empty: that would be a socket of this machine's.
func areHosts(list, form string) bool {
	host := regexp.MustCompile(`^` + form + `$`)
	for one := range strings.SplitSeq(list, ",") {
		if !host.MatchString(one) {
			return false
		}
	}
	return true
}
