package sqlite

// Kept is how many statements are kept prepared.
func (c *Conn) Kept() int { return len(c.stmts) }
