import { DatabaseSync, type StatementSync } from 'node:sqlite'

/** One run of a state machine. Times are epoch milliseconds. */
export interface StoredExecution {
  arn: string
  machine: string
  name: string
  /** definition of the state machine when the execution started, JSON */
  definition: string
  /** JSON */
  input: string
  status: 'RUNNING' | 'SUCCEEDED' | 'FAILED' | 'TIMED_OUT' | 'ABORTED'
  started: number
  stopped: number | null
  /** JSON */
  output: string | null
  error: string | null
  cause: string | null
}

/**
 * The progress of an execution. The store writes it whenever the execution enters a state, and a restarted
 * host resumes at this place.
 */
export interface ExecutionPlace {
  /** name of the current state; after the end, of the last state */
  state: string
  input: unknown
  variables: Readonly<Record<string, unknown>>
  /** when the execution entered the state, and when its last try began */
  entered: number
  tried: number
  /** number of retries so far, by retrier */
  retries: readonly number[]
  /** end of a wait, or of the pause before a retry */
  until?: number
  /** token that ends the task, and whether the function has received the token */
  token?: string
  handed?: true
  /** the output of the execution, at its end */
  result?: { value: unknown }
}

/** A task that waits for its token. */
export interface WaitingTask {
  execution: string
  answer?: { kind: 'succeeded'; output: unknown }
}

export interface ExecutionHistoryEvent {
  id: number
  at: number
  type: string
  /** named as the member that holds the details in the service's answers */
  details: Readonly<Record<string, unknown>>
}

/** Stores executions, their progress and their history, which must survive this process. */
export interface StateStore {
  add(execution: StoredExecution): void
  find(arn: string): StoredExecution | undefined
  /** newest first */
  list(machine: string, status: string, page: { after: number; limit: number }): StoredExecution[]
  running(): StoredExecution[]
  end(arn: string, end: Pick<StoredExecution, 'status' | 'stopped' | 'output' | 'error' | 'cause'>): void
  place(execution: string): ExecutionPlace | undefined
  putPlace(execution: string, place: ExecutionPlace): void
  task(token: string): WaitingTask | undefined
  putTask(token: string, task: WaitingTask): void
  dropTask(token: string): void
  record(execution: string, event: Omit<ExecutionHistoryEvent, 'id'>): number
  history(execution: string): ExecutionHistoryEvent[]
  /** runs several writes as one: the store keeps all or none of them, even if this process is killed */
  together<T>(writes: () => T): T
  close(): void
}

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS executions (arn TEXT PRIMARY KEY, machine TEXT, status TEXT, data TEXT);
  CREATE TABLE IF NOT EXISTS current_places (execution TEXT PRIMARY KEY, data TEXT);
  CREATE TABLE IF NOT EXISTS tasks (token TEXT PRIMARY KEY, execution TEXT, data TEXT);
  CREATE TABLE IF NOT EXISTS events (execution TEXT, id INTEGER, data TEXT, PRIMARY KEY (execution, id));
`

const LOCKED_FILE_TIMEOUT_MS = 5000

/** Prepares SQL statements by their text. Rows hold JSON in a column `data`. */
function openDatabase(file: string) {
  // a process that was killed just now may still hold the database file
  const database = new DatabaseSync(file, { timeout: LOCKED_FILE_TIMEOUT_MS })
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; ${SCHEMA}`)
  const statements = new Map<string, StatementSync>()
  const sql = (text: string): StatementSync => {
    const statement = statements.get(text) ?? database.prepare(text)
    statements.set(text, statement)
    return statement
  }
  const rows = <T>(text: string, ...values: (string | number)[]): T[] =>
    sql(text)
      .all(...values)
      .map(row => JSON.parse(String(row['data'])) as T)
  const run = (text: string, ...values: (string | number)[]): void => void sql(text).run(...values)
  const together = <T>(writes: () => T): T => {
    if (database.isTransaction) return writes()
    database.exec('BEGIN IMMEDIATE')
    try {
      const result = writes()
      database.exec('COMMIT')
      return result
    } catch (error) {
      database.exec('ROLLBACK')
      throw error
    }
  }
  return { sql, rows, run, together, close: () => database.close() }
}

/** Opens the store of executions. @param file database file; `:memory:` stores nothing */
export function openStateStore(file: string): StateStore {
  const { sql, rows, run, together, close } = openDatabase(file)
  const find = (arn: string) => rows<StoredExecution>('SELECT data FROM executions WHERE arn = ?', arn)[0]
  const put = (one: StoredExecution) =>
    run(
      'INSERT INTO executions VALUES (?, ?, ?, ?) ON CONFLICT (arn) DO UPDATE SET status = excluded.status, data = excluded.data',
      one.arn,
      one.machine,
      one.status,
      JSON.stringify(one),
    )
  return {
    add: put,
    find,
    list: (machine, status, { after, limit }) =>
      rows(
        'SELECT data FROM executions WHERE machine = ? AND status LIKE ? ORDER BY rowid DESC LIMIT ? OFFSET ?',
        machine,
        status,
        limit,
        after,
      ),
    running: () => rows("SELECT data FROM executions WHERE status = 'RUNNING'"),
    end: (arn, end) =>
      together(() => {
        const one = find(arn)
        if (one) put({ ...one, ...end })
        run('DELETE FROM current_places WHERE execution = ?', arn)
        run('DELETE FROM tasks WHERE execution = ?', arn)
      }),
    place: execution =>
      rows<ExecutionPlace>('SELECT data FROM current_places WHERE execution = ?', execution)[0],
    putPlace: (execution, place) =>
      run('INSERT OR REPLACE INTO current_places VALUES (?, ?)', execution, JSON.stringify(place)),
    task: token => rows<WaitingTask>('SELECT data FROM tasks WHERE token = ?', token)[0],
    putTask: (token, task) =>
      run('INSERT OR REPLACE INTO tasks VALUES (?, ?, ?)', token, task.execution, JSON.stringify(task)),
    dropTask: token => run('DELETE FROM tasks WHERE token = ?', token),
    record: (execution, event) => {
      const [last] = sql('SELECT MAX(id) AS id FROM events WHERE execution = ?').all(execution)
      const id = Number(last?.['id'] ?? 0) + 1
      run('INSERT INTO events VALUES (?, ?, ?)', execution, id, JSON.stringify({ id, ...event }))
      return id
    },
    history: execution => rows('SELECT data FROM events WHERE execution = ? ORDER BY id', execution),
    together,
    close,
  }
}
