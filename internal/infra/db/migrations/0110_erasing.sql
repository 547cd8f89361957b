-- A user who was erased: the row keeps the id, for what refers to it. What members are searched
-- by: address and names, normalised.
ALTER TABLE users ADD COLUMN erased_at {{timestamp}};
ALTER TABLE users ADD COLUMN search TEXT NOT NULL DEFAULT '';
UPDATE users SET search = lower(email || ' ' || first_name || ' ' || last_name);

-- Changes that hold a person's address are in the chain as changes_hash, the SHA-256 of the salt
-- and the changes, so that they can be erased.
ALTER TABLE activity ADD COLUMN changes_hash TEXT NOT NULL DEFAULT '';

-- Whose invite a member accepted (NULL: added by an operator, or not known any more), and when
-- they were last active in the organization, to the hour.
ALTER TABLE memberships ADD COLUMN invited_by BIGINT;
ALTER TABLE memberships ADD COLUMN last_active_at {{timestamp}};
UPDATE memberships SET invited_by = (
	SELECT MAX(a.created_by) FROM accepted_invites a JOIN users u ON u.email = a.target_email
	WHERE u.id = memberships.user_id AND a.organization_id = memberships.organization_id);

-- An address is looked for in all organizations.
CREATE INDEX invites_target ON invites (target_email);
CREATE INDEX accepted_invites_target ON accepted_invites (target_email);
