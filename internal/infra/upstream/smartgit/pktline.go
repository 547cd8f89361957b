package smartgit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"foyer/internal/base/fault"
)

// maxPacket is the longest packet that the protocol allows, including the four digits of its length.
const maxPacket = 65520

var errStray = errors.New("it has unexpected content")

// packets reads pkt-line, the framing of the protocol.
type packets struct {
	r       io.Reader
	secret  bool // the host got a secret, and may repeat it
	refused bool // the host sent an error instead of a list
	buf     [maxPacket]byte
}

// next returns the payload of one packet, valid until the next call, or reports a flush, which ends a list.
func (p *packets) next() (payload []byte, flush bool, err error) {
	head := p.buf[:4]
	if _, err := io.ReadFull(p.r, head); err != nil {
		return nil, false, broken(err)
	}
	size, err := strconv.ParseUint(string(head), 16, 16)
	switch {
	case err == nil && size == 0:
		return nil, true, nil
	case err != nil || size < 4 || size > maxPacket:
		return nil, false, broken(errors.New("it has a packet of no valid length"))
	}
	payload = p.buf[4:size]
	if _, err := io.ReadFull(p.r, payload); err != nil {
		return nil, false, broken(err)
	}
	return payload, false, nil
}

// line is next for a list of text lines; more is false at its end. The host may send an error instead of any line.
func (p *packets) line() (text string, more bool, err error) {
	payload, flush, err := p.next()
	if message, ok := bytes.CutPrefix(payload, []byte("ERR ")); ok {
		p.refused = true
		return "", false, p.refusal(message)
	}
	return string(bytes.TrimSuffix(payload, []byte("\n"))), !flush, err
}

// body is a request of packets.
type body struct{ bytes.Buffer }

func (b *body) line(text string) { fmt.Fprintf(b, "%04x%s\n", len(text)+len("0000\n"), text) }
func (b *body) flush()           { b.WriteString("0000") }

// broken makes a fault of an error in reading a response.
func broken(err error) error {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f
	}
	return fault.New(fault.UpstreamUnavailable, "The git host's answer is broken: %v.", err)
}

// refusal returns the fault for an error message from the host. All other faults have our own words.
func (p *packets) refusal(message []byte) error {
	if p.secret {
		return fault.New(fault.UpstreamUnavailable, "The git host refused.")
	}
	message = bytes.TrimSpace(message[:min(len(message), 200)])
	return fault.New(fault.UpstreamUnavailable, "The git host refused: %q.", message)
}
