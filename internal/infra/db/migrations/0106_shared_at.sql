-- Other organizations see the versions of a shared app that were made since it was shared.
-- Of those shared before this was kept, the last change is the best that is known.
ALTER TABLE plugins ADD COLUMN shared_at {{timestamp}};
UPDATE plugins SET shared_at = updated_at WHERE is_global;
