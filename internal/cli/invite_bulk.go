package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"foyer/client"
	"foyer/internal/base/address"
	"foyer/internal/cli/terminal"
	"foyer/internal/face/wire"
)

type inviteBulk struct {
	File    string `arg:"" help:"A file whose name ends in .csv or .json; - reads CSV from standard input."`
	Partial bool   `help:"Invite those who can be invited, and say for the others why not."`

	idempotent
	dryRun
}

func (inviteBulk) Help() string {
	return `A CSV file has a line of names, then one line for each person. The columns are target_email and, if wanted, first_name, level
(member, admin or owner) and message. A JSON file has a list of objects with these fields. They are sent by the hundred: of
each hundred all are invited, or none; and nobody, if an address is in the file twice. With --partial those are who can be; what
became of the others is on standard error, and the command ends with 1. With --dry-run each hundred is tried as if there were no
other: it does not show that there are more than the limit of a day.`
}

const (
	batchSize = 100 // invites that the API takes in one request
	maxKey    = 255 // bytes of an idempotency key
)

func (c inviteBulk) Run(ctx context.Context, o *client.Organization, out *terminal.Output, in terminal.Input, to terminal.Log) error {
	people, err := c.read(in)
	if err != nil {
		return err
	}
	people, twice := c.unique(people, out.Format)
	if err := refusedOrNil(twice); err != nil && !c.Partial {
		return err
	}
	if n := len(c.batchKey(len(people.drafts) - 1)); n > maxKey { // the API would refuse it only after the first hundred
		return terminal.Misused(fmt.Errorf("--idempotency-key must be at most %d bytes long for so many invites", len(c.IdempotencyKey)-n+maxKey))
	}
	if c.Partial {
		return c.partly(ctx, o, out, to, people, twice)
	}
	var made []client.Invite
	for batch := range slices.Chunk(people.drafts, batchSize) {
		some, err := c.of(o, len(made)).CreateInvites(ctx, batch)
		if err != nil {
			return errors.Join(shown(out, to, people.drafts, made), c.refused(err, len(made), people, out.Format))
		}
		made = append(made, some...)
	}
	return shown(out, to, people.drafts, made)
}

// partly sends the invites that are valid, and adds the faults of the others to refused.
func (c inviteBulk) partly(ctx context.Context, o *client.Organization, out *terminal.Output, to terminal.Log, people team, refused client.Error) error {
	var drafts []client.InviteDraft
	var made []client.Invite // of drafts
	before := 0
	for batch := range slices.Chunk(people.drafts, batchSize) {
		outcomes, err := c.of(o, before).CreateInvitesPartly(ctx, batch)
		if err != nil {
			return errors.Join(shown(out, to, drafts, made), refusedOrNil(people.failed(refused, err, before)))
		}
		for i, became := range outcomes[:min(len(outcomes), len(batch))] {
			if became.Error == nil {
				drafts, made = append(drafts, batch[i]), append(made, *became.Invite)
				continue
			}
			for _, f := range became.Error.Errors {
				refused.Errors = append(refused.Errors, people.locate(f, f.Attr, before+i, out.Format))
			}
		}
		before += len(batch)
	}
	return errors.Join(shown(out, to, drafts, made), refusedOrNil(refused))
}

// of gives each batch its own idempotency key: the first batch has the given one.
func (c inviteBulk) of(o *client.Organization, before int) *client.Organization {
	if c.IdempotencyKey == "" {
		return o
	}
	return o.With(client.IdempotencyKey(c.batchKey(before)))
}

func (c inviteBulk) batchKey(before int) string {
	if before < batchSize {
		return c.IdempotencyKey
	}
	return fmt.Sprintf("%s-%d", c.IdempotencyKey, before/batchSize+1)
}

// shown shows the invites that were made of drafts, without an empty table. It warns once about those that were not mailed.
func shown(out *terminal.Output, to terminal.Log, drafts []client.InviteDraft, made []client.Invite) error {
	for i, invite := range made[:min(len(made), len(drafts))] {
		if mail := drafts[i].SendEmail; (mail == nil || *mail) && warnUnmailed(invite, to) {
			break
		}
	}
	if len(made) == 0 && out.Format != terminal.JSON {
		return nil
	}
	return invites.All(out, made)
}

// refusedOrNil returns nil if there are no faults.
func refusedOrNil(refused client.Error) error {
	if len(refused.Errors) == 0 {
		return nil
	}
	refused.Fault = refused.Errors[0]
	return &refused
}

// team has the people in a file.
type team struct {
	drafts []client.InviteDraft
	where  []string // the line of each; in JSON, the address or, without one, the index in the list
}

// unique drops repeated addresses, and returns their faults. The server gets a hundred invites at a time: if an address
// comes again in a later batch, it would replace the earlier invite.
func (c inviteBulk) unique(people team, as terminal.Format) (left team, refused client.Error) {
	seen := map[string]bool{}
	for i, d := range people.drafts {
		email, err := address.Parse(d.TargetEmail)
		if err == nil && seen[email] {
			again := client.Fault{Type: "validation_error", Code: "unique", Detail: "Appears twice in the file."}
			refused.Errors = append(refused.Errors, people.locate(again, "target_email", i, as))
			continue
		}
		seen[email] = true
		left.drafts, left.where = append(left.drafts, d), append(left.where, people.where[i])
	}
	return left, refused
}

func (c inviteBulk) read(in terminal.Input) (people team, err error) {
	var content []byte
	if c.File == "-" {
		content, err = in.All()
	} else {
		content, err = os.ReadFile(c.File)
	}
	if err != nil {
		return team{}, err
	}
	content = bytes.TrimPrefix(content, []byte("\ufeff"))
	switch {
	case !utf8.Valid(content):
		err = fmt.Errorf("%s: must be UTF-8", c.File)
	case strings.EqualFold(filepath.Ext(c.File), ".json"):
		people, err = c.readJSON(content)
	default:
		people, err = c.readCSV(content)
	}
	if err == nil && len(people.drafts) == 0 {
		err = fmt.Errorf("%s: there is nobody in it", c.File)
	}
	return people, err
}

// fileDraft is an invite in a JSON file. Its level has the API's format.
type fileDraft struct {
	client.InviteDraft
	Level fileLevel `json:"level"`
}

type fileLevel client.Level

// UnmarshalJSON implements json.Unmarshaler.
func (l *fileLevel) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		return nil
	}
	level, err := parseLevel(strings.Trim(string(text), `"`))
	*l = fileLevel(level)
	return err
}

// parseLevel parses a level: its name, or its number.
func parseLevel(text string) (client.Level, error) {
	if level, ok := levels[text]; ok {
		return level, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n == 0 { // 0 is sent as no level
		return 0, fmt.Errorf("level %q must be member, admin or owner", text)
	}
	return client.Level(n), nil
}

// readJSON reads a list of objects.
func (c inviteBulk) readJSON(content []byte) (people team, err error) {
	var all []fileDraft
	d := json.NewDecoder(bytes.NewReader(content))
	d.DisallowUnknownFields()
	if err := d.Decode(&all); err != nil {
		return team{}, fmt.Errorf("%s: %w", c.File, err)
	}
	if !wire.IsValue(content) {
		return team{}, fmt.Errorf("%s: must be one list, in which no object has a name twice", c.File)
	}
	for i, one := range all {
		one.InviteDraft.Level = client.Level(one.Level)
		where := cmp.Or(strings.TrimSpace(one.TargetEmail), fmt.Sprintf("%s[%d]", c.File, i))
		people.drafts, people.where = append(people.drafts, one.InviteDraft), append(people.where, where)
	}
	return people, nil
}

// columns are the columns of a file of invites.
var columns = map[string]func(*client.InviteDraft, string) error{
	"target_email": func(d *client.InviteDraft, v string) error { d.TargetEmail = v; return nil },
	"first_name":   func(d *client.InviteDraft, v string) error { d.FirstName = v; return nil },
	"message":      func(d *client.InviteDraft, v string) error { d.Message = v; return nil },
	"level": func(d *client.InviteDraft, v string) (err error) {
		if v != "" {
			d.Level, err = parseLevel(v)
		}
		return err
	},
}

// readCSV reads a table. Errors have the format of compilers, file:line: text.
func (c inviteBulk) readCSV(content []byte) (people team, err error) {
	rows := csv.NewReader(bytes.NewReader(content))
	header, err := rows.Read()
	if errors.Is(err, io.EOF) {
		err = errors.New("must name the columns, target_email among them")
	}
	if err != nil {
		return team{}, c.wrong(1, err)
	}
	if err := checkHeader(header); err != nil {
		return team{}, c.wrong(1, err)
	}
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return people, nil
		}
		if err != nil {
			return team{}, c.wrong(0, err)
		}
		line, _ := rows.FieldPos(0)
		var d client.InviteDraft
		for i, name := range header {
			if err := columns[name](&d, row[i]); err != nil {
				return team{}, c.wrong(line, err)
			}
		}
		people.drafts, people.where = append(people.drafts, d), append(people.where, fmt.Sprintf("%s:%d", c.File, line))
	}
}

func checkHeader(header []string) error {
	for i, name := range header {
		if columns[name] == nil {
			return fmt.Errorf("there is no column %q: the columns are target_email, first_name, level and message, with commas between them", name)
		}
		if slices.Contains(header[:i], name) {
			return fmt.Errorf("column %q is there twice", name)
		}
	}
	return nil
}

// wrong is the error of a line; a malformed table's error has its own line number.
func (c inviteBulk) wrong(line int, err error) error {
	if malformed, ok := errors.AsType[*csv.ParseError](err); ok {
		line, err = malformed.Line, malformed.Err
	}
	return fmt.Errorf("%s:%d: %w", c.File, line, err)
}

// refused names the drafts of a batch that are wrong: the server's indexes are those of the batch. Any other error is that of
// the whole batch, and of those after it.
func (c inviteBulk) refused(err error, before int, people team, as terminal.Format) error {
	refused, ok := errors.AsType[*client.Error](err)
	if !ok {
		return refusedOrNil(people.failed(client.Error{}, err, before))
	}
	located := false
	for i, f := range refused.Errors {
		index, field, _ := strings.Cut(f.Attr, ".")
		if n, err := strconv.Atoi(index); err == nil && before+n < len(people.drafts) {
			refused.Errors[i], located = people.locate(f, field, before+n, as), true
		}
	}
	if !located {
		return refusedOrNil(people.failed(client.Error{}, err, before))
	}
	return refused
}

// failed adds to refused why the result of all invites after one is unknown.
func (people team) failed(refused client.Error, err error, from int) client.Error {
	faults := []client.Fault{{Type: "command_error", Code: "failed", Detail: strings.Join(lines(err), " ")}}
	if answer, ok := errors.AsType[*client.Error](err); ok && len(answer.Errors) > 0 {
		faults, refused.Status, refused.RetryAfter = answer.Errors, answer.Status, answer.RetryAfter
	}
	for _, f := range faults {
		f.Detail = people.where[from] + " and after: " + f.Detail
		refused.Errors = append(refused.Errors, f)
	}
	return refused
}

// locate adds the location to a fault in a field: its line, or its person.
func (people team) locate(f client.Fault, field string, at int, as terminal.Format) client.Fault {
	f.Attr = field
	if as != terminal.JSON && field != "" {
		f.Attr, f.Detail = "", field+": "+f.Detail
	}
	f.Detail = people.where[at] + ": " + f.Detail
	return f
}
