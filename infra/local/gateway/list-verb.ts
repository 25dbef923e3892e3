import type { Socket } from 'node:net'

/** Builds the request line, with further headers, that replaces a LIST. */
export type BuildListRequestLine = (path: string, query: string, version: string) => string

/** Replaces a LIST by a GET with the query flag that clients use where LIST does not pass. */
export const buildFlaggedGetLine: BuildListRequestLine = (path, query, version) =>
  `GET ${path}?list=true${query ? `&${query}` : ''} ${version}`

/**
 * Makes a server accept the verb LIST, which Node's HTTP parser does not know but many clients send. Rewrites
 * the request line of each LIST request on a kept-alive connection. All other bytes pass unchanged and at
 * once, so that the parser rejects non-HTTP input such as TLS immediately.
 * @param socket a socket that an HTTP server has just accepted
 */
export function acceptListRequests(socket: Socket, line: BuildListRequestLine): void {
  const rewrite = createRequestRewriter(line)
  const push = socket.push.bind(socket)
  socket.push = (chunk: Buffer | null): boolean => {
    if (chunk === null) return push(null)
    let goesOn = true
    for (const piece of rewrite(chunk)) goesOn = push(piece)
    return goesOn
  }
  // the parser bypasses the stream and reads from the socket itself until the stream has a listener
  socket.on('data', () => undefined)
}

const HEAD_END = Buffer.from('\r\n\r\n')
const LINE_END = Buffer.from('\r\n')
const LIST = Buffer.from('LIST ')
const LONGEST_HEAD = 65_536

type State =
  /** `passed`: bytes of `held` that the parser has received */
  | { at: 'head'; held: Buffer; passed: number }
  | { at: 'body'; left: number }
  | { at: 'chunks'; held: Buffer }
  | { at: 'chunk'; left: number }
  /** an upgrade or non-HTTP input, whose bytes are not inspected further */
  | { at: 'opaque' }

/** Rewrites the bytes of a connection in order. @returns the bytes for the parser */
export function createRequestRewriter(line: BuildListRequestLine): (chunk: Buffer) => Buffer[] {
  let state: State = atHead
  return chunk => {
    const out: Buffer[] = []
    for (let rest = chunk; rest.length > 0; ) {
      const step = advance(state, rest, line)
      state = step.state
      rest = step.rest
      if (step.pass.length > 0) out.push(step.pass)
    }
    return out
  }
}

interface Step {
  state: State
  pass: Buffer
  rest: Buffer
}

const NOTHING = Buffer.alloc(0)

function advance(state: State, chunk: Buffer, line: BuildListRequestLine): Step {
  if (state.at === 'head') return readHead(Buffer.concat([state.held, chunk]), state.passed, line)
  if (state.at === 'chunks') return readChunks(Buffer.concat([state.held, chunk]))
  if (state.at === 'opaque') return { state, pass: chunk, rest: NOTHING }
  const body = chunk.subarray(0, state.left)
  const left = state.left - body.length
  const next: State = state.at === 'body' ? atHead : atChunks
  return { state: left === 0 ? next : { ...state, left }, pass: body, rest: chunk.subarray(body.length) }
}

const atHead: State = { at: 'head', held: NOTHING, passed: 0 }
const atChunks: State = { at: 'chunks', held: NOTHING }

function readHead(held: Buffer, passed: number, line: BuildListRequestLine): Step {
  const end = held.indexOf(HEAD_END)
  const unseen = held.subarray(passed)
  if (end < 0 && held.length > LONGEST_HEAD) return { state: { at: 'opaque' }, pass: unseen, rest: NOTHING }
  if (end < 0 && mayBeList(held))
    return { state: { at: 'head', held, passed: 0 }, pass: NOTHING, rest: NOTHING }
  if (end < 0) return { state: { at: 'head', held, passed: held.length }, pass: unseen, rest: NOTHING }
  const head = held.subarray(0, end + HEAD_END.length)
  return {
    state: afterHead(head.toString('latin1')),
    pass: passed > 0 ? head.subarray(passed) : rewritten(head, line),
    rest: held.subarray(head.length),
  }
}

/** Returns the start of the request line. Clients may send empty lines before the request line. */
function startOf(head: Buffer): number {
  let start = 0
  while (head.subarray(start, start + 2).equals(LINE_END)) start += 2
  return start
}

/** Reports whether the beginning of a request's head may still become a LIST. */
function mayBeList(held: Buffer): boolean {
  const line = held.subarray(startOf(held), startOf(held) + LIST.length)
  return line.equals(LIST.subarray(0, line.length)) || line.equals(LINE_END.subarray(0, 1))
}

function afterHead(head: string): State {
  if (/\r\ntransfer-encoding:[^\r\n]*chunked/i.test(head)) return atChunks
  if (/\r\nupgrade:/i.test(head)) return { at: 'opaque' }
  const left = Number(/\r\ncontent-length:[ \t]*(\d+)/i.exec(head)?.[1] ?? 0)
  return left === 0 ? atHead : { at: 'body', left }
}

function rewritten(head: Buffer, lineOf: BuildListRequestLine): Buffer {
  const start = startOf(head)
  if (!head.subarray(start, start + LIST.length).equals(LIST)) return head
  const lineEnd = head.indexOf('\r\n', start)
  const line = head.subarray(start + LIST.length, lineEnd).toString('latin1')
  const [target = '', version = ''] = line.split(' ')
  const [path = '', query = ''] = target.split(/\?(.*)/)
  return Buffer.concat([Buffer.from(lineOf(path, query, version), 'latin1'), head.subarray(lineEnd)])
}

// Reads a chunked body. A chunk is its length in hexadecimal, a line end, that many bytes, a line end. The
// last chunk is empty, followed by trailers and an empty line. The content of a chunk passes at once.
function readChunks(held: Buffer): Step {
  const lineEnd = held.indexOf('\r\n')
  const size = lineEnd < 0 ? 0 : Number.parseInt(held.subarray(0, lineEnd).toString('latin1'), 16)
  const end = lineEnd < 0 || size > 0 ? -1 : trailersEnd(held, lineEnd)
  if (size > 0) {
    const start = lineEnd + 2
    return {
      state: { at: 'chunk', left: size + 2 },
      pass: held.subarray(0, start),
      rest: held.subarray(start),
    }
  }
  if (end >= 0) return { state: atHead, pass: held.subarray(0, end), rest: held.subarray(end) }
  if (Number.isNaN(size) || held.length > LONGEST_HEAD)
    return { state: { at: 'opaque' }, pass: held, rest: NOTHING }
  return { state: { at: 'chunks', held }, pass: NOTHING, rest: NOTHING }
}

function trailersEnd(held: Buffer, lineEnd: number): number {
  if (held.subarray(lineEnd, lineEnd + 4).equals(HEAD_END)) return lineEnd + 4
  const end = held.indexOf(HEAD_END, lineEnd)
  return end < 0 ? -1 : end + HEAD_END.length
}
