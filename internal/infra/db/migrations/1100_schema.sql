-- Users outlive what names them, and activity what it names: neither has references, which each insert would look up and, on
-- PostgreSQL, lock.

CREATE TABLE organizations (
	id                      TEXT PRIMARY KEY,
	name                    TEXT NOT NULL,
	access_level            INTEGER NOT NULL,
	members_can_invite      BOOLEAN NOT NULL,
	members_can_manage_apps BOOLEAN NOT NULL,
	allowed_domains         TEXT NOT NULL, -- separated by commas; '': any
	invite_ttl              BIGINT NOT NULL DEFAULT 0, -- seconds; 0: as long as the server says
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
	by_handed_link    BOOLEAN NOT NULL DEFAULT FALSE, -- made by a link passed on by hand, and no address proved since: nothing shows who they are
	search            TEXT NOT NULL DEFAULT '', -- address and names, normalised
	created_at        {{timestamp}} NOT NULL,
	erased_at         {{timestamp}} -- NULL: not erased; the row keeps the id, for what refers to it
);

CREATE TABLE memberships (
	organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
	user_id         BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
	level           INTEGER NOT NULL,
	invited_by      BIGINT, -- whose invite was accepted; NULL: added by an operator
	joined_at       {{timestamp}} NOT NULL,
	updated_at      {{timestamp}} NOT NULL,
	last_active_at  {{timestamp}}, -- in the organization, to the hour
	PRIMARY KEY (organization_id, user_id)
);
CREATE INDEX memberships_user ON memberships (user_id, joined_at);
CREATE INDEX memberships_joined ON memberships (organization_id, joined_at, user_id);

-- Keys, sessions, and ways to sign in.

CREATE TABLE keys (
	id              {{identity}},
	user_id         BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
	organization_id TEXT REFERENCES organizations (id) ON DELETE CASCADE, -- NULL: not bound to one
	name            TEXT NOT NULL DEFAULT '',
	prefix          TEXT NOT NULL DEFAULT '', -- its first characters
	hash            TEXT NOT NULL UNIQUE, -- SHA-256 of the key, in hexadecimal
	scopes          TEXT NOT NULL, -- separated by spaces
	created_at      {{timestamp}} NOT NULL,
	expires_at      {{timestamp}},
	last_used_at    {{timestamp}}
);
CREATE INDEX keys_user ON keys (user_id, organization_id);

-- When keys that are bound to no organization were last used in one, to the hour.
CREATE TABLE key_uses (
	key_id          BIGINT NOT NULL REFERENCES keys (id) ON DELETE CASCADE,
	organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
	last_used_at    {{timestamp}} NOT NULL,
	PRIMARY KEY (key_id, organization_id)
);

-- What browsers are signed in with. A session ends 7 days after it began, or 12 hours after its
-- last use.
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

-- Addresses that users want to have, or have changed to: until the link in the mail to the new
-- one is followed, and as long as whoever has the old one may take that back.
CREATE TABLE address_changes (
	id         TEXT PRIMARY KEY,
	user_id    BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
	old_email  TEXT NOT NULL,
	new_email  TEXT NOT NULL,
	session_id BIGINT NOT NULL, -- in which it was asked for, and which stays; 0: none
	key_id     BIGINT REFERENCES keys (id) ON DELETE CASCADE, -- with which it was asked for; NULL: with none, or it is done
	created_at {{timestamp}} NOT NULL,
	changed_at {{timestamp}} -- NULL: not yet
);
CREATE INDEX address_changes_user ON address_changes (user_id, created_at);
CREATE INDEX address_changes_key ON address_changes (key_id);
CREATE INDEX address_changes_old ON address_changes (old_email);
CREATE INDEX address_changes_age ON address_changes (created_at);

-- One row, counted up by each transaction that changes who may do what. Servers keep that
-- in memory, and ask for this number to know whether it still holds.
CREATE TABLE access_version (
	id      INTEGER PRIMARY KEY,
	version BIGINT NOT NULL
);
INSERT INTO access_version (id, version) VALUES (1, 1);

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

-- Sign-ins of a user that failed within an hour of the first, which is recorded at once.
CREATE TABLE signin_failures (
	user_id         BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
	organization_id TEXT NOT NULL, -- the one that it would have opened; '': all of the user's
	since           {{timestamp}} NOT NULL,
	others          BIGINT NOT NULL, -- after the first
	PRIMARY KEY (user_id, organization_id)
);
CREATE INDEX signin_failures_since ON signin_failures (since);

-- Apps, their versions and their files.

-- name_key and search are what lists are ordered by and searched for, normalised (NFKC, lower case):
-- a name, cut so that an index takes it, and all text that is searched.
CREATE TABLE plugins (
	id              {{identity}},
	organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
	revision        BIGINT NOT NULL DEFAULT 1, -- counted up by each change
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
	updated_at      {{timestamp}} NOT NULL,
	shared_at       {{timestamp}}, -- others see the versions made since; NULL: it is not shared
	disabled_at     {{timestamp}}, -- it runs nowhere; NULL: it is not disabled
	disabled_by     BIGINT,
	disabled_reason TEXT NOT NULL DEFAULT '',
	is_broken       BOOLEAN NOT NULL DEFAULT FALSE, -- a file of its current version does not compile
	is_edited       BOOLEAN NOT NULL DEFAULT FALSE, -- it is installed, and its files are not as they came
	name_key        TEXT {{bytes}} NOT NULL DEFAULT '',
	search          TEXT NOT NULL DEFAULT ''
);
CREATE INDEX plugins_global ON plugins (id) WHERE is_global;
-- Before the other indexes by id: of two that promise the same, SQLite takes the one that is newer.
CREATE INDEX plugins_own ON plugins (organization_id, id, last_used_at, exports);
CREATE INDEX plugins_name ON plugins (organization_id, name_key, id);
CREATE INDEX plugins_created ON plugins (organization_id, created_at, id);
-- SQLite looks for texts in what the index holds, without the rows; PostgreSQL, whose indexes hold no long texts, reads the
-- rows as quickly.
{{sqlite}}CREATE INDEX plugins_updated ON plugins (organization_id, updated_at, id, search);
{{postgres}}CREATE INDEX plugins_updated ON plugins (organization_id, updated_at, id);
CREATE INDEX plugins_type ON plugins (organization_id, plugin_type, id);
CREATE INDEX plugins_update ON plugins (organization_id, id) WHERE url <> '' AND latest_tag <> '' AND latest_tag <> tag;
CREATE INDEX plugins_disabled ON plugins (organization_id, id) WHERE disabled_at IS NOT NULL;
CREATE INDEX plugins_broken ON plugins (organization_id, id) WHERE is_broken;
CREATE INDEX plugins_edited ON plugins (organization_id, id) WHERE is_edited;
CREATE INDEX plugins_shared ON plugins (organization_id, id) WHERE is_global;

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
	check_due_at    {{timestamp}}, -- when it is next learned in the background; NULL: that is not set yet
	announced_tag   TEXT NOT NULL DEFAULT '', -- of which there was an event
	UNIQUE (organization_id, url_key)
);
CREATE INDEX plugin_sources_due ON plugin_sources (check_due_at, url_key) WHERE url_key IS NOT NULL;
CREATE INDEX plugin_sources_url ON plugin_sources (url_key) WHERE url_key IS NOT NULL;

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
	message          TEXT NOT NULL DEFAULT '', -- what whoever saved it said of it
	sha256           TEXT NOT NULL, -- of the names and sums of its files
	config_schema    {{json}}, -- that its bundle came with: values are checked against it
	bundle           TEXT REFERENCES contents (sha256), -- NULL: none
	bundle_integrity TEXT NOT NULL,
	bundle_size      BIGINT NOT NULL, -- bytes
	bundle_inject    BOOLEAN NOT NULL DEFAULT FALSE, -- it exports inject
	created_by       BIGINT REFERENCES users (id),
	created_at       {{timestamp}} NOT NULL,
	withdrawn_at     {{timestamp}}, -- NULL: it is not withdrawn
	withdrawn_by     BIGINT,
	withdrawn_reason TEXT NOT NULL DEFAULT '',
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
	warning      TEXT NOT NULL DEFAULT '', -- it is compiled, but may not be what was meant
	PRIMARY KEY (version_id, name)
);
CREATE INDEX plugin_files_content ON plugin_files (sha256);

-- Sites, and what runs in their pages.

CREATE TABLE sites (
	id              {{identity}},
	organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
	name            TEXT NOT NULL,
	name_key        TEXT {{bytes}} NOT NULL DEFAULT '', -- as in plugins
	token           TEXT NOT NULL UNIQUE, -- in the urls that pages have
	enabled         BOOLEAN NOT NULL,
	is_demo         BOOLEAN NOT NULL, -- made by the first start
	origins         TEXT NOT NULL, -- a JSON array
	revision        BIGINT NOT NULL, -- counted up by each change of apps
	stamp           BIGINT NOT NULL, -- likewise, by a random number, for what servers keep in memory
	apps            TEXT NOT NULL, -- what the manifest lists, as JSON, each url without the base url
	created_at      {{timestamp}} NOT NULL,
	updated_at      {{timestamp}} NOT NULL,
	UNIQUE (organization_id, name)
);

-- An app on a site. When the app is deleted, Service.FollowApp removes what it is placed on.
CREATE TABLE placements (
	site_id         BIGINT NOT NULL REFERENCES sites (id) ON DELETE CASCADE,
	app_id          BIGINT NOT NULL,
	organization_id TEXT NOT NULL, -- the site's
	app_owner       TEXT NOT NULL, -- the app's organization; '': the app is gone
	enabled         BOOLEAN NOT NULL,
	position        BIGINT NOT NULL,
	version         BIGINT NOT NULL, -- 0: follows the app
	running         BIGINT NOT NULL, -- the version in the manifest; 0: none
	kept            BIGINT NOT NULL, -- the version that was in the manifest last; 0: none
	held            TEXT NOT NULL, -- why running is not what was wanted; '': it is
	paths           TEXT NOT NULL, -- a JSON array
	config          TEXT NOT NULL, -- a JSON object: the values that were given
	config_size     BIGINT NOT NULL, -- bytes
	site_values     TEXT NOT NULL, -- a JSON object: the values that the page gets
	created_at      {{timestamp}} NOT NULL,
	updated_at      {{timestamp}} NOT NULL,
	PRIMARY KEY (site_id, app_id)
);
CREATE INDEX placements_app ON placements (app_id, site_id);
CREATE INDEX placements_owner ON placements (app_owner, app_id) WHERE enabled;

CREATE TABLE site_revisions (
	site_id    BIGINT NOT NULL REFERENCES sites (id) ON DELETE CASCADE,
	revision   BIGINT NOT NULL,
	created_at {{timestamp}} NOT NULL,
	user_id    BIGINT NOT NULL, -- who made it so; 0: not told
	request_id TEXT NOT NULL,
	versions   TEXT NOT NULL, -- of the apps, as APP:VERSION with a blank between; before what is large, which need not be read then
	apps       TEXT NOT NULL, -- as in sites
	placements TEXT NOT NULL, -- all placements when the revision began, as JSON
	PRIMARY KEY (site_id, revision)
);

CREATE TABLE site_previews (
	hash        TEXT PRIMARY KEY, -- SHA-256 of the token, in hexadecimal
	site_id     BIGINT NOT NULL REFERENCES sites (id) ON DELETE CASCADE,
	app_id      BIGINT NOT NULL,
	version     BIGINT NOT NULL,
	site_values TEXT NOT NULL,
	user_id     BIGINT NOT NULL, -- who made it
	expires_at  {{timestamp}} NOT NULL
);
CREATE INDEX site_previews_expires ON site_previews (expires_at);
CREATE INDEX site_previews_site ON site_previews (site_id, expires_at);

-- How often apps were loaded by pages: by minute, later by hour.
CREATE TABLE site_counts (
	app_id          BIGINT NOT NULL,
	site_id         BIGINT NOT NULL REFERENCES sites (id) ON DELETE CASCADE,
	organization_id TEXT NOT NULL, -- the site's
	version         BIGINT NOT NULL,
	minute          BIGINT NOT NULL, -- since 1970; of an hour: its first
	bucket          INTEGER NOT NULL, -- of the time until it ran; below 0: it did not, see counts.go
	views           BIGINT NOT NULL,
	PRIMARY KEY (app_id, site_id, version, minute, bucket)
);
CREATE INDEX site_counts_minutes ON site_counts (minute) WHERE minute % 60 > 0;
CREATE INDEX site_counts_hours ON site_counts (minute) WHERE minute % 60 = 0;

CREATE TABLE site_errors (
	app_id          BIGINT NOT NULL,
	site_id         BIGINT NOT NULL REFERENCES sites (id) ON DELETE CASCADE,
	organization_id TEXT NOT NULL, -- the site's
	digest          TEXT NOT NULL, -- of what tells errors apart
	version         BIGINT NOT NULL,
	name            TEXT NOT NULL,
	message         TEXT NOT NULL,
	line_number     BIGINT NOT NULL,
	column_number   BIGINT NOT NULL,
	seen            BIGINT NOT NULL,
	first_at        {{timestamp}} NOT NULL,
	last_at         {{timestamp}} NOT NULL,
	PRIMARY KEY (app_id, site_id, digest)
);
CREATE INDEX site_errors_last ON site_errors (organization_id, last_at, app_id);
CREATE INDEX site_errors_age ON site_errors (last_at);

-- Invites.

CREATE TABLE invites (
	id                    TEXT PRIMARY KEY,
	organization_id       TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
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
	mail_at               {{timestamp}}, -- when the mail came as far as it has; NULL: there is none yet
	search                TEXT NOT NULL DEFAULT '', -- address and first name, normalised
	expiry_announced      BOOLEAN NOT NULL DEFAULT FALSE, -- there was an event
	UNIQUE (target_email, organization_id) -- finds those to an address, in one organization and in all
) {{clustered}};
-- Those that have expired are counted in the index alone, on SQLite also those in which a text is found, as in plugins_updated;
-- those whose mail failed in one that has no others.
{{sqlite}}CREATE INDEX invites_newest ON invites (organization_id, created_at, id, expires_at, search);
{{postgres}}CREATE INDEX invites_newest ON invites (organization_id, created_at, id, expires_at);
CREATE INDEX invites_failed ON invites (organization_id, created_at, id) WHERE mail_state = 'failed';
CREATE INDEX invites_expiry ON invites (expires_at) WHERE NOT expiry_announced;

-- As plugin_counts.
CREATE TABLE invite_counts (
	organization_id TEXT NOT NULL,
	shard           INTEGER NOT NULL,
	pending         BIGINT NOT NULL,
	version         BIGINT NOT NULL,
	PRIMARY KEY (organization_id, shard)
) {{clustered}};

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
	accepted_at           {{timestamp}} NOT NULL,
	accepted_by           BIGINT NOT NULL -- whose address it was sent to, whatever they have now
) {{clustered}};
{{sqlite}}CREATE INDEX accepted_invites_newest ON accepted_invites (organization_id, created_at, id, search);
{{postgres}}CREATE INDEX accepted_invites_newest ON accepted_invites (organization_id, created_at, id);
CREATE INDEX accepted_invites_oldest ON accepted_invites (accepted_at);
CREATE INDEX accepted_invites_target ON accepted_invites (target_email);

-- What was done and by whom, and who is told of it.

-- A name, and changes that hold a person's address, are in the chain as name_hash and changes_hash,
-- the SHA-256 of the salt and the text, so that text and salt can be erased. So is data, as data_hash.
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
	created_at      {{timestamp}} NOT NULL,
	key_id          BIGINT, -- NULL: without a key
	session_id      BIGINT, -- NULL: without a session
	address         TEXT NOT NULL DEFAULT '', -- '' where addresses are not kept
	name_hash       TEXT NOT NULL DEFAULT '',
	changes_hash    TEXT NOT NULL DEFAULT '',
	salt            TEXT NOT NULL DEFAULT '',
	data            {{json}}, -- of an event: the object as the API showed it after the change; NULL: there is none, or it is no longer listed
	data_hash       TEXT NOT NULL DEFAULT '', -- SHA-256 of salt and data; '': it is of no event
	data_erased     BOOLEAN NOT NULL DEFAULT FALSE -- data went before its time, with a person or the organization
);
-- Whose entries, by which key, and of what, is told from the index of all.
CREATE INDEX activity_scope ON activity (organization_id, scope, created_at, id, user_id, key_id, item_id);

-- What the background gives each entry. Stored with the entry, it would write all of it again.
CREATE TABLE activity_numbers (
	activity_id     BIGINT PRIMARY KEY,
	organization_id TEXT NOT NULL,
	number          BIGINT NOT NULL, -- in its organization, without gaps
	hash            TEXT NOT NULL -- SHA-256 of the hash before it and of the entry
) {{clustered}};
CREATE UNIQUE INDEX activity_number ON activity_numbers (organization_id, number);

-- The entries that have none yet. By default it is the one that was inserted last.
CREATE TABLE activity_unnumbered (
{{sqlite}}	activity_id     BIGINT PRIMARY KEY DEFAULT (last_insert_rowid()),
{{postgres}}	activity_id     BIGINT PRIMARY KEY DEFAULT currval('activity_id_seq'),
	organization_id TEXT NOT NULL,
	scope           TEXT NOT NULL
) {{clustered}};

-- How many entries have a number.
CREATE TABLE activity_counts (
	organization_id TEXT NOT NULL,
	scope           TEXT NOT NULL,
	entries         BIGINT NOT NULL,
	PRIMARY KEY (organization_id, scope)
);

-- The end of each chain, and its start: the last entry of those that were dropped.
CREATE TABLE activity_chains (
	organization_id TEXT PRIMARY KEY,
	number          BIGINT NOT NULL,
	hash            TEXT NOT NULL,
	at              {{timestamp}} NOT NULL,
	dropped         BIGINT NOT NULL,
	dropped_hash    TEXT NOT NULL,
	data_dropped    BIGINT NOT NULL DEFAULT 0 -- number of the last entry that has lost its data
);

CREATE TABLE webhooks (
	id              {{identity}},
	organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
	url             TEXT NOT NULL,
	events          TEXT NOT NULL, -- a JSON array
	description     TEXT NOT NULL,
	enabled         BOOLEAN NOT NULL,
	disabled_reason TEXT NOT NULL, -- why foyer switched it off; '': it did not
	secret          TEXT NOT NULL, -- sealed
	old_secrets     TEXT NOT NULL DEFAULT '[]', -- a JSON array: each sealed, and until when it signs too
	position        BIGINT NOT NULL, -- the number of the last entry that was looked at
	failing_since   {{timestamp}}, -- NULL: the last try went well
	lease_until     {{timestamp}} NOT NULL, -- until then a server sends to it
	is_held         BOOLEAN NOT NULL DEFAULT FALSE, -- since a backup was restored
	created_at      {{timestamp}} NOT NULL,
	updated_at      {{timestamp}} NOT NULL
);
CREATE INDEX webhooks_own ON webhooks (organization_id, id);

CREATE TABLE webhook_deliveries (
	id              {{identity}},
	webhook_id      BIGINT NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
	organization_id TEXT NOT NULL,
	number          BIGINT NOT NULL, -- of the entry that is the event
	event_id        TEXT NOT NULL,
	type            TEXT NOT NULL,
	state           TEXT NOT NULL,
	attempts        BIGINT NOT NULL,
	status          BIGINT NOT NULL, -- of the last answer; 0: none
	error           TEXT NOT NULL, -- a class; '': none
	duration_ms     BIGINT NOT NULL,
	created_at      {{timestamp}} NOT NULL,
	tried_at        {{timestamp}},
	due_at          {{timestamp}} -- NULL: there is no further try
);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (webhook_id, due_at, id) WHERE due_at IS NOT NULL;
CREATE INDEX webhook_deliveries_newest ON webhook_deliveries (webhook_id, id);
CREATE INDEX webhook_deliveries_oldest ON webhook_deliveries (created_at);

-- The traces of requests that made events, while tracing is on: a webhook's receiver is told of them.
CREATE TABLE event_traces (
	organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
	request_id      TEXT NOT NULL,
	parent          TEXT NOT NULL, -- as a traceparent
	created_at      {{timestamp}} NOT NULL,
	PRIMARY KEY (organization_id, request_id)
) {{clustered}};
CREATE INDEX event_traces_age ON event_traces (created_at);

-- Requests, and work in the background.

-- Requests that were sent with an Idempotency-Key, for a day, and what was answered.
CREATE TABLE idempotency (
	user_id         BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
	key_id          BIGINT NOT NULL, -- 0: none
	session_id      BIGINT NOT NULL, -- 0: none
	organization_id TEXT NOT NULL, -- '': none
	name            TEXT NOT NULL, -- SHA-256 of the Idempotency-Key, in hexadecimal
	fingerprint     TEXT NOT NULL, -- of the request
	attempt         BIGINT NOT NULL, -- a random number of whoever carries it out
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

-- How often something has been done within a day, which began at the first time.
CREATE TABLE quotas (
	kind  TEXT NOT NULL,
	item  TEXT NOT NULL,
	since {{timestamp}} NOT NULL,
	used  BIGINT NOT NULL,
	PRIMARY KEY (kind, item)
);
CREATE INDEX quotas_since ON quotas (since);

-- Work to be done in the background, put here by the transaction that makes it
-- necessary. A job that is done is gone.
CREATE TABLE jobs (
	id         {{identity}},
	kind       TEXT NOT NULL,
	item       TEXT NOT NULL, -- what it is about
	attempts   INTEGER NOT NULL DEFAULT 0, -- counted up by the worker that takes it
	created_at {{timestamp}} NOT NULL,
	run_at     {{timestamp}} NOT NULL, -- not before; of one that is taken: when its lease ends
	set_at     {{timestamp}} NOT NULL, -- when run_at was set: if that is still to come, the clock has stepped back since
	is_held    BOOLEAN NOT NULL DEFAULT FALSE, -- since a backup was restored: the mail may have been sent since
	UNIQUE (kind, item)
);
CREATE INDEX jobs_due ON jobs (run_at, id);
