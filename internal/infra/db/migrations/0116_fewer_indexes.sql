-- One index finds the invite to an address, in one organization and in all.
CREATE TABLE pending_invites (
	id                    TEXT PRIMARY KEY,
	organization_id       TEXT NOT NULL,
	target_email          TEXT NOT NULL,
	first_name            TEXT NOT NULL,
	emailing_attempt_made BOOLEAN NOT NULL DEFAULT FALSE,
	level                 INTEGER NOT NULL,
	message               TEXT NOT NULL,
	created_by            BIGINT NOT NULL,
	created_at            {{timestamp}} NOT NULL,
	updated_at            {{timestamp}} NOT NULL,
	expires_at            {{timestamp}} NOT NULL,
	issue                 BIGINT NOT NULL, -- counted up by each resend, which ends earlier links
	mail_state            TEXT NOT NULL,
	mail_reason           TEXT NOT NULL DEFAULT '',
	mail_attempts         INTEGER NOT NULL DEFAULT 0,
	mail_at               {{timestamp}},
	search                TEXT NOT NULL DEFAULT '',
	expiry_told           BOOLEAN NOT NULL DEFAULT FALSE,
	UNIQUE (target_email, organization_id)
) {{clustered}};
INSERT INTO pending_invites SELECT id, organization_id, target_email, first_name, emailing_attempt_made, level, message, created_by,
	created_at, updated_at, expires_at, issue, mail_state, mail_reason, mail_attempts, mail_at, search, expiry_told FROM invites;
DROP TABLE invites;
ALTER TABLE pending_invites RENAME TO invites;
CREATE INDEX invites_newest ON invites (organization_id, created_at, id);
CREATE INDEX invites_expiry ON invites (expires_at) WHERE NOT expiry_told;

-- On SQLite, plugins_search begins with the same columns.
{{sqlite}}DROP INDEX plugins_own;
