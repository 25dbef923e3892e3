import type { DatabaseSync } from 'node:sqlite'

/** Number of tries to open a database that a killed process may still hold, and milliseconds between them. */
const OPEN_TRIES = 500
const OPEN_PAUSE_MS = 10

/** Opens the engine's database for some work. No other process may use the database at the same time. */
export async function withEngineDatabase<T>(file: string, work: (database: DatabaseSync) => T): Promise<T> {
  const sqlite = await import('node:sqlite')
  // a process that was killed just now may still hold the database file
  const database = new sqlite.DatabaseSync(file, { timeout: OPEN_TRIES * OPEN_PAUSE_MS })
  try {
    return work(database)
  } finally {
    database.close()
  }
}

/**
 * Returns the names of the database's tables, or undefined if the engine was killed before it had created its
 * own tables.
 */
export function listEngineTables(database: DatabaseSync): ReadonlySet<string> | undefined {
  const own = ['_tables', '_stream_records']
  const made = database.prepare('SELECT name FROM sqlite_master').all()
  if (!own.every(name => made.some(one => one['name'] === name))) return undefined
  const tables = database.prepare('SELECT table_name AS name FROM _tables WHERE table_name IS NOT NULL').all()
  return new Set(tables.map(({ name }) => String(name)))
}

/**
 * Adds indexes and trims streams. Without the indexes, the engine reads a whole stream to find its next
 * sequence number, and a whole table for each page of a scan. The engine itself never trims streams. The
 * newest record of a stream stays, because sequence numbers continue from it.
 */
export function mendTableRecords(database: DatabaseSync): void {
  const names = listEngineTables(database)
  if (!names) return // the engine was killed during its first start
  database.exec(
    'CREATE INDEX IF NOT EXISTS stream_order ON _stream_records(table_name, CAST(sequence_number AS INTEGER))',
  )
  for (const name of names)
    database.exec(`CREATE INDEX IF NOT EXISTS "${name}::scan_order" ON "${name}"(hash_prefix, pk, sk)`)
  database.exec(`DELETE FROM _stream_records WHERE CAST(sequence_number AS INTEGER) <
    (SELECT MAX(CAST(n.sequence_number AS INTEGER)) FROM _stream_records n WHERE n.table_name = _stream_records.table_name)`)
}

/**
 * Keeps table names secret. Every user of the machine can reach the engine's port, and the engine checks no
 * key, but a caller must name a table. To list names, the engine reads all rows of `_tables`, and fails on a
 * row without a name, so this function adds such a row. Calls that name a table work as before.
 */
export function hideTableNames(database: DatabaseSync): void {
  database.exec(`INSERT INTO _tables
    (table_name, key_schema, attribute_definitions, created_at, stream_enabled, table_id)
    SELECT NULL, '', '', 0, 1, '' WHERE NOT EXISTS (SELECT 1 FROM _tables WHERE table_name IS NULL)`)
}

/** Allows or forbids new tables, because other users could otherwise fill the disk with tables. */
export function allowNewTables(database: DatabaseSync, isAllowed: boolean): void {
  database.exec('DROP TRIGGER IF EXISTS no_new_tables')
  if (isAllowed) return
  database.exec(
    `CREATE TRIGGER no_new_tables BEFORE INSERT ON _tables BEGIN SELECT RAISE(ABORT, 'this engine is private'); END`,
  )
}

/** Deletes tables that other users created while the engine started for the first time. */
export const forgetEngineTables = (database: DatabaseSync): void => database.exec('DELETE FROM _tables')
