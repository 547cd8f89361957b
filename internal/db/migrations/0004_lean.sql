-- Apps, invites and activity name organizations and users without references: none
-- of those is ever removed, while each insert looked them up, and on PostgreSQL
-- locked the one row that all of an organization's inserts name. SQLite cannot drop a
-- reference, but may be told that there never was one
-- (https://sqlite.org/lang_altertable.html#otheralter).
{{postgres}} ALTER TABLE plugins DROP CONSTRAINT plugins_organization_id_fkey;
{{sqlite}} PRAGMA writable_schema = ON;
{{sqlite}} UPDATE sqlite_schema SET sql = replace(sql, ' REFERENCES organizations (id) ON DELETE CASCADE', '') WHERE type = 'table' AND name = 'plugins';
{{sqlite}} PRAGMA writable_schema = RESET;

CREATE TABLE lean_invites (
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
	issue                 BIGINT NOT NULL, -- counted up by each resend: links of an earlier one are dead
	mail_state            TEXT NOT NULL,
	mail_reason           TEXT NOT NULL DEFAULT '',
	mail_attempts         INTEGER NOT NULL DEFAULT 0,
	UNIQUE (organization_id, target_email)
) {{clustered}};
INSERT INTO lean_invites (id, organization_id, target_email, first_name, emailing_attempt_made, level, message, created_by,
	created_at, updated_at, expires_at, issue, mail_state, mail_reason, mail_attempts)
SELECT id, organization_id, target_email, first_name, emailing_attempt_made, level, message, created_by,
	created_at, updated_at, expires_at, issue, mail_state, mail_reason, mail_attempts FROM invites;
DROP TABLE invites;
ALTER TABLE lean_invites RENAME TO invites;
CREATE INDEX invites_newest ON invites (organization_id, created_at, id);

-- In parts, as the other counts are.
CREATE TABLE lean_invite_counts (
	organization_id TEXT NOT NULL,
	part            INTEGER NOT NULL,
	pending         BIGINT NOT NULL,
	version         BIGINT NOT NULL,
	PRIMARY KEY (organization_id, part)
) {{clustered}};
INSERT INTO lean_invite_counts (organization_id, part, pending, version) SELECT organization_id, 0, pending, version FROM invite_counts;
DROP TABLE invite_counts;
ALTER TABLE lean_invite_counts RENAME TO invite_counts;

-- Only the history of one plugin is asked for often. An entry's item may be any, so
-- that each one would change another page of an index on all.
DROP INDEX activity_item;
CREATE INDEX activity_plugin ON activity (organization_id, scope, item_id, id) WHERE scope = 'Plugin';
