-- What whoever saved a version said of it.
ALTER TABLE plugin_versions ADD COLUMN message TEXT NOT NULL DEFAULT '';
