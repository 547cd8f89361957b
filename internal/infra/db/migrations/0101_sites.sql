-- An app that is disabled runs nowhere. disabled_at: NULL: it is not.
ALTER TABLE plugins ADD COLUMN disabled_at {{timestamp}};
ALTER TABLE plugins ADD COLUMN disabled_by BIGINT;
ALTER TABLE plugins ADD COLUMN disabled_reason TEXT NOT NULL DEFAULT '';

-- A version keeps the config_schema it came with: values are checked against it.
ALTER TABLE plugin_versions ADD COLUMN config_schema {{json}};
UPDATE plugin_versions SET config_schema = (SELECT p.config_schema FROM plugins p WHERE p.id = plugin_versions.plugin_id);
ALTER TABLE plugin_versions ADD COLUMN withdrawn_at {{timestamp}};
ALTER TABLE plugin_versions ADD COLUMN withdrawn_by BIGINT;
ALTER TABLE plugin_versions ADD COLUMN withdrawn_reason TEXT NOT NULL DEFAULT '';

CREATE TABLE sites (
	id              {{identity}},
	organization_id TEXT NOT NULL,
	name            TEXT NOT NULL,
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

CREATE TABLE site_revisions (
	site_id    BIGINT NOT NULL REFERENCES sites (id) ON DELETE CASCADE,
	revision   BIGINT NOT NULL,
	apps       TEXT NOT NULL, -- as in sites
	placements TEXT NOT NULL, -- all placements when the revision began, as JSON
	user_id    BIGINT NOT NULL, -- who made it so; 0: not told
	request_id TEXT NOT NULL,
	created_at {{timestamp}} NOT NULL,
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
CREATE INDEX site_counts_minute ON site_counts (minute);

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
