-- What browsers are signed in with. A session is over 7 days after it began, or 12 hours
-- after its last use.
CREATE TABLE sessions (
	id           {{identity}},
	user_id      BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
	hash         TEXT NOT NULL UNIQUE, -- SHA-256 of its token, in hexadecimal
	method       TEXT NOT NULL,
	key_id       BIGINT REFERENCES keys (id) ON DELETE CASCADE, -- NULL: not begun with a key
	created_at   {{timestamp}} NOT NULL,
	last_used_at {{timestamp}} NOT NULL, -- to 5 minutes
	address      TEXT NOT NULL,
	user_agent   TEXT NOT NULL
);
CREATE INDEX sessions_user ON sessions (user_id, last_used_at);
CREATE INDEX sessions_key ON sessions (key_id);
CREATE INDEX sessions_used ON sessions (last_used_at);

-- Who has asked for a link to sign in with. Whether the address is a user's, only the job
-- that mails the link finds out.
CREATE TABLE signin_requests (
	id         TEXT PRIMARY KEY,
	email      TEXT NOT NULL,
	created_at {{timestamp}} NOT NULL
);

-- Links that sign in once.
CREATE TABLE signin_links (
	hash       TEXT PRIMARY KEY, -- SHA-256 of its token, in hexadecimal
	user_id    BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
	email      TEXT NOT NULL, -- the user's: another one ends it
	mailed     BOOLEAN NOT NULL, -- to that address, which it proves
	expires_at {{timestamp}} NOT NULL
);
CREATE INDEX signin_links_user ON signin_links (user_id);
CREATE INDEX signin_links_expiry ON signin_links (expires_at);

-- Whether a user was made by a link that was passed on by hand, which proves nothing about
-- who they are.
ALTER TABLE users ADD COLUMN is_handed BOOLEAN NOT NULL DEFAULT FALSE;

-- Whom the identity provider knows as whom.
CREATE TABLE identities (
	issuer     TEXT NOT NULL,
	subject    TEXT NOT NULL,
	user_id    BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
	created_at {{timestamp}} NOT NULL,
	PRIMARY KEY (issuer, subject)
);
CREATE INDEX identities_user ON identities (user_id);

-- What browsers have brought back from the provider: it is taken once.
CREATE TABLE signin_states (
	hash       TEXT PRIMARY KEY, -- SHA-256 of the state, in hexadecimal
	expires_at {{timestamp}} NOT NULL
);
CREATE INDEX signin_states_expiry ON signin_states (expires_at);
