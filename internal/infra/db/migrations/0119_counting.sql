-- Invites that have expired are counted in the index alone, those whose mail failed in one that has no others.
DROP INDEX invites_newest;
CREATE INDEX invites_newest ON invites (organization_id, created_at, id, expires_at);
CREATE INDEX invites_failed ON invites (organization_id, created_at, id) WHERE mail_state = 'failed';

-- So are the keys that members have.
DROP INDEX keys_user;
CREATE INDEX keys_user ON keys (user_id, organization_id);
