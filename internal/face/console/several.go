package console

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"foyer/client"
	"foyer/internal/face/console/markup"
)

// askedAtOnce is how many hosts are asked at the same time.
const askedAtOnce = 8

// forEach does something for each of n apps, several at the same time.
func forEach(n int, do func(i int)) {
	var asking sync.WaitGroup
	turns := make(chan struct{}, askedAtOnce)
	for i := range n {
		turns <- struct{}{}
		asking.Go(func() {
			defer func() { <-turns }()
			do(i)
		})
	}
	asking.Wait()
}

// checkApps checks the apps on the page for newer versions.
func checkApps(v *visit) (next, error) {
	var ids []int64
	for _, text := range v.request.PostForm["app"] {
		id, err := number(text)
		if err != nil {
			return next{}, err
		}
		ids = append(ids, id)
	}
	ids = ids[:min(len(ids), perPage)]
	var checked, newer, failed atomic.Int64
	denied := make([]error, len(ids))
	forEach(len(ids), func(i int) {
		app, age, err := v.organization.CheckForUpdates(v.ctx(), ids[i])
		if client.IsNotFound(err) { // it was deleted meanwhile
			return
		}
		if client.IsDenied(err) { // no host was asked
			denied[i] = err
			return
		}
		if err != nil || age > checkInterval {
			failed.Add(1)
			return
		}
		checked.Add(1)
		if another(app) {
			newer.Add(1)
		}
	})
	if err := cmp.Or(denied...); err != nil {
		return next{}, err
	}
	flash := strconv.FormatInt(checked.Load(), 10) + " checked; " + strconv.FormatInt(newer.Load(), 10) + " of them can be upgraded."
	if n := failed.Load(); n > 0 {
		flash += " Not checked, since the host did not answer: " + strconv.FormatInt(n, 10) + "."
	}
	return next{flash: flash}, nil
}

// Upgrades shows what upgrades of several apps would change, or their outcomes.
type Upgrades struct {
	Frame
	Rows []upgradeRow
	Done bool
	Back string // the path of the list that they were chosen from
}

// upgradeRow is one of several upgrades.
type upgradeRow struct {
	App    client.App // before the upgrade
	ETag   string     // as it was reviewed; "": it was not
	Tag    string     // that it goes to
	To     client.UpgradeReview
	Fields []fieldChange
	Fault  string // why it cannot be upgraded; "" if it can, or was
}

// Waits reports whether sites may stay at the previous version of one of them.
func (p Upgrades) Waits() bool {
	return slices.ContainsFunc(p.Rows, func(r upgradeRow) bool { return mayWait(r.Fields) })
}

// Refused counts those that cannot be upgraded, or were not.
func (p Upgrades) Refused() (n int) {
	for _, row := range p.Rows {
		if row.Fault != "" {
			n++
		}
	}
	return n
}

// Others counts those that can be, or were.
func (p Upgrades) Others() int { return len(p.Rows) - p.Refused() }

// chosenUpgrades returns the upgrades that the form names, each to the newest tag that was shown and, once reviewed, with its ETag and
// commit.
func (v *visit) chosenUpgrades() ([]upgradeRow, error) {
	chosen := v.request.PostForm["id"]
	if err := checkChosen(chosen); err != nil {
		return nil, err
	}
	var rows []upgradeRow
	for _, item := range chosen {
		text, tag, _ := strings.Cut(item, " ")
		tag, etag, _ := strings.Cut(tag, " ")
		etag, commit, _ := strings.Cut(etag, " ")
		id, err := number(text)
		if err != nil {
			return nil, err
		}
		rows = append(rows, upgradeRow{App: client.App{ID: id}, Tag: tag, ETag: etag, To: client.UpgradeReview{Commit: commit}})
	}
	return rows, nil
}

// reviewUpgrades shows what upgrades of the chosen apps would change, before they are confirmed.
func reviewUpgrades(v *visit) (next, error) {
	rows, err := v.chosenUpgrades()
	if err != nil {
		return next{}, err
	}
	failed := make([]error, len(rows))
	forEach(len(rows), func(i int) {
		row := &rows[i]
		app, err := v.organization.With(client.ETag(&row.ETag)).GetApp(v.ctx(), row.App.ID)
		if err == nil {
			row.App = app
			row.To, err = v.organization.ReviewUpgrade(v.ctx(), app.ID, client.Upgrade{AppPatch: client.AppPatch{Tag: &row.Tag}})
		}
		if row.Fault, failed[i] = refusalOf(err); err == nil {
			row.Fields = fieldChanges(row.App.ConfigSchema, row.To.ConfigSchema)
		}
	})
	return next{page: new(markup.Fill("upgrades.html", Upgrades{Frame: v.frame("apps"), Rows: rows, Back: v.here()}))}, errors.Join(failed...)
}

// upgradeApps upgrades the chosen apps, and shows the outcome for each.
func upgradeApps(v *visit) (next, error) {
	rows, err := v.chosenUpgrades()
	if err != nil {
		return next{}, err
	}
	for i := range rows {
		row := &rows[i]
		app, err := v.organization.GetApp(v.ctx(), row.App.ID)
		if err == nil {
			row.App = app
			_, err = v.reviewed(row.ETag).UpgradeApp(v.ctx(), app.ID, client.Upgrade{AppPatch: client.AppPatch{Tag: &row.Tag}, Commit: row.To.Commit})
		}
		if row.Fault, err = refusalOf(err); err != nil {
			return next{}, err
		}
	}
	return next{page: new(markup.Fill("upgrades.html", Upgrades{Frame: v.frame("apps"), Rows: rows, Done: true, Back: v.here()}))}, nil
}

// refusalOf returns why the API refused one of several changes; an error if it would refuse them all.
func refusalOf(err error) (string, error) {
	refused, ok := errors.AsType[*client.Error](err)
	switch {
	case !ok || refused.Status == http.StatusUnauthorized:
		return "", err
	case refused.Status == http.StatusNotFound:
		return gone, nil
	case refused.Status == http.StatusPreconditionFailed:
		return changedMeanwhile + ".", nil
	}
	return refused.Detail, nil
}
