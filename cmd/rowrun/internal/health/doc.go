// Package health asks a replica on this machine how it is, as a kubelet or a container's HEALTHCHECK does: GET /livez or
// /readyz of its --http-addr.
package health
