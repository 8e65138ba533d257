-- The cell that an account has moved to (src/core/model.ts): null where it lives here.
ALTER TABLE account ADD COLUMN moved_to text;
