CREATE TABLE organizations (
	id                      TEXT PRIMARY KEY,
	name                    TEXT NOT NULL,
	access_level            INTEGER NOT NULL,
	members_can_invite      BOOLEAN NOT NULL,
	members_can_manage_apps BOOLEAN NOT NULL,
	allowed_domains         TEXT NOT NULL, -- separated by commas; '': any
	created_at              {{timestamp}} NOT NULL
);

CREATE TABLE users (
	id                {{identity}},
	uuid              TEXT NOT NULL UNIQUE,
	distinct_id       TEXT NOT NULL UNIQUE,
	email             TEXT NOT NULL UNIQUE,
	first_name        TEXT NOT NULL,
	last_name         TEXT NOT NULL,
	is_email_verified BOOLEAN NOT NULL,
	created_at        {{timestamp}} NOT NULL
);

CREATE TABLE memberships (
	organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
	user_id         BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
	level           INTEGER NOT NULL,
	joined_at       {{timestamp}} NOT NULL,
	updated_at      {{timestamp}} NOT NULL,
	PRIMARY KEY (organization_id, user_id)
);
CREATE INDEX memberships_user ON memberships (user_id, joined_at);

CREATE TABLE keys (
	id              {{identity}},
	user_id         BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
	organization_id TEXT REFERENCES organizations (id) ON DELETE CASCADE, -- NULL: not bound to one
	hash            TEXT NOT NULL UNIQUE, -- SHA-256 of the key, in hexadecimal
	scopes          TEXT NOT NULL, -- separated by spaces
	created_at      {{timestamp}} NOT NULL,
	expires_at      {{timestamp}},
	last_used_at    {{timestamp}}
);
CREATE INDEX keys_user ON keys (user_id);

-- One row, counted up by each transaction that changes who may do what. Servers
-- keep that in memory and ask this number whether it still holds.
CREATE TABLE access_version (
	id      INTEGER PRIMARY KEY,
	version BIGINT NOT NULL
);
INSERT INTO access_version (id, version) VALUES (1, 1);

CREATE TABLE plugins (
	id              {{identity}},
	organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
	version         BIGINT NOT NULL DEFAULT 1, -- counted up by each change
	plugin_type     TEXT NOT NULL,
	name            TEXT NOT NULL,
	description     TEXT NOT NULL,
	url             TEXT NOT NULL,
	icon            TEXT NOT NULL,
	config_schema   {{json}},
	tag             TEXT NOT NULL,
	latest_tag      TEXT NOT NULL,
	is_global       BOOLEAN NOT NULL,
	capabilities    {{json}},
	metrics         {{json}},
	public_jobs     {{json}},
	exports         BOOLEAN NOT NULL, -- would stop with a paid export plan
	last_used_at    {{timestamp}},
	created_at      {{timestamp}} NOT NULL,
	updated_at      {{timestamp}} NOT NULL
);
CREATE INDEX plugins_own ON plugins (organization_id, id);
CREATE INDEX plugins_global ON plugins (id) WHERE is_global;

-- COUNT(*) would read every row of a large organization for each page. The version
-- is counted up by each change, so that a page that is in memory can be told to hold.
-- The sum over the parts is what counts: changes at the same time change different
-- parts, so that none waits until another is on disk.
CREATE TABLE plugin_counts (
	organization_id TEXT NOT NULL, -- '': all organizations together, of global ones
	part            INTEGER NOT NULL,
	own             BIGINT NOT NULL,
	global          BIGINT NOT NULL,
	version         BIGINT NOT NULL,
	PRIMARY KEY (organization_id, part)
);
INSERT INTO plugin_counts (organization_id, part, own, global, version) VALUES ('', 0, 0, 0, 1);

CREATE TABLE invites (
	id                     TEXT PRIMARY KEY,
	organization_id        TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
	target_email           TEXT NOT NULL,
	first_name             TEXT NOT NULL,
	emailing_attempt_made  BOOLEAN NOT NULL DEFAULT FALSE,
	level                  INTEGER NOT NULL,
	message                TEXT NOT NULL,
	created_by             BIGINT NOT NULL REFERENCES users (id),
	created_at             {{timestamp}} NOT NULL,
	updated_at             {{timestamp}} NOT NULL,
	expires_at             {{timestamp}} NOT NULL,
	UNIQUE (organization_id, target_email)
);
CREATE INDEX invites_newest ON invites (organization_id, created_at, id);

CREATE TABLE invite_counts (
	organization_id TEXT PRIMARY KEY,
	pending         BIGINT NOT NULL,
	version         BIGINT NOT NULL
);

-- Without references: it outlives what it tells of, and every change would pay.
CREATE TABLE activity (
	id              {{counter}},
	organization_id TEXT NOT NULL,
	scope           TEXT NOT NULL,
	item_id         TEXT NOT NULL,
	activity        TEXT NOT NULL,
	user_id         BIGINT, -- NULL: the operator
	name            TEXT NOT NULL,
	changes         {{json}} NOT NULL,
	request_id      TEXT NOT NULL,
	created_at      {{timestamp}} NOT NULL
);
CREATE INDEX activity_scope ON activity (organization_id, scope, id);
CREATE INDEX activity_item ON activity (organization_id, scope, item_id, id);

CREATE TABLE activity_counts (
	organization_id TEXT NOT NULL,
	scope           TEXT NOT NULL,
	part            INTEGER NOT NULL,
	entries         BIGINT NOT NULL,
	PRIMARY KEY (organization_id, scope, part)
);
