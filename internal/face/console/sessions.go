package console

import "foyer/internal/face/console/markup"

func showSessions(v *visit) (markup.Page, error) {
	l, err := list(v, "sessions", v.client.ListSessions)
	return markup.Fill("sessions.html", l), err
}

func endSession(v *visit) (next, error) {
	id, err := number(v.line("id"))
	if err == nil {
		err = v.client.DeleteSession(v.ctx(), id)
	}
	if id == v.caller.SessionID {
		return next{path: v.console.root(), flash: "You are signed out.", signOut: true}, err
	}
	return next{flash: "The session has ended."}, err
}

func endSessions(v *visit) (next, error) {
	return next{path: v.console.root(), flash: "You are signed out everywhere.", signOut: true}, v.client.DeleteSessions(v.ctx())
}
