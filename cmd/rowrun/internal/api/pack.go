package api

import (
	"compress/gzip"
	"net/http"
)

// packFrom is from which size on an answer is compressed: a grid of 10,000 tasks is a tenth then.
const packFrom = 16 << 10

// packer compresses an answer that is written at once.
type packer struct{ http.ResponseWriter }

// WriteHeader waits for the answer where all went well.
func (p *packer) WriteHeader(status int) {
	if status != http.StatusOK {
		p.ResponseWriter.WriteHeader(status)
	}
}

// Write sends the whole answer.
func (p *packer) Write(text []byte) (int, error) {
	h := p.Header()
	h.Add("Vary", "Accept-Encoding")
	if len(text) < packFrom {
		return p.ResponseWriter.Write(text)
	}
	h.Set("Content-Encoding", "gzip")
	packed, err := gzip.NewWriterLevel(p.ResponseWriter, gzip.BestSpeed)
	if err != nil {
		return 0, err
	}
	if _, err := packed.Write(text); err != nil {
		return 0, err
	}
	return len(text), packed.Close()
}
