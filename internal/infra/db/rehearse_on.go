//go:build rehearse

package db

// rehearse is on in a test of its own: each transaction on SQLite is undone once, and run again.
const rehearse = true
