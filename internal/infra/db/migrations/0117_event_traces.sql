-- The traces of requests that made events, while tracing is on: a webhook's receiver is told of them.
CREATE TABLE event_traces (
	organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
	request_id      TEXT NOT NULL,
	parent          TEXT NOT NULL, -- as a traceparent
	created_at      {{timestamp}} NOT NULL,
	PRIMARY KEY (organization_id, request_id)
) {{clustered}};
CREATE INDEX event_traces_age ON event_traces (created_at);
