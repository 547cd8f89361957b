-- Requests that were sent with an Idempotency-Key, for a day, and what was answered.
CREATE TABLE idempotency (
	user_id         BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
	key_id          BIGINT NOT NULL, -- 0: none
	session_id      BIGINT NOT NULL, -- 0: none
	organization_id TEXT NOT NULL, -- '': none
	name            TEXT NOT NULL, -- SHA-256 of the Idempotency-Key, in hexadecimal
	fingerprint     TEXT NOT NULL, -- of the request
	attempt         BIGINT NOT NULL, -- counted up by each server that carries it out
	lease_ends      {{timestamp}} NOT NULL, -- until then, that server may be at work
	status          INTEGER NOT NULL, -- of the answer; 0: it is not carried out
	etag            TEXT NOT NULL,
	item            TEXT NOT NULL, -- the id of the object, where body is too large to be kept; '': it is kept, or secret
	body            TEXT, -- NULL: not kept
	created_at      {{timestamp}} NOT NULL,
	PRIMARY KEY (user_id, key_id, session_id, organization_id, name)
);
CREATE INDEX idempotency_created ON idempotency (created_at);
CREATE INDEX idempotency_organization ON idempotency (organization_id);
