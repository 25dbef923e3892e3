import { execFileSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { findEntryCommands } from '../../../shared/console/commands.ts'
import { describeRefusedAnswer } from '../../../shared/console/refusal.ts'
import { readAuditEntry } from '../../../shared/console/refused.ts'

const entry = {
  audit: 'response',
  time: '2026-11-27T02:00:00Z',
  request: { id: 'r-1', path: 'auth/cloud/login', data: { role: 'app' } },
  error: 'invalid_request',
  message: 'account is not bound',
  reason: { why: 'not-bound_account_id', check: 'bound_account_id', seen: '210987654321' },
}
const line = JSON.stringify(entry)

describe('the audit entry of a refused login', () => {
  test.each([
    ['the line of a file', line],
    ['a line with a time before it', `2026-11-27T02:00:00.000Z ${line}\n`],
    ['JSON over several lines', JSON.stringify(entry, null, 2)],
    ['an event with the entry as an object', JSON.stringify({ timestamp: 1, message: entry })],
    ['an event with the entry as a text', JSON.stringify({ '@message': line })],
  ])('the entry is read as pasted: %s', (_, text) => {
    expect(readAuditEntry(text)).toEqual({
      sentence: 'The rule not-bound_account_id refused the request to auth/cloud/login with the role app.',
      advice: expect.stringMatching(/add the seen value to this field of the role/),
      why: 'not-bound_account_id',
      check: 'bound_account_id',
      seen: '210987654321',
      message: 'account is not bound',
      path: 'auth/cloud/login',
      role: 'app',
      time: '2026-11-27T02:00:00Z',
      requestId: 'r-1',
    })
  })

  test.each([
    ['', /no audit entry/],
    ['{"a": 1}', /no audit entry/],
    ['null', /no audit entry/],
    ['[{"audit": 1}]', /not refused|no audit entry/],
    ['{"message": {"message": {"message": {"message": {"message": {"audit": 1}}}}}}', /no audit entry/],
    [JSON.stringify({ ...entry, error: undefined }), /was not refused/],
    [JSON.stringify({ ...entry, audit: 'request', error: undefined }), /before the request/],
    [`{${'x'.repeat(100_001)}}`, /too long/],
  ])('a text that is no refusal gets a sentence: %#', (text, fault) => {
    expect(readAuditEntry(text)).toEqual({ fault: expect.stringMatching(fault) })
  })

  test('hostile values are cleaned and cut', () => {
    const evil = `<img src=x>\u202e\u001b${'x'.repeat(50_000)}`
    const read = readAuditEntry(
      JSON.stringify({
        ...entry,
        message: evil,
        request: { id: evil, path: evil, data: { role: { evil } } },
        reason: { why: evil, seen: { [evil]: evil } },
      }),
    )
    expect(JSON.stringify(read).length).toBeLessThan(6000)
    expect(JSON.stringify(read)).not.toMatch(/\u202e|\\u001b/)
  })

  test('every rule that refuses a login has an advice', () => {
    const files = globSync(['shared/auth-method/**/*.ts', 'shared/identity-proof/**/*.ts'])
    const rules = files.flatMap(file => [
      ...[...readFileSync(file, 'utf8').matchAll(/createRefusal\(\s*'([a-z-]+)'|why: '([a-z-]+)'/g)].map(
        ([, a, b]) => a ?? b,
      ),
    ])
    expect(new Set(rules).size).toBeGreaterThan(15)
    for (const why of rules) {
      const read = readAuditEntry(JSON.stringify({ ...entry, reason: { why } }))
      expect('advice' in read && read.advice, why).not.toMatch(/form below/)
    }
  })
})

test.each([
  [{ status: 404, errors: [] }, 'There is nothing at this path (404).'],
  [
    { status: 403, errors: ['permission denied'] },
    'The token is missing, or may not do this (403): permission denied.',
  ],
  [
    { status: 503, errors: ['busy', ''], retryAfter: 30 },
    'The cluster cannot answer now (503): busy. Try again in 30 s.',
  ],
  [{ status: 418, errors: [] }, 'The cluster refused the request (418).'],
])('a refused answer is described in a sentence: %j', (answer, text) =>
  expect(describeRefusedAnswer(answer)).toBe(text),
)

test('the commands that find an entry contain only a well-formed id', () => {
  for (const id of ['r-1', '', `'; touch /tmp/never; '`, 'x'.repeat(129)]) {
    const commands = findEntryCommands(id)
    for (const { text } of commands) execFileSync('sh', ['-n', '-c', text])
    expect(commands.every(({ text }) => text.includes(id === 'r-1' ? '"r-1"' : '"<request_id>"'))).toBe(true)
  }
})
