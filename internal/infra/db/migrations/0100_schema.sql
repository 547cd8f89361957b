-- Organizations and users outlive what names them: apps, invites and activity have no
-- references to them, which each insert would look up and, on PostgreSQL, lock.

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

-- One row, counted up by each transaction that changes who may do what. Servers keep that
-- in memory, and ask for this number to know whether it still holds.
CREATE TABLE access_version (
	id      INTEGER PRIMARY KEY,
	version BIGINT NOT NULL
);
INSERT INTO access_version (id, version) VALUES (1, 1);

CREATE TABLE plugins (
	id              {{identity}},
	organization_id TEXT NOT NULL,
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

-- COUNT(*) would read every row of a large organization for each page. The version is
-- counted up by each change, so that a server knows whether a page in its memory still
-- holds. What counts is the sum over the shards: transactions at the same time change
-- different shards, so that none waits until another is on disk.
CREATE TABLE plugin_counts (
	organization_id TEXT NOT NULL, -- '': all organizations together, of global ones
	shard           INTEGER NOT NULL,
	own             BIGINT NOT NULL,
	global          BIGINT NOT NULL,
	version         BIGINT NOT NULL,
	PRIMARY KEY (organization_id, shard)
);
INSERT INTO plugin_counts (organization_id, shard, own, global, version) VALUES ('', 0, 0, 0, 1);

-- What foyer holds of a plugin's source; a plugin without files has no row.
CREATE TABLE plugin_sources (
	plugin_id       BIGINT PRIMARY KEY REFERENCES plugins (id) ON DELETE CASCADE,
	organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE, -- the plugin's
	public_token    TEXT NOT NULL UNIQUE, -- what its bundles are served under
	current_number  BIGINT NOT NULL, -- of the version it is at
	url_key         TEXT, -- what urls of one place have in common; NULL: no upstream
	credentials     TEXT, -- of the upstream, sealed; NULL: none
	checked_at      {{timestamp}}, -- when latest_tag was learned; NULL: no upstream
	UNIQUE (organization_id, url_key)
);

-- Texts of files and bundles, each stored once.
CREATE TABLE contents (
	sha256  TEXT PRIMARY KEY, -- of content, in hexadecimal
	content TEXT NOT NULL
);

-- One row, locked by each transaction that adds or removes contents, so that none
-- removes what another has just found to be there.
CREATE TABLE contents_lock (id INTEGER PRIMARY KEY);
INSERT INTO contents_lock (id) VALUES (1);

CREATE TABLE plugin_versions (
	id               {{identity}},
	plugin_id        BIGINT NOT NULL REFERENCES plugins (id) ON DELETE CASCADE,
	number           BIGINT NOT NULL, -- counted from 1 in each plugin
	tag              TEXT NOT NULL,
	commit_name      TEXT NOT NULL, -- '': saved here, not installed
	sha256           TEXT NOT NULL, -- of the names and sums of its files
	bundle           TEXT REFERENCES contents (sha256), -- NULL: none
	bundle_integrity TEXT NOT NULL,
	bundle_size      BIGINT NOT NULL, -- bytes
	created_by       BIGINT REFERENCES users (id),
	created_at       {{timestamp}} NOT NULL,
	UNIQUE (plugin_id, number)
);
CREATE INDEX plugin_versions_bundle ON plugin_versions (bundle);

CREATE TABLE plugin_files (
	version_id   BIGINT NOT NULL REFERENCES plugin_versions (id) ON DELETE CASCADE,
	name         TEXT NOT NULL,
	sha256       TEXT NOT NULL REFERENCES contents (sha256),
	size         BIGINT NOT NULL, -- bytes
	status       TEXT NOT NULL,
	error        TEXT NOT NULL,
	error_line   BIGINT NOT NULL, -- from 1; 0: none
	error_column BIGINT NOT NULL, -- likewise
	PRIMARY KEY (version_id, name)
);
CREATE INDEX plugin_files_content ON plugin_files (sha256);

CREATE TABLE invites (
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
	UNIQUE (organization_id, target_email)
) {{clustered}};
CREATE INDEX invites_newest ON invites (organization_id, created_at, id);

-- As plugin_counts.
CREATE TABLE invite_counts (
	organization_id TEXT NOT NULL,
	shard           INTEGER NOT NULL,
	pending         BIGINT NOT NULL,
	version         BIGINT NOT NULL,
	PRIMARY KEY (organization_id, shard)
) {{clustered}};

-- How often something has been done within a day, which began at the first time.
CREATE TABLE quotas (
	kind  TEXT NOT NULL,
	item  TEXT NOT NULL,
	since {{timestamp}} NOT NULL,
	used  BIGINT NOT NULL,
	PRIMARY KEY (kind, item)
);
CREATE INDEX quotas_since ON quotas (since);

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
-- Only the history of one app is asked for often, which one organization has: in a tree
-- with short keys, changes at the same time share more pages.
CREATE INDEX activity_app ON activity (item_id, id) WHERE scope = 'Plugin';

-- As plugin_counts.
CREATE TABLE activity_counts (
	organization_id TEXT NOT NULL,
	scope           TEXT NOT NULL,
	shard           INTEGER NOT NULL,
	entries         BIGINT NOT NULL,
	PRIMARY KEY (organization_id, scope, shard)
);

-- Work to be done in the background, put here by the transaction that makes it
-- necessary. A job that is done is gone.
CREATE TABLE jobs (
	id         {{identity}},
	kind       TEXT NOT NULL,
	item       TEXT NOT NULL, -- what it is about
	attempts   INTEGER NOT NULL DEFAULT 0, -- counted up by the worker that takes it
	created_at {{timestamp}} NOT NULL,
	run_at     {{timestamp}} NOT NULL, -- not before; of one that is taken: when its lease ends
	UNIQUE (kind, item)
);
CREATE INDEX jobs_due ON jobs (run_at, id);
