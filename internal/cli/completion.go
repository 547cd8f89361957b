package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"foyer/internal/cli/terminal"
)

type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

func (completionCommand) Help() string {
	return `Examples:

    foyer completion bash >/etc/bash_completion.d/foyer
    foyer completion zsh >"${fpath[1]}/_foyer"
    foyer completion fish >~/.config/fish/completions/foyer.fish
`
}

// The scripts ask this program for the possible next words, so that they need not change with it. On the first call,
// zsh runs the file of its fpath as the body of the function.
var completions = map[string]string{
	"bash": `_foyer() {
	local IFS=$'\n'
	COMPREPLY=($(foyer __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
	[[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace
	[[ ${#COMPREPLY[@]} -eq 0 ]] && compopt -o default
}
complete -F _foyer foyer
`,
	"zsh": `#compdef foyer
_foyer() {
	local -a found
	found=("${(@f)$(foyer __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
	[[ -z $found[1] ]] && { _files; return }
	compadd -S '' -- ${(M)found:#*=}
	compadd -- ${found:#*=}
}
if [[ $funcstack[1] == _foyer ]]; then
	_foyer "$@"
else
	compdef _foyer foyer
fi
`,
	"fish": `function __foyer
	set -l words (commandline -opc) (commandline -ct)
	set -l found (foyer __complete $words[2..-1] 2>/dev/null)
	if set -q found[1]
		printf '%s\n' $found
	else
		__fish_complete_path $words[-1]
	end
end
complete -c foyer -f -a '(__foyer)'
`,
}

func (c completionCommand) Run(out *terminal.Output) error {
	_, err := fmt.Fprint(out, completions[c.Shell])
	return err
}

type completeCommand struct {
	Words []string `arg:"" optional:"" help:"The words of a command line, of which the last is completed."`
}

// Run prints the possible last words.
func (c completeCommand) Run(model *kong.Application, out *terminal.Output) error {
	_, err := io.WriteString(out, strings.Join(append(complete(model, c.Words), ""), "\n"))
	return err
}

// complete lists the commands, flags and values of flags that begin like the last word.
func complete(model *kong.Application, words []string) []string {
	if len(words) == 0 {
		words = []string{""}
	}
	at, flags := model.Node, slices.Clone(model.Flags)
	for _, word := range words[:len(words)-1] {
		if i := slices.IndexFunc(at.Children, func(n *kong.Node) bool { return n.Name == word }); i >= 0 {
			at = at.Children[i]
			flags = append(flags, at.Flags...)
		}
	}
	if at.DefaultCmd != nil { // its name can be left out
		flags = append(flags, at.DefaultCmd.Flags...)
	}
	var all []string
	for _, child := range at.Children {
		if !child.Hidden {
			all = append(all, child.Name)
		}
	}
	for _, f := range flags {
		switch {
		case f.Hidden:
		case f.IsBool():
			all = append(all, "--"+f.Name)
		default:
			all = append(all, "--"+f.Name+"=")
		}
	}
	if values, ok := completeValue(flags, words); ok {
		return values
	}
	last := words[len(words)-1]
	found := slices.DeleteFunc(all, func(word string) bool {
		return !strings.HasPrefix(word, last) || last == "" && strings.HasPrefix(word, "-")
	})
	slices.Sort(found)
	return slices.Compact(found)
}

// completeValue lists the values of a flag, if the last word is one. Bash splits --flag=value into three words.
func completeValue(flags []*kong.Flag, words []string) (values []string, ok bool) {
	var name, given, before string
	last := words[len(words)-1]
	flag, value, joined := strings.Cut(last, "=")
	switch n := len(words); {
	case joined && flag != "":
		name, given, before = flag, value, flag+"="
	case n > 1 && last == "=":
		name = words[n-2]
	case n > 2 && words[n-2] == "=":
		name, given = words[n-3], last
	case n > 1:
		name, given = words[n-2], last
	}
	i := slices.IndexFunc(flags, func(f *kong.Flag) bool {
		return !f.IsBool() && (name == "--"+f.Name || f.Short != 0 && name == "-"+string(f.Short))
	})
	if i < 0 {
		return nil, false
	}
	for _, value := range flags[i].EnumSlice() {
		if value != "" && strings.HasPrefix(value, given) {
			values = append(values, before+value)
		}
	}
	return values, true
}
