-- What an event has of the object that was changed: as the API showed it after the change. NULL:
-- the entry is no event, or it is no longer listed. data_dropped is the number of the last entry
-- that has lost it.
ALTER TABLE activity ADD COLUMN data {{json}};
ALTER TABLE activity_chains ADD COLUMN data_dropped BIGINT NOT NULL DEFAULT 0;

CREATE TABLE webhooks (
	id              {{identity}},
	organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
	url             TEXT NOT NULL,
	events          TEXT NOT NULL, -- a JSON array
	description     TEXT NOT NULL,
	enabled         BOOLEAN NOT NULL,
	disabled_reason TEXT NOT NULL, -- why foyer switched it off; '': it did not
	secret          TEXT NOT NULL, -- sealed
	old_secret      TEXT NOT NULL, -- likewise; '': none
	old_until       {{timestamp}},
	position        BIGINT NOT NULL, -- the number of the last entry that was looked at
	failing_since   {{timestamp}}, -- NULL: the last try went well
	lease_until     {{timestamp}} NOT NULL, -- until then a server sends to it
	is_held         BOOLEAN NOT NULL DEFAULT FALSE, -- since a backup was restored
	created_at      {{timestamp}} NOT NULL,
	updated_at      {{timestamp}} NOT NULL
);
CREATE INDEX webhooks_own ON webhooks (organization_id, id);

CREATE TABLE webhook_deliveries (
	id              {{identity}},
	webhook_id      BIGINT NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
	organization_id TEXT NOT NULL,
	number          BIGINT NOT NULL, -- of the entry that is the event
	event_id        TEXT NOT NULL,
	type            TEXT NOT NULL,
	state           TEXT NOT NULL,
	attempts        BIGINT NOT NULL,
	status          BIGINT NOT NULL, -- of the last answer; 0: none
	error           TEXT NOT NULL, -- a class; '': none
	duration_ms     BIGINT NOT NULL,
	created_at      {{timestamp}} NOT NULL,
	tried_at        {{timestamp}},
	due_at          {{timestamp}} -- NULL: there is no further try
);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (webhook_id, due_at, id) WHERE due_at IS NOT NULL;
CREATE INDEX webhook_deliveries_newest ON webhook_deliveries (webhook_id, id);
CREATE INDEX webhook_deliveries_oldest ON webhook_deliveries (created_at);

-- Mails that were queued when a backup was made are held once it is restored: they may have been
-- sent since.
ALTER TABLE jobs ADD COLUMN is_held BOOLEAN NOT NULL DEFAULT FALSE;

-- Whether an event has told of the expiry of an invite.
ALTER TABLE invites ADD COLUMN expiry_told BOOLEAN NOT NULL DEFAULT FALSE;
CREATE INDEX invites_expiry ON invites (expires_at) WHERE NOT expiry_told;
