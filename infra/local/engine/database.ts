import type { DatabaseSync } from 'node:sqlite'

/** How often a process that was killed a moment ago may be waited for, and between two tries, milliseconds. */
const OPEN_TRIES = 500
const OPEN_PAUSE_MS = 10

/** Opens the engine's database for some work. Nobody else uses it meanwhile. */
export async function inFile<T>(file: string, work: (database: DatabaseSync) => T): Promise<T> {
  const sqlite = await import('node:sqlite')
  // a process that was killed a moment ago may hold it for another one
  const database = new sqlite.DatabaseSync(file, { timeout: OPEN_TRIES * OPEN_PAUSE_MS })
  try {
    return work(database)
  } finally {
    database.close()
  }
}

/** Names of its tables; undefined where the engine was killed before it had made its own. */
export function tablesIn(database: DatabaseSync): ReadonlySet<string> | undefined {
  const own = ['_tables', '_stream_records']
  const made = database.prepare('SELECT name FROM sqlite_master').all()
  if (!own.every(name => made.some(one => one['name'] === name))) return undefined
  const tables = database.prepare('SELECT table_name AS name FROM _tables WHERE table_name IS NOT NULL').all()
  return new Set(tables.map(({ name }) => String(name)))
}

/**
 * Mends three things. Without indexes the next sequence number of a stream is found by reading the whole stream, and
 * each page of a scan by reading the whole table. And streams are never trimmed: the newest record stays, since
 * numbers go on from it.
 */
export function mendTables(database: DatabaseSync): void {
  const names = tablesIn(database)
  if (!names) return // killed before its first start was complete
  database.exec(
    'CREATE INDEX IF NOT EXISTS stream_order ON _stream_records(table_name, CAST(sequence_number AS INTEGER))',
  )
  for (const name of names)
    database.exec(`CREATE INDEX IF NOT EXISTS "${name}::scan_order" ON "${name}"(hash_prefix, pk, sk)`)
  database.exec(`DELETE FROM _stream_records WHERE CAST(sequence_number AS INTEGER) <
    (SELECT MAX(CAST(n.sequence_number AS INTEGER)) FROM _stream_records n WHERE n.table_name = _stream_records.table_name)`)
}

/**
 * Keeps the names of tables secret. The engine asks for no key, and every user of the machine reaches its port; but
 * whoever does not know a table's name cannot name it. The engine lists names by reading all rows of `_tables`, and
 * fails at one that has none. Then no names are listed, and everything that names a table works as before.
 */
export function hideNames(database: DatabaseSync): void {
  database.exec(`INSERT INTO _tables
    (table_name, key_schema, attribute_definitions, created_at, stream_enabled, table_id)
    SELECT NULL, '', '', 0, 1, '' WHERE NOT EXISTS (SELECT 1 FROM _tables WHERE table_name IS NULL)`)
}

/** Lets the engine make tables, or not. Strangers could fill the disk with theirs. */
export function allowNewTables(database: DatabaseSync, isAllowed: boolean): void {
  database.exec('DROP TRIGGER IF EXISTS no_new_tables')
  if (isAllowed) return
  database.exec(
    `CREATE TRIGGER no_new_tables BEFORE INSERT ON _tables BEGIN SELECT RAISE(ABORT, 'this engine is private'); END`,
  )
}

/** Removes the tables that strangers made while the engine started for the first time. */
export const forgetTables = (database: DatabaseSync): void => database.exec('DELETE FROM _tables')
