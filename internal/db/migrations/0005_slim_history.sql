-- An app is one organization's, so that its id alone tells its history. In a tree with
-- short keys changes at the same time share more pages. First the new, then the old:
-- PostgreSQL has nobody read while an index is dropped.
CREATE INDEX activity_app ON activity (item_id, id) WHERE scope = 'Plugin';
DROP INDEX activity_plugin;
