-- Whose entries, and by which key, is told from the index of all: an entry writes to two fewer.
DROP INDEX activity_user;
DROP INDEX activity_key;
DROP INDEX activity_scope;
CREATE INDEX activity_scope ON activity (organization_id, scope, created_at, id, user_id, key_id);
