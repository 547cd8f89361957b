package sqlite

// Kept returns how many prepared statements are cached.
func (c *Conn) Kept() int { return len(c.stmts) }
