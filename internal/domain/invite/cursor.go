package invite

import (
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"foyer/internal/base/fault"
)

// cursor is the place in a list where a page begins; without an id, it is the start.
type cursor struct {
	createdAt time.Time
	id        string
}

// cursor names the invite in a list, so that the next page can begin after it.
func (i Invite) cursor() string {
	return strconv.FormatInt(i.CreatedAt.UnixMicro(), 10) + "." + i.ID
}

func parseCursor(text string) (cursor, error) {
	if text == "" {
		return cursor{}, nil
	}
	micros, id, _ := strings.Cut(text, ".")
	at, err := strconv.ParseUint(micros, 10, 53) // up to the year 2255: engines have a last year, too
	parsed, wrong := uuid.Parse(id)
	if err != nil || wrong != nil {
		return cursor{}, fault.Field(fault.Invalid, "after", "Must be as it is in the url of a next page.")
	}
	return cursor{time.UnixMicro(int64(at)).UTC(), parsed.String()}, nil
}
