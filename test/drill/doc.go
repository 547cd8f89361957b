// Package drill runs the built program under load while what it stands on fails, and finds
// out whether anything that was acknowledged is lost, or anything that was refused is there.
//
// There is one load, in which each request carries an id of its own; one table of faults; and
// one model. The activity says which requests happened: the model replays exactly those and
// compares with what the server has at the end, which is apps, invites, members, keys, counts
// and mails. Nothing is timed: whatever should come is waited for, up to three minutes.
//
// The tests are run by `make drill`, and for longer with DRILL=long; one takes an hour, with DRILL=hour. They have a build tag,
// and need Linux.
package drill
