-- Lists of members are in the order in which they joined.
CREATE INDEX memberships_joined ON memberships (organization_id, joined_at, user_id);
