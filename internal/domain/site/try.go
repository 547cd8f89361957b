package site

import (
	"encoding/binary"
	"time"
)

// tryTime is how long the link to a try page works.
const tryTime = time.Hour

// TryKey returns the key of a site's try page, sealed, for an hour: whoever has not been to the console
// has none. "": there is no secret to seal it under.
func (s Service) TryKey(siteToken string) string {
	until := s.DB.Now().Add(tryTime).Unix()
	key, err := s.Box.Seal(binary.BigEndian.AppendUint64(nil, uint64(until)), []byte(siteToken))
	if err != nil {
		return ""
	}
	return key
}

// opens reports whether a key is that of a site's try page, and is not over.
func (s Service) opens(key, siteToken string) bool {
	until, err := s.Box.Open(key, []byte(siteToken))
	return err == nil && s.DB.Now().Unix() < int64(binary.BigEndian.Uint64(until))
}
