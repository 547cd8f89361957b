-- A JSON array: each sealed, and until when it signs too.
ALTER TABLE webhooks ADD COLUMN old_secrets TEXT NOT NULL DEFAULT '[]';
ALTER TABLE webhooks DROP COLUMN old_secret;
ALTER TABLE webhooks DROP COLUMN old_until;
