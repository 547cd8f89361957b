-- When run_at was set. If that is still to come, the clock has stepped back since. NULL: by a
-- server of the version before.
ALTER TABLE jobs ADD COLUMN set_at {{timestamp}};
UPDATE jobs SET set_at = created_at;
