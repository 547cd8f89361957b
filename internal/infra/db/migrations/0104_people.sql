-- How long invites of an organization live, in seconds; 0: as long as the server says.
ALTER TABLE organizations ADD COLUMN invite_ttl BIGINT NOT NULL DEFAULT 0;

-- What people call their keys, and by what they know one again: its first characters.
ALTER TABLE keys ADD COLUMN name TEXT NOT NULL DEFAULT '';
ALTER TABLE keys ADD COLUMN prefix TEXT NOT NULL DEFAULT '';

-- When the mail of an invite came as far as it has; NULL: there is none yet. What an invite is
-- searched by: its address and first name, normalised.
ALTER TABLE invites ADD COLUMN mail_at {{timestamp}};
ALTER TABLE invites ADD COLUMN search TEXT NOT NULL DEFAULT '';

-- Invites that were accepted, kept for a time, so that what became of one can be asked.
CREATE TABLE accepted_invites (
	id                    TEXT PRIMARY KEY,
	organization_id       TEXT NOT NULL,
	target_email          TEXT NOT NULL,
	first_name            TEXT NOT NULL,
	emailing_attempt_made BOOLEAN NOT NULL,
	level                 INTEGER NOT NULL,
	message               TEXT NOT NULL,
	created_by            BIGINT NOT NULL,
	created_at            {{timestamp}} NOT NULL,
	updated_at            {{timestamp}} NOT NULL,
	expires_at            {{timestamp}} NOT NULL,
	issue                 BIGINT NOT NULL,
	mail_state            TEXT NOT NULL,
	mail_reason           TEXT NOT NULL,
	mail_attempts         INTEGER NOT NULL,
	mail_at               {{timestamp}},
	search                TEXT NOT NULL,
	accepted_at           {{timestamp}} NOT NULL
) {{clustered}};
CREATE INDEX accepted_invites_newest ON accepted_invites (organization_id, created_at, id);
CREATE INDEX accepted_invites_oldest ON accepted_invites (accepted_at);
