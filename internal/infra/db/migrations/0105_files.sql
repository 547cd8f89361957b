-- What of a file is compiled, but may not be what was meant.
ALTER TABLE plugin_files ADD COLUMN warning TEXT NOT NULL DEFAULT '';

-- Whether a version's bundle exports inject; not known of those compiled before.
ALTER TABLE plugin_versions ADD COLUMN bundle_inject BOOLEAN NOT NULL DEFAULT FALSE;
