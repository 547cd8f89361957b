-- With what a change was made, and from where: NULL without a key, without a session, and ''
-- where addresses are not kept.
ALTER TABLE activity ADD COLUMN key_id BIGINT;
ALTER TABLE activity ADD COLUMN session_id BIGINT;
ALTER TABLE activity ADD COLUMN address TEXT NOT NULL DEFAULT '';

-- The chain: the number of each entry in its organization, without gaps, and the SHA-256 of the
-- hash before it and of the entry. NULL until the background has given them. A name or address
-- is in the chain as name_hash, the SHA-256 of the salt and the name, so that both can be erased.
ALTER TABLE activity ADD COLUMN number BIGINT;
ALTER TABLE activity ADD COLUMN hash TEXT;
ALTER TABLE activity ADD COLUMN name_hash TEXT NOT NULL DEFAULT '';
ALTER TABLE activity ADD COLUMN salt TEXT NOT NULL DEFAULT '';
CREATE UNIQUE INDEX activity_number ON activity (organization_id, number) WHERE number IS NOT NULL;
CREATE INDEX activity_unnumbered ON activity (id) WHERE number IS NULL;

-- The end of each chain, and its start: the last entry of those that were dropped.
CREATE TABLE activity_chains (
	organization_id TEXT PRIMARY KEY,
	number          BIGINT NOT NULL,
	hash            TEXT NOT NULL,
	at              {{timestamp}} NOT NULL,
	dropped         BIGINT NOT NULL,
	dropped_hash    TEXT NOT NULL
);

-- Each list is in the order of an index, by the time of the entries.
DROP INDEX activity_scope;
DROP INDEX activity_app;
CREATE INDEX activity_scope ON activity (organization_id, scope, created_at, id);
CREATE INDEX activity_item ON activity (item_id, created_at, id);
CREATE INDEX activity_user ON activity (user_id, created_at, id);
CREATE INDEX activity_key ON activity (key_id, created_at, id);
