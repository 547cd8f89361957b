// Package drill runs the built program under load while its dependencies fail, and checks that no acknowledged change is
// lost, and that no refused one was made.
//
// There is one load, in which each request carries its own id; one table of faults; and one model. The activity says
// which requests happened: the model replays exactly those and compares the result with the server's final state: apps,
// invites, members, keys, counts and mails. Nothing is timed: a drill waits up to three minutes for each expected state.
//
// `make drill` runs the tests; DRILL=long runs them for longer, and DRILL=hour runs the one that takes an hour. They have a
// build tag, and need Linux.
package drill
