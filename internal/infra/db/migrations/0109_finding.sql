-- What lists are searched for and ordered by, normalised (NFKC, lower case): a name, cut so that
-- an index takes it, and all text that is searched. What is there already is as near to that as
-- SQL comes, until it is changed.
ALTER TABLE plugins ADD COLUMN name_key TEXT {{bytes}} NOT NULL DEFAULT '';
ALTER TABLE plugins ADD COLUMN search TEXT NOT NULL DEFAULT '';
UPDATE plugins SET name_key = lower(name), search = lower(name) || '
' || lower(description);
ALTER TABLE sites ADD COLUMN name_key TEXT {{bytes}} NOT NULL DEFAULT '';
UPDATE sites SET name_key = lower(name);

-- Of the current version: a file of it does not compile, and the files of an app that is
-- installed are not as they came.
ALTER TABLE plugins ADD COLUMN is_broken BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE plugins ADD COLUMN is_edited BOOLEAN NOT NULL DEFAULT FALSE;
UPDATE plugins SET
	is_broken = EXISTS (
		SELECT 1 FROM plugin_sources s JOIN plugin_versions v ON v.plugin_id = s.plugin_id AND v.number = s.current_number
		JOIN plugin_files f ON f.version_id = v.id WHERE s.plugin_id = plugins.id AND f.status = 'error'),
	is_edited = EXISTS (
		SELECT 1 FROM plugin_sources s JOIN plugin_versions v ON v.plugin_id = s.plugin_id AND v.number = s.current_number
		WHERE s.plugin_id = plugins.id AND s.url_key IS NOT NULL AND v.commit_name = '');

CREATE INDEX plugins_name ON plugins (organization_id, name_key, id);
CREATE INDEX plugins_created ON plugins (organization_id, created_at, id);
CREATE INDEX plugins_updated ON plugins (organization_id, updated_at, id);
CREATE INDEX plugins_type ON plugins (organization_id, plugin_type, id);
CREATE INDEX plugins_shared ON plugins (organization_id, is_global, id);
CREATE INDEX plugins_update ON plugins (organization_id, id) WHERE url <> '' AND latest_tag <> '' AND latest_tag <> tag;
CREATE INDEX plugins_disabled ON plugins (organization_id, id) WHERE disabled_at IS NOT NULL;
CREATE INDEX plugins_broken ON plugins (organization_id, id) WHERE is_broken;
CREATE INDEX plugins_edited ON plugins (organization_id, id) WHERE is_edited;
-- SQLite searches what the index holds, without the rows; PostgreSQL, whose indexes hold no
-- long texts, reads the rows as quickly.
{{sqlite}}CREATE INDEX plugins_search ON plugins (organization_id, id, search);
