-- When the upstream of an app is next asked in the background (NULL: that is not set yet), and of
-- which tag there was an event.
ALTER TABLE plugin_sources ADD COLUMN check_due_at {{timestamp}};
ALTER TABLE plugin_sources ADD COLUMN told_tag TEXT NOT NULL DEFAULT '';
CREATE INDEX plugin_sources_due ON plugin_sources (check_due_at, url_key) WHERE url_key IS NOT NULL;
CREATE INDEX plugin_sources_url ON plugin_sources (url_key) WHERE url_key IS NOT NULL;
