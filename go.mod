module foyer

go 1.26.0

require (
	github.com/emersion/go-sasl v0.0.0-20241020182733-b788ff22d5a6
	github.com/emersion/go-smtp v0.25.0
	github.com/google/go-cmp v0.7.0
	github.com/wneessen/go-mail v0.8.1
	golang.org/x/net v0.57.0
)

require (
	golang.org/x/crypto v0.54.0 // indirect
	golang.org/x/text v0.40.0 // indirect
)
