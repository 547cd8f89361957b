-- Most columns that name a user have no foreign key, because users outlive the rows that name them; activity has none,
-- because it outlives the objects it names. Each insert would look up the referenced row and, on PostgreSQL, lock it.

CREATE TABLE organizations (
	id                      TEXT PRIMARY KEY,
	name                    TEXT NOT NULL,
	access_level            INTEGER NOT NULL,
	members_can_invite      BOOLEAN NOT NULL,
	members_can_manage_apps BOOLEAN NOT NULL,
	allowed_domains         TEXT NOT NULL, -- separated by commas; '': any
	invite_ttl              BIGINT NOT NULL DEFAULT 0, -- seconds; 0: the server's default
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
	by_handed_link    BOOLEAN NOT NULL DEFAULT FALSE, -- created by a link passed on by hand, and no address proved since: their identity is unproven
	search            TEXT NOT NULL DEFAULT '', -- address and names, normalised
	created_at        {{timestamp}} NOT NULL,
	erased_at         {{timestamp}} -- NULL: not erased; the row stays, because others refer to its id
);

CREATE TABLE memberships (
	organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
	user_id         BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
	level           INTEGER NOT NULL,
	invited_by      BIGINT, -- author of the accepted invite; NULL: added by an operator
	joined_at       {{timestamp}} NOT NULL,
	updated_at      {{timestamp}} NOT NULL,
	last_active_at  {{timestamp}}, -- in the organization, to the hour
	PRIMARY KEY (organization_id, user_id)
);
CREATE INDEX memberships_user ON memberships (user_id, joined_at);
CREATE INDEX memberships_joined ON memberships (organization_id, joined_at, user_id, level);

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
CREATE INDEX keys_expiry ON keys (expires_at) WHERE expires_at IS NOT NULL;

-- The last use, to the hour, of unbound keys in each organization.
CREATE TABLE key_uses (
	key_id          BIGINT NOT NULL REFERENCES keys (id) ON DELETE CASCADE,
	organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
	last_used_at    {{timestamp}} NOT NULL,
	PRIMARY KEY (key_id, organization_id)
);

-- Sessions of signed-in browsers. A session ends 7 days after it began, or 12 hours after its last use.
CREATE TABLE sessions (
	id           {{identity}},
	user_id      BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
	hash         TEXT NOT NULL UNIQUE, -- SHA-256 of its token, in hexadecimal
	method       TEXT NOT NULL,
	key_id       BIGINT REFERENCES keys (id) ON DELETE CASCADE, -- NULL: the sign-in used no key
	created_at   {{timestamp}} NOT NULL,
	last_used_at {{timestamp}} NOT NULL, -- to 5 minutes
	address      TEXT NOT NULL,
	user_agent   TEXT NOT NULL
);
CREATE INDEX sessions_user ON sessions (user_id, last_used_at);
CREATE INDEX sessions_key ON sessions (key_id);
CREATE INDEX sessions_used ON sessions (last_used_at);

-- Address changes of users: pending until the user follows the link in the mail to the new address, then kept while the
-- owner of the old address may undo them.
CREATE TABLE address_changes (
	id         TEXT PRIMARY KEY,
	user_id    BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
	old_email  TEXT NOT NULL,
	new_email  TEXT NOT NULL,
	session_id BIGINT NOT NULL, -- that requested it, which does not end; 0: none
	key_id     BIGINT REFERENCES keys (id) ON DELETE CASCADE, -- that requested it; NULL: none, or the change is done
	created_at {{timestamp}} NOT NULL,
	changed_at {{timestamp}} -- NULL: not yet
);
CREATE INDEX address_changes_user ON address_changes (user_id, created_at);
CREATE INDEX address_changes_key ON address_changes (key_id);
CREATE INDEX address_changes_old ON address_changes (old_email);
CREATE INDEX address_changes_age ON address_changes (created_at);

-- One row, which each transaction that changes permissions counts up. Servers cache permissions, and read this number
-- to check whether the cache is still valid.
CREATE TABLE access_version (
	id      INTEGER PRIMARY KEY,
	version BIGINT NOT NULL
);
INSERT INTO access_version (id, version) VALUES (1, 1);

-- The users of the identity provider's subjects.
CREATE TABLE identities (
	issuer     TEXT NOT NULL,
	subject    TEXT NOT NULL,
	user_id    BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
	created_at {{timestamp}} NOT NULL,
	PRIMARY KEY (issuer, subject)
);
CREATE INDEX identities_user ON identities (user_id);

-- States that browsers have brought back from the provider. Each is accepted only once.
CREATE TABLE signin_states (
	hash       TEXT PRIMARY KEY, -- SHA-256 of the state, in hexadecimal
	expires_at {{timestamp}} NOT NULL
);
CREATE INDEX signin_states_expiry ON signin_states (expires_at);

-- Requests for sign-in links. Only the job that mails the link finds out whether the address is a user's.
CREATE TABLE signin_requests (
	id         TEXT PRIMARY KEY,
	email      TEXT NOT NULL,
	created_at {{timestamp}} NOT NULL
);

-- Links that sign in only once.
CREATE TABLE signin_links (
	hash       TEXT PRIMARY KEY, -- SHA-256 of its token, in hexadecimal
	user_id    BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
	email      TEXT NOT NULL, -- the user's: a change of it ends the link
	mailed     BOOLEAN NOT NULL, -- to that address, so that using the link proves it
	expires_at {{timestamp}} NOT NULL
);
CREATE INDEX signin_links_user ON signin_links (user_id);
CREATE INDEX signin_links_expiry ON signin_links (expires_at);

-- Failed sign-ins of a user within an hour of the first, which is recorded at once.
CREATE TABLE signin_failures (
	user_id         BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
	organization_id TEXT NOT NULL, -- that the sign-in was for; '': all of the user's
	since           {{timestamp}} NOT NULL,
	others          BIGINT NOT NULL, -- after the first
	PRIMARY KEY (user_id, organization_id)
);
CREATE INDEX signin_failures_since ON signin_failures (since);

-- Apps, their versions and their files.

-- Lists are ordered by name_key and searched in search. Both are normalised (NFKC, lower case): name_key is the name,
-- cut to fit into an index, and search is all text that is searched.
CREATE TABLE plugins (
	id              {{identity}},
	organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
	revision        BIGINT NOT NULL DEFAULT 1, -- each change counts it up
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
	shared_from     BIGINT NOT NULL DEFAULT 0, -- if is_global: other organizations see the versions from this number on
	disabled_at     {{timestamp}}, -- NULL: not disabled; otherwise it runs nowhere
	disabled_by     BIGINT,
	disabled_reason TEXT NOT NULL DEFAULT '',
	is_broken       BOOLEAN NOT NULL DEFAULT FALSE, -- a file of its current version does not compile
	is_edited       BOOLEAN NOT NULL DEFAULT FALSE, -- it is installed, and its files were changed since
	name_key        TEXT {{bytes}} NOT NULL DEFAULT '',
	search          TEXT NOT NULL DEFAULT ''
);
CREATE INDEX plugins_global ON plugins (id) WHERE is_global;
-- This index must come before the other ones by id: SQLite prefers the newer of two equally good indexes.
CREATE INDEX plugins_own ON plugins (organization_id, id, last_used_at, exports);
CREATE INDEX plugins_name ON plugins (organization_id, name_key, id);
CREATE INDEX plugins_created ON plugins (organization_id, created_at, id);
-- SQLite searches texts in the index, without the rows. PostgreSQL's indexes hold no long texts, but it reads the rows
-- as quickly.
{{sqlite}}CREATE INDEX plugins_updated ON plugins (organization_id, updated_at, id, search);
{{postgres}}CREATE INDEX plugins_updated ON plugins (organization_id, updated_at, id);
CREATE INDEX plugins_type ON plugins (organization_id, plugin_type, id);
CREATE INDEX plugins_update ON plugins (organization_id, id) WHERE url <> '' AND latest_tag <> '' AND latest_tag <> tag;
CREATE INDEX plugins_disabled ON plugins (organization_id, id) WHERE disabled_at IS NOT NULL;
CREATE INDEX plugins_broken ON plugins (organization_id, id) WHERE is_broken;
CREATE INDEX plugins_edited ON plugins (organization_id, id) WHERE is_edited;
CREATE INDEX plugins_shared ON plugins (organization_id, id) WHERE is_global;

-- COUNT(*) would read every row of a large organization for each page. Each change counts up the version, so that a
-- server knows whether a cached page is still valid. The count is the sum over the shards: concurrent transactions
-- change different shards, so that none waits for another's commit.
CREATE TABLE plugin_counts (
	organization_id TEXT NOT NULL, -- '': all organizations together, of global ones
	shard           INTEGER NOT NULL,
	own             BIGINT NOT NULL,
	global          BIGINT NOT NULL,
	version         BIGINT NOT NULL,
	PRIMARY KEY (organization_id, shard)
);
INSERT INTO plugin_counts (organization_id, shard, own, global, version) VALUES ('', 0, 0, 0, 1);

-- Data about a plugin's source. A plugin without files has no row.
CREATE TABLE plugin_sources (
	plugin_id       BIGINT PRIMARY KEY REFERENCES plugins (id) ON DELETE CASCADE,
	organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE, -- the plugin's
	public_token    TEXT NOT NULL UNIQUE, -- in the urls of its bundles
	current_number  BIGINT NOT NULL, -- of the version it is at
	url_key         TEXT, -- the same for all urls of one repository; NULL: no upstream
	credentials     TEXT, -- of the upstream, sealed; NULL: none
	checked_at      {{timestamp}}, -- last update check; NULL: no upstream
	check_due_at    {{timestamp}}, -- next update check in the background; NULL: not set yet
	announced_tag   TEXT NOT NULL DEFAULT '', -- the tag of the last event
	UNIQUE (organization_id, url_key)
);
CREATE INDEX plugin_sources_due ON plugin_sources (check_due_at, url_key) WHERE url_key IS NOT NULL;
CREATE INDEX plugin_sources_url ON plugin_sources (url_key) WHERE url_key IS NOT NULL;

-- Texts of files and bundles, each stored once.
CREATE TABLE contents (
	sha256  TEXT PRIMARY KEY, -- of content, in hexadecimal
	content TEXT NOT NULL
);

CREATE TABLE plugin_versions (
	id               {{identity}},
	plugin_id        BIGINT NOT NULL REFERENCES plugins (id) ON DELETE CASCADE,
	number           BIGINT NOT NULL, -- counted from 1 in each plugin
	tag              TEXT NOT NULL,
	commit_name      TEXT NOT NULL, -- '': saved here, not installed
	message          TEXT NOT NULL DEFAULT '', -- from the user who saved it
	sha256           TEXT NOT NULL, -- of the names and hashes of its files
	config_schema    {{json}}, -- of its bundle: values are checked against it
	bundle           TEXT REFERENCES contents (sha256), -- NULL: none
	bundle_integrity TEXT NOT NULL,
	bundle_size      BIGINT NOT NULL, -- bytes
	bundle_inject    BOOLEAN NOT NULL DEFAULT FALSE, -- it exports inject
	created_by       BIGINT REFERENCES users (id),
	created_at       {{timestamp}} NOT NULL,
	withdrawn_at     {{timestamp}}, -- NULL: not withdrawn
	withdrawn_by     BIGINT,
	withdrawn_reason TEXT NOT NULL DEFAULT '',
	UNIQUE (plugin_id, number)
);
CREATE INDEX plugin_versions_bundle ON plugin_versions (bundle, plugin_id);

CREATE TABLE plugin_files (
	version_id   BIGINT NOT NULL REFERENCES plugin_versions (id) ON DELETE CASCADE,
	name         TEXT NOT NULL,
	sha256       TEXT NOT NULL REFERENCES contents (sha256),
	size         BIGINT NOT NULL, -- bytes
	status       TEXT NOT NULL,
	error        TEXT NOT NULL,
	error_line   BIGINT NOT NULL, -- from 1; 0: none
	error_column BIGINT NOT NULL, -- from 1; 0: none
	warning      TEXT NOT NULL DEFAULT '', -- it compiles, but may not do what was meant
	PRIMARY KEY (version_id, name)
);
CREATE INDEX plugin_files_content ON plugin_files (sha256);

-- Sites and the apps on their pages.

CREATE TABLE sites (
	id              {{identity}},
	organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
	name            TEXT NOT NULL,
	name_key        TEXT {{bytes}} NOT NULL DEFAULT '', -- as in plugins
	token           TEXT NOT NULL UNIQUE, -- in the urls that pages load
	enabled         BOOLEAN NOT NULL,
	is_demo         BOOLEAN NOT NULL, -- created by the first start
	origins         {{json}} NOT NULL, -- an array
	revision        BIGINT NOT NULL, -- each change of apps counts it up
	stamp           BIGINT NOT NULL, -- each change of apps adds a random number: the version of what servers cache
	apps            TEXT NOT NULL, -- the manifest's list as JSON, its urls without the base url
	created_at      {{timestamp}} NOT NULL,
	updated_at      {{timestamp}} NOT NULL,
	UNIQUE (organization_id, name)
);

-- An app on a site. When an app is deleted, Service.FollowApp removes its placements.
CREATE TABLE placements (
	site_id         BIGINT NOT NULL REFERENCES sites (id) ON DELETE CASCADE,
	app_id          BIGINT NOT NULL,
	organization_id TEXT NOT NULL, -- the site's
	app_owner       TEXT NOT NULL, -- the app's organization; '': the app was deleted
	enabled         BOOLEAN NOT NULL,
	position        BIGINT NOT NULL,
	version         BIGINT NOT NULL, -- 0: follows the app
	running         BIGINT NOT NULL, -- the version in the manifest; 0: none
	kept            BIGINT NOT NULL, -- the last version in the manifest; 0: none
	held            TEXT NOT NULL, -- why running is not the wanted version; '': it is
	paths           {{json}} NOT NULL, -- an array
	config          TEXT NOT NULL, -- a JSON object: the values that users set
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
	user_id    BIGINT NOT NULL, -- who made the change; 0: unknown
	request_id TEXT NOT NULL,
	versions   TEXT NOT NULL, -- of the apps, as APP:VERSION separated by spaces; before the large columns, so that those need not be read
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

-- How often pages loaded apps: by minute, later by hour.
CREATE TABLE site_counts (
	app_id          BIGINT NOT NULL,
	site_id         BIGINT NOT NULL REFERENCES sites (id) ON DELETE CASCADE,
	organization_id TEXT NOT NULL, -- the site's
	version         BIGINT NOT NULL,
	minute          BIGINT NOT NULL, -- since 1970; for an hour, its first
	bucket          INTEGER NOT NULL, -- of the time until it ran; below 0: it did not run, see counts.go
	views           BIGINT NOT NULL,
	PRIMARY KEY (site_id, app_id, minute, version, bucket) -- minutes before versions: health asks for the last hours of all versions
);
CREATE INDEX site_counts_minutes ON site_counts (minute) WHERE minute % 60 > 0;
CREATE INDEX site_counts_hours ON site_counts (minute) WHERE minute % 60 = 0;

CREATE TABLE site_errors (
	app_id          BIGINT NOT NULL,
	site_id         BIGINT NOT NULL REFERENCES sites (id) ON DELETE CASCADE,
	organization_id TEXT NOT NULL, -- the site's
	digest          TEXT NOT NULL, -- of the fields that tell errors apart
	version         BIGINT NOT NULL,
	name            TEXT NOT NULL,
	message         TEXT NOT NULL,
	line_number     BIGINT NOT NULL,
	column_number   BIGINT NOT NULL,
	seen            BIGINT NOT NULL,
	first_at        {{timestamp}} NOT NULL,
	last_at         {{timestamp}} NOT NULL,
	PRIMARY KEY (site_id, app_id, digest)
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
	issue                 BIGINT NOT NULL, -- each resend counts it up, which ends earlier links
	mail_state            TEXT NOT NULL,
	mail_reason           TEXT NOT NULL DEFAULT '',
	mail_attempts         INTEGER NOT NULL DEFAULT 0,
	mail_at               {{timestamp}}, -- when the mail reached its state; NULL: no mail yet
	search                TEXT NOT NULL DEFAULT '', -- address and first name, normalised
	expiry_announced      BOOLEAN NOT NULL DEFAULT FALSE, -- there was an event
	UNIQUE (target_email, organization_id) -- finds the invites to an address, in one organization and in all
) {{clustered}};
-- Expired invites are counted in the index alone. On SQLite so are matches of a search, as in plugins_updated. An index
-- of their own counts invites with failed mail.
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

-- Accepted invites, kept for a time so that clients can read their status.
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
	accepted_by           BIGINT NOT NULL -- the user whose address it was sent to, even if that has changed
) {{clustered}};
{{sqlite}}CREATE INDEX accepted_invites_newest ON accepted_invites (organization_id, created_at, id, search);
{{postgres}}CREATE INDEX accepted_invites_newest ON accepted_invites (organization_id, created_at, id);
CREATE INDEX accepted_invites_oldest ON accepted_invites (accepted_at);
CREATE INDEX accepted_invites_target ON accepted_invites (target_email);

-- Activity, events and webhooks.

-- The chain does not contain a name, data, or changes with a person's address, but their name_hash, data_hash and
-- changes_hash: the SHA-256 of the salt and the text. So text and salt can be erased.
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
	address         TEXT NOT NULL DEFAULT '', -- '' if addresses are not kept
	name_hash       TEXT NOT NULL DEFAULT '',
	changes_hash    TEXT NOT NULL DEFAULT '',
	salt            TEXT NOT NULL DEFAULT '',
	data            {{json}}, -- of an event: the object as the API showed it after the change; NULL: no event, or no longer listed
	data_hash       TEXT NOT NULL DEFAULT '', -- SHA-256 of salt and data; '': not an event
	data_erased     BOOLEAN NOT NULL DEFAULT FALSE -- data was erased early, with a person or the organization
);
-- The index has all columns for counting entries by user, key or object.
CREATE INDEX activity_scope ON activity (organization_id, scope, created_at, id, user_id, key_id, item_id, activity);

-- The background job gives each entry its number. In the entry's own row, that would rewrite the whole row.
CREATE TABLE activity_numbers (
	activity_id     BIGINT PRIMARY KEY,
	organization_id TEXT NOT NULL,
	number          BIGINT NOT NULL, -- in its organization, without gaps
	hash            TEXT NOT NULL -- SHA-256 of the previous hash and the entry
) {{clustered}};
CREATE UNIQUE INDEX activity_number ON activity_numbers (organization_id, number);

-- The entries without a number yet. The default is the last inserted entry.
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

-- The end of each chain, and its start: the last dropped entry.
CREATE TABLE activity_chains (
	organization_id TEXT PRIMARY KEY,
	number          BIGINT NOT NULL,
	hash            TEXT NOT NULL,
	at              {{timestamp}} NOT NULL,
	dropped         BIGINT NOT NULL,
	dropped_hash    TEXT NOT NULL,
	data_dropped    BIGINT NOT NULL DEFAULT 0 -- number of the last entry whose data was dropped
);

CREATE TABLE webhooks (
	id              {{identity}},
	organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
	url             TEXT NOT NULL,
	events          {{json}} NOT NULL, -- an array
	description     TEXT NOT NULL,
	enabled         BOOLEAN NOT NULL,
	disabled_reason TEXT NOT NULL, -- why foyer disabled it; '': it did not
	secret          TEXT NOT NULL, -- sealed
	old_secrets     {{json}} NOT NULL DEFAULT '[]', -- each secret, sealed, and until when it still signs
	position        BIGINT NOT NULL, -- the number of the last entry that was processed
	failing_since   {{timestamp}}, -- NULL: the last try succeeded
	lease_until     {{timestamp}} NOT NULL, -- a server may send to it until then
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
	tried_at        {{timestamp}} NOT NULL,
	due_at          {{timestamp}} -- NULL: no further try
);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (webhook_id, due_at, id) WHERE due_at IS NOT NULL;
CREATE INDEX webhook_deliveries_newest ON webhook_deliveries (webhook_id, id);
CREATE INDEX webhook_deliveries_oldest ON webhook_deliveries (created_at);

-- Traces of requests that made events, while tracing is on. Webhook deliveries carry them.
CREATE TABLE event_traces (
	organization_id TEXT NOT NULL, -- no reference, for which each row would lock the organization
	request_id      TEXT NOT NULL,
	parent          TEXT NOT NULL, -- as a traceparent
	created_at      {{timestamp}} NOT NULL,
	PRIMARY KEY (organization_id, request_id)
) {{clustered}};
CREATE INDEX event_traces_age ON event_traces (created_at);

-- Requests, and work in the background.

-- Requests with an Idempotency-Key and their answers, kept for a day.
CREATE TABLE idempotency (
	user_id         BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
	key_id          BIGINT NOT NULL, -- 0: none
	session_id      BIGINT NOT NULL, -- 0: none
	organization_id TEXT NOT NULL, -- '': none
	name            TEXT NOT NULL, -- SHA-256 of the Idempotency-Key, in hexadecimal
	fingerprint     TEXT NOT NULL, -- of the request
	attempt         BIGINT NOT NULL, -- a random number of the server that carries it out
	lease_ends      {{timestamp}} NOT NULL, -- that server may be at work until then
	status          INTEGER NOT NULL, -- of the answer; 0: not carried out
	etag            TEXT NOT NULL,
	item            TEXT NOT NULL, -- the id of the object, if body is too large to store; '': body is stored, or secret
	body            TEXT, -- NULL: not kept
	created_at      {{timestamp}} NOT NULL,
	PRIMARY KEY (user_id, key_id, session_id, organization_id, name)
);
CREATE INDEX idempotency_created ON idempotency (created_at);
CREATE INDEX idempotency_organization ON idempotency (organization_id);

-- How often something was done within a day, which begins with the first time.
CREATE TABLE quotas (
	kind  TEXT NOT NULL,
	item  TEXT NOT NULL,
	since {{timestamp}} NOT NULL,
	used  BIGINT NOT NULL,
	PRIMARY KEY (kind, item)
);
CREATE INDEX quotas_since ON quotas (since);

-- Background work, enqueued by the transaction that makes it necessary. A job that is done is deleted.
CREATE TABLE jobs (
	id         {{identity}},
	kind       TEXT NOT NULL,
	item       TEXT NOT NULL, -- what it is about
	attempts   INTEGER NOT NULL DEFAULT 0, -- a worker counts it up when it takes the job
	created_at {{timestamp}} NOT NULL,
	run_at     {{timestamp}} NOT NULL, -- earliest start; for a job that is taken, the end of its lease
	set_at     {{timestamp}} NOT NULL, -- when run_at was set: if that is in the future, the clock has stepped back since
	is_held    BOOLEAN NOT NULL DEFAULT FALSE, -- since a backup was restored: the mail may have been sent since
	UNIQUE (kind, item)
);
CREATE INDEX jobs_due ON jobs (run_at, id) WHERE NOT is_held;
