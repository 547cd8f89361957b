//go:build !unix || aix || solaris

package profile

import "os"

// lock does nothing here: of two concurrent logins, the later one wins.
func lock(*os.File) {}
