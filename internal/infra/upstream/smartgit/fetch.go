package smartgit

import (
	"fmt"
	"io"
)

// The bands of a multiplexed response.
const (
	bandPack     = 1
	bandProgress = 2
	bandError    = 3
)

// readPack skips the list of commits without parents and the "NAK", which says that nothing is in common; the pack
// follows.
func readPack(p *packets, w io.Writer) error {
	for {
		line, _, err := p.line()
		switch {
		case err != nil:
			return err
		case line == "NAK":
			return readBands(p, w)
		}
	}
}

// readBands copies the pack's band to w, up to the final flush; without a flush the response is incomplete.
func readBands(p *packets, w io.Writer) error {
	for {
		payload, flush, err := p.next()
		switch {
		case err != nil:
			return err
		case flush:
			return nil
		case len(payload) == 0:
			return broken(errStray)
		}
		switch payload[0] {
		case bandPack:
			if _, err := w.Write(payload[1:]); err != nil {
				return fmt.Errorf("keep the pack: %w", err)
			}
		case bandProgress:
		case bandError:
			return p.refusal(payload[1:])
		default:
			return broken(errStray)
		}
	}
}
