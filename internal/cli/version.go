package cli

import (
	"runtime/debug"

	"foyer/internal/cli/terminal"
)

// version is set by the linker; "" if the program was not built by make.
var version string

// Version is the version of this program: the one set at the build, or else what Go knows about its source.
func Version() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return versionOf(info)
}

// versionOf is the version of the module or, in a build without one, the commit.
func versionOf(info *debug.BuildInfo) string {
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	of := map[string]string{}
	for _, s := range info.Settings {
		of[s.Key] = s.Value
	}
	commit := of["vcs.revision"]
	switch {
	case commit == "":
		return "unknown"
	case of["vcs.modified"] == "true":
		return commit + "-dirty"
	}
	return commit
}

type versionCommand struct{}

func (versionCommand) Run(out *terminal.Output) error {
	return out.Say(map[string]string{"version": Version()}, "%s", Version())
}
