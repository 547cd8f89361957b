package site

import (
	"encoding/binary"
	"time"
)

// tryTime is how long the link to a try page works.
const tryTime = time.Hour

// TryKey returns the sealed key of a site's try page, valid for an hour: only the console and links of previews have it.
// It is "" if there is no secret to seal it with.
func (s Service) TryKey(siteToken string) string {
	until := s.DB.Now().Add(tryTime).Unix()
	key, err := s.Box.Seal(binary.BigEndian.AppendUint64(nil, uint64(until)), []byte(siteToken))
	if err != nil {
		return ""
	}
	return key
}

// opens reports whether a key is that of a site's try page and has not expired.
func (s Service) opens(key, siteToken string) bool {
	until, err := s.Box.Open(key, []byte(siteToken))
	return err == nil && s.DB.Now().Unix() < int64(binary.BigEndian.Uint64(until))
}
