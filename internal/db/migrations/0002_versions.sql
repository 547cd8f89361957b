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
