// Package drill runs the built program under load while what it stands on fails, and finds
// out whether anything that was acknowledged is lost, or anything that was refused is there.
//
// Each request carries an id of its own. The activity says which of them happened; a model
// replays exactly those and compares with what the server has at the end: apps, invites,
// counts, mails. Its tests are run by `make drill`, for which they have a build tag.
package drill
