package cli

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"

	"foyer/client"
	"foyer/internal/face/cli/terminal"
)

type inviteBulk struct {
	File    string `arg:"" help:"A file whose name ends in .csv or .json; - reads CSV from standard input."`
	Partial bool   `help:"Invite those who can be, and tell of the others why not."`

	once
	dryRun
}

// Help says what is in the file.
func (inviteBulk) Help() string {
	return `A CSV file has a line of names, then one line for each person. The columns are target_email and, if wanted, first_name, level
(member, admin or owner) and message. A JSON file has a list of objects with these fields. They are sent by the hundred: of
each hundred all are invited, or none. With --partial those are who can be; what became of the others is on standard error, and
the command ends with 1.`
}

// batchSize is how many invites the API takes at once.
const batchSize = 100

// Run invites everybody in the file.
func (c inviteBulk) Run(ctx context.Context, o *client.Organization, out *terminal.Output, in terminal.Input) error {
	drafts, err := c.read(in)
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	if c.Partial {
		return c.partly(ctx, o, out, drafts)
	}
	var made []client.Invite
	for batch := range slices.Chunk(drafts, batchSize) {
		some, err := c.of(o, len(made)).CreateInvites(ctx, batch)
		if err != nil {
			return errors.Join(shown(out, made), c.refused(err, len(made), batch))
		}
		made = append(made, some...)
	}
	return invites.All(out, made)
}

// partly invites those who can be.
func (c inviteBulk) partly(ctx context.Context, o *client.Organization, out *terminal.Output, drafts []client.InviteDraft) error {
	var made []client.Invite
	var refused client.Error
	before := 0
	for batch := range slices.Chunk(drafts, batchSize) {
		outcomes, err := c.of(o, before).CreateInvitesPartly(ctx, batch)
		if err != nil {
			return errors.Join(shown(out, made), refusedOrNil(refused), err)
		}
		for i, became := range outcomes {
			if became.Error == nil {
				made = append(made, *became.Invite)
				continue
			}
			for _, f := range became.Error.Errors {
				f.Detail = batch[i].TargetEmail + ": " + f.Detail
				refused.Errors = append(refused.Errors, f)
			}
		}
		before += len(batch)
	}
	return errors.Join(shown(out, made), refusedOrNil(refused))
}

// of gives each batch after the first an idempotency key of its own.
func (c inviteBulk) of(o *client.Organization, before int) *client.Organization {
	if c.IdempotencyKey == "" || before == 0 {
		return o
	}
	return o.With(client.IdempotencyKey(fmt.Sprintf("%s-%d", c.IdempotencyKey, before/batchSize+1)))
}

// shown shows the invites that were made: no table, if there are none.
func shown(out *terminal.Output, made []client.Invite) error {
	if len(made) == 0 && out.Format != terminal.JSON {
		return nil
	}
	return invites.All(out, made)
}

// refusedOrNil is nil if there is nothing wrong.
func refusedOrNil(refused client.Error) error {
	if len(refused.Errors) == 0 {
		return nil
	}
	refused.Fault, refused.Status = refused.Errors[0], http.StatusBadRequest
	return &refused
}

func (c inviteBulk) read(in terminal.Input) ([]client.InviteDraft, error) {
	content := io.Reader(in)
	if c.File != "-" {
		file, err := os.Open(c.File)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		content = file
	}
	if strings.HasSuffix(c.File, ".json") {
		var drafts []client.InviteDraft
		err := json.NewDecoder(content).Decode(&drafts)
		return drafts, err
	}
	return readCSV(content)
}

// columns of a file of invites.
var columns = map[string]func(*client.InviteDraft, string) error{
	"target_email": func(d *client.InviteDraft, v string) error { d.TargetEmail = v; return nil },
	"first_name":   func(d *client.InviteDraft, v string) error { d.FirstName = v; return nil },
	"message":      func(d *client.InviteDraft, v string) error { d.Message = v; return nil },
	"level": func(d *client.InviteDraft, v string) error {
		level, ok := levels[v]
		if n, err := strconv.Atoi(v); err == nil {
			level, ok = client.Level(n), true
		}
		if !ok && v != "" {
			return fmt.Errorf("level %q must be member, admin or owner", v)
		}
		d.Level = level
		return nil
	},
}

func readCSV(content io.Reader) ([]client.InviteDraft, error) {
	rows, err := csv.NewReader(content).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, errors.New("the first line must name the columns, target_email among them")
	}
	rows[0][0] = strings.TrimPrefix(rows[0][0], "\ufeff")
	for _, name := range rows[0] {
		if columns[name] == nil {
			return nil, fmt.Errorf("there is no column %q: the columns are target_email, first_name, level and message", name)
		}
	}
	var drafts []client.InviteDraft
	for n, row := range rows[1:] {
		var d client.InviteDraft
		for i, name := range rows[0] {
			if err := columns[name](&d, row[i]); err != nil {
				return nil, fmt.Errorf("line %d: %w", n+2, err)
			}
		}
		drafts = append(drafts, d)
	}
	return drafts, nil
}

// refused says which of all drafts are wrong: the server counts those of a batch.
func (c inviteBulk) refused(err error, before int, batch []client.InviteDraft) error {
	refused, ok := errors.AsType[*client.Error](err)
	if !ok {
		return err
	}
	for i, f := range refused.Errors {
		index, field, _ := strings.Cut(f.Attr, ".")
		if n, err := strconv.Atoi(index); err == nil && n < len(batch) {
			refused.Errors[i].Attr = fmt.Sprintf("%d.%s", n+before, field)
			refused.Errors[i].Detail = batch[n].TargetEmail + ": " + f.Detail
		}
	}
	return refused
}
