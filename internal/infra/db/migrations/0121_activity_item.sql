-- What was done to one thing is told from the index of all, too.
DROP INDEX activity_item;
DROP INDEX activity_scope;
CREATE INDEX activity_scope ON activity (organization_id, scope, created_at, id, user_id, key_id, item_id);
