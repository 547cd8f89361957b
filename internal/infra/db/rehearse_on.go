//go:build rehearse

package db

// rehearse is on in a separate test run: each transaction on SQLite is rolled back once and run again.
const rehearse = true
