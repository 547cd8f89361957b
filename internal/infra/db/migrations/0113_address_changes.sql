-- Addresses that users want to have, or have changed to: until the link in the mail to the new
-- one is followed, and as long as whoever has the old one may take that back.
CREATE TABLE address_changes (
	id         TEXT PRIMARY KEY,
	user_id    BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
	old_email  TEXT NOT NULL,
	new_email  TEXT NOT NULL,
	session_id BIGINT NOT NULL, -- in which it was asked for, and which stays; 0: none
	created_at {{timestamp}} NOT NULL,
	changed_at {{timestamp}} -- NULL: not yet
);
CREATE INDEX address_changes_user ON address_changes (user_id, created_at);
CREATE INDEX address_changes_old ON address_changes (old_email);
CREATE INDEX address_changes_age ON address_changes (created_at);
