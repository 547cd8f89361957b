-- Sign-ins of a user that failed within an hour of the first, which is recorded at once.
CREATE TABLE signin_failures (
	user_id BIGINT PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
	since   {{timestamp}} NOT NULL,
	others  BIGINT NOT NULL -- after the first
);
CREATE INDEX signin_failures_since ON signin_failures (since);
