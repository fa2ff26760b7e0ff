package server

// Down reports whether a fault has taken the server down, so that nobody answers.
func (c *Core) Down() bool { return c.conditions.Down }
