package layout

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A function with a transaction may run more than once. It must set variables of the surrounding function before it
// reads them, or a second run would start with what the first has left, such as a caller who was refused.
func TestTransactionsBeginAnew(t *testing.T) {
	t.Parallel()
	eachGiven(t, []string{"Tx"}, func(fn *ast.FuncLit, at func(ast.Node) token.Position) {
		for _, kept := range keptBetween(fn) {
			t.Errorf("%s: what a run has set %s to is read by the next one: begin with a variable of its own", at(kept), pathOf(kept))
		}
	})
}

// It must use its own context, with which the database refuses other transactions and queries: they would wait for it.
// With the context of the surrounding function they would wait for ever.
func TestTransactionsUseTheirContext(t *testing.T) {
	t.Parallel()
	names := []string{"ctx"}
	eachGiven(t, []string{"Tx", "Querier"}, func(fn *ast.FuncLit, at func(ast.Node) token.Position) {
		var r run
		ast.Inspect(fn, r.visit)
		if slices.ContainsFunc(r.read, func(path string) bool { return covers(names, path) }) {
			t.Errorf("%s: its ctx is that of the surrounding function", at(fn))
		}
	})
}

// eachGiven finds the function literals with a parameter of one of these types of the database.
func eachGiven(t *testing.T, types []string, check func(fn *ast.FuncLit, at func(ast.Node) token.Position)) {
	t.Helper()
	for _, f := range files(t) {
		if f.test() {
			continue
		}
		fset := token.NewFileSet()
		parsed, err := parser.ParseFile(fset, filepath.Join(root, f.path), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		given := func(p *ast.Field) bool {
			of := p.Type
			if pointer, ok := of.(*ast.StarExpr); ok {
				of = pointer.X
			}
			return slices.Contains(types, strings.TrimPrefix(pathOf(of), "db."))
		}
		for n := range ast.Preorder(parsed) {
			if fn, ok := n.(*ast.FuncLit); ok && slices.ContainsFunc(fn.Type.Params.List, given) {
				check(fn, func(n ast.Node) token.Position { return fset.Position(n.Pos()) })
			}
		}
	}
}

// keptBetween lists what a function assigns to after reading it and does not declare.
func keptBetween(fn *ast.FuncLit) []ast.Expr {
	var r run
	ast.Inspect(fn, r.visit)
	return r.kept
}

// run is what a function has done so far, in the order of its text. Paths name variables and their fields.
type run struct {
	own, read, set []string
	kept           []ast.Expr
}

func (r *run) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.Field: // a parameter or a result
		r.declare(n.Names...)
		return false
	case *ast.ValueSpec:
		r.declare(n.Names...)
	case *ast.RangeStmt:
		for _, e := range []ast.Expr{n.Key, n.Value} {
			if name, ok := e.(*ast.Ident); ok && n.Tok == token.DEFINE {
				r.declare(name)
			}
		}
	case *ast.KeyValueExpr: // its key may be the name of a field
		ast.Inspect(n.Value, r.visit)
		return false
	case *ast.IncDecStmt:
		r.reads(n.X)
		r.sets(n.X)
	case *ast.AssignStmt:
		r.assign(n)
		return false
	case *ast.Ident:
		r.reads(n)
	case *ast.SelectorExpr:
		if r.reads(n); pathOf(n) == "" {
			ast.Inspect(n.X, r.visit)
		}
		return false
	}
	return true
}

func (r *run) assign(n *ast.AssignStmt) {
	for _, e := range n.Rhs {
		ast.Inspect(e, r.visit)
	}
	for _, e := range n.Lhs {
		name, isName := e.(*ast.Ident)
		switch {
		case n.Tok == token.DEFINE && isName:
			r.declare(name)
		case n.Tok != token.ASSIGN || pathOf(e) == "": // such as += and all[i]
			ast.Inspect(e, r.visit)
		}
		r.sets(e)
	}
}

func (r *run) declare(names ...*ast.Ident) {
	for _, name := range names {
		r.own = append(r.own, name.Name)
	}
}

func (r *run) reads(e ast.Expr) {
	if path := pathOf(e); path != "" && !covers(r.own, path) && !covers(r.set, path) {
		r.read = append(r.read, path)
	}
}

func (r *run) sets(e ast.Expr) {
	path := pathOf(e)
	if path == "" || covers(r.own, path) || covers(r.set, path) {
		return
	}
	if covers(r.read, path) || slices.ContainsFunc(r.read, func(read string) bool { return covers([]string{path}, read) }) {
		r.kept = append(r.kept, e)
	}
	r.set = append(r.set, path)
}

// covers reports whether a path is in all, or below one of them.
func covers(all []string, path string) bool {
	return slices.ContainsFunc(all, func(p string) bool { return strings.HasPrefix(path+".", p+".") })
}

// pathOf returns a variable or a field of it as it is written, such as d.KeyID; "": it is neither.
func pathOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		if of := pathOf(e.X); of != "" {
			return of + "." + e.Sel.Name
		}
	}
	return ""
}
