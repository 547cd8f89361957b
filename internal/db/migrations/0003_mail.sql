-- Work to be done in the background, put here by the transaction that makes it
-- necessary. A job that is done is gone.
CREATE TABLE jobs (
	id         {{identity}},
	kind       TEXT NOT NULL,
	item       TEXT NOT NULL, -- what it is about
	attempts   INTEGER NOT NULL DEFAULT 0, -- counted up by whoever takes it
	created_at {{timestamp}} NOT NULL,
	run_at     {{timestamp}} NOT NULL, -- not before; of one that is taken: when its lease ends
	UNIQUE (kind, item)
);
CREATE INDEX jobs_due ON jobs (run_at, id);

-- issue is counted up by each resend: links of an earlier one are dead.
ALTER TABLE invites ADD COLUMN issue BIGINT NOT NULL DEFAULT 1;
ALTER TABLE invites ADD COLUMN mail_state TEXT NOT NULL DEFAULT 'none';
ALTER TABLE invites ADD COLUMN mail_reason TEXT NOT NULL DEFAULT '';
ALTER TABLE invites ADD COLUMN mail_attempts INTEGER NOT NULL DEFAULT 0;
CREATE INDEX invites_expires ON invites (expires_at);

-- How often something has been done within a day, which began at the first time.
CREATE TABLE brakes (
	kind  TEXT NOT NULL,
	item  TEXT NOT NULL,
	since {{timestamp}} NOT NULL,
	used  BIGINT NOT NULL,
	PRIMARY KEY (kind, item)
);
CREATE INDEX brakes_since ON brakes (since);
