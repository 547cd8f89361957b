//go:build !race

package sandbox

// environment returns the environment variables of a child.
func environment() []string { return []string{} }
