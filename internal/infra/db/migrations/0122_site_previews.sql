-- How many previews a site has is asked before each new one; a site that is deleted takes them along.
CREATE INDEX site_previews_site ON site_previews (site_id, expires_at);
