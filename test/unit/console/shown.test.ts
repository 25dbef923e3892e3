import { execFileSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { toShownReadiness } from '../../../shared/console/allowed.ts'
import { buildShellCommands, quoteForShell } from '../../../shared/console/commands.ts'
import { describeExpiry, listTokenExpiries, readCertificateNotAfter } from '../../../shared/console/ends.ts'
import { formatCheckValue, parseLoginJson, readLoginExplanation } from '../../../shared/console/explained.ts'
import { apiBaseUrl, consolePageUrl, linkedPageUrl } from '../../../shared/console/links.ts'
import { listProgressBars, listSteps, operationSteps } from '../../../shared/console/progress.ts'
import { describeLossReport, readLossReport } from '../../../shared/console/report.ts'
import { readReviewedMount } from '../../../shared/console/reviewed.ts'
import { parseDrStatus } from '../../../shared/set/status.ts'
import { workflowDefinitions } from '../../../shared/workers/workflows.ts'

const NOW = 1_750_000_000_000
const DAY = 86_400_000

describe('a running operation in the console', () => {
  test('the page knows every operation with its steps, in order', () => {
    const steps = Object.entries(workflowDefinitions).map(([name, { steps }]) => [
      name,
      steps.filter(one => typeof one === 'string'),
    ])
    expect(
      Object.entries(operationSteps)
        .map(([name, of]) => [name, Object.keys(of)])
        .toSorted(),
    ).toEqual(steps.toSorted())
  })

  test('each step is shown as done, current or upcoming', () => {
    const states = listSteps({ name: 'promotion', step: 'drain' }).map(
      ({ name, state }) => `${name} ${state}`,
    )
    expect(states).toEqual([
      'verify done',
      'handover done',
      'drain now',
      'claim to come',
      'open to come',
      'serve to come',
    ])
    for (const name of ['unheard-of', 'constructor', '__proto__'])
      expect(listSteps({ name, step: 'odd' })).toEqual([{ name: 'odd', does: '', state: 'now' }])
  })

  test('sync, reindex and comparison are shown with their progress', () => {
    const of = (status: object) => {
      const read = parseDrStatus({ mode: 'secondary', ...status })
      return read.ok && listProgressBars(read.value)
    }
    expect(of({ merkle_sync_progress: { sync_progress: 30, sync_total_keys: 120 } })).toEqual([
      { what: 'sync', text: '30 of 120 items fetched', part: 0.25 },
    ])
    expect(
      of({
        reindex_in_progress: true,
        reindex_stage: 'building',
        reindex_building_progress: 3,
        reindex_building_total: 4,
      }),
    ).toEqual([{ what: 'reindex', text: 'builds the pages of the Merkle tree, 3 of 4 pages', part: 0.75 }])
    expect(of({ reindex_in_progress: true, reindex_stage: 'scanning' })).toEqual([
      { what: 'reindex', text: 'reads all items' },
    ])
    expect(of({ state: 'merkle-diff' })).toEqual([
      { what: 'comparison', text: 'compares its items with the primary’s items' },
    ])
    expect(of({ state: 'stream-wals' })).toEqual([])
  })
})

describe('expiries in the console', () => {
  test.each([
    [NOW + 31 * DAY, 'good', /expires in 31 days, at 2025-07-16/],
    [NOW + 29 * DAY, 'busy', /; renew now/],
    [NOW - DAY, 'bad', /expired 24 h ago/],
    [undefined, 'unknown', /unknown/],
  ] as const)('expiry at %s', (at, tone, text) => {
    expect(describeExpiry('it', 'licence', at, NOW)).toEqual({
      what: 'it',
      tone,
      text: expect.stringMatching(text),
    })
  })

  test('a presented operation token is shown with its remaining time, and one generated from shares with its age', () => {
    const rows = (presented: object, generated: object | null = null) =>
      listTokenExpiries(toShownReadiness({ operation_token: { presented, generated } }, NOW), NOW).map(
        ({ tone, text }) => `${tone}: ${text}`,
      )
    expect(rows({ counts: true, seconds_left: 28_800 })[0]).toMatch(/^good: expires in 8 h/)
    expect(rows({ counts: true, seconds_left: 60 })[0]).toMatch(/^busy: .*renew now/)
    expect(rows({ counts: false, why: 'it is a root token' })[0]).toMatch(
      /^busy: this token does not allow a promotion \(it is a root token\)/,
    )
    expect(rows({ counts: true, why: 'by shares', seconds_left: 0 }, { age_seconds: 90 })).toEqual([
      expect.stringMatching(/^good: allows a promotion/),
      expect.stringMatching(/^busy: this token was generated 90 s ago/),
    ])
  })

  test('the console reads the same end of each shipped certificate as Node', () => {
    const pems =
      readFileSync('shared/identity-proof/certificates/aws.pem', 'utf8').match(
        /-----BEGIN[^-]+-----[^-]+-----END[^-]+-----/g,
      ) ?? []
    expect(pems.length).toBeGreaterThan(20)
    for (const pem of pems)
      expect(readCertificateNotAfter(pem)).toBe(Date.parse(new X509Certificate(pem).validTo))
    for (const odd of ['', 'no certificate', '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----'])
      expect(readCertificateNotAfter(odd)).toBeUndefined()
  })
})

describe('the loss report in the console', () => {
  const data = {
    complete: true,
    counts: {
      commits: 3,
      kinds: { token: { written: 2, deleted: 1 }, constructor: { written: 1, deleted: 0 } },
    },
    lost: [
      {
        time: 't',
        changes: [
          { kind: 'token', what: 'token of x' },
          { kind: 'role', what: 'role y', deleted: true },
        ],
      },
    ],
    next: 'more',
    diverging: [{ what: 'role z' }],
  }

  test('lost commits are grouped by kind, with what to do and the name of each change', () => {
    const report = readLossReport(data)
    expect(report.kinds).toEqual([
      { kind: 'token', written: 2, deleted: 1, todo: expect.stringContaining('revocations') },
      { kind: 'constructor', written: 1, deleted: 0, todo: '' },
    ])
    expect(report.lost.map(({ what, isDeleted }) => [what, isDeleted])).toEqual([
      ['token of x', false],
      ['role y', true],
    ])
    expect(report.next).toBe('more')
  })

  test.each([
    [data, /^3 commits of this cluster are not in its set.*1 item keeps differing/],
    [{ complete: true, counts: { commits: 0 } }, /^Nothing was lost\.$/],
    [
      { complete: false, waits_for: 'a primary' },
      /^The report is not complete yet: the cluster waits for a primary/,
    ],
    [undefined, /^The report is not complete yet/],
  ])('the loss report is summarised in a sentence: %#', (given, text) =>
    expect(describeLossReport(readLossReport(given))).toMatch(text),
  )
})

describe('an explained login in the console', () => {
  test('the page names the first failed check', () => {
    const checks = [
      { check: 'a', verdict: 'pass' },
      { check: 'b', verdict: 'fail', message: 'no', seen: { x: 1 } },
      { check: 'c', verdict: 'fail' },
    ]
    const explained = readLoginExplanation({ role: 'r', checks })
    expect(explained.sentence).toBe('A login with role r would fail at the check "b": no.')
    expect(explained.checks[1]).toEqual({
      check: 'b',
      verdict: 'fail',
      message: 'no',
      seen: '{"x":1}',
      wanted: '',
    })
    expect(readLoginExplanation({ role: 'r', login_would_succeed: true }).sentence).toBe(
      'A login with role r would succeed.',
    )
  })

  test('the form accepts a JSON object or a signed token; an empty text is an empty login', () => {
    expect(parseLoginJson(' {"role": "x"} ')).toEqual({ login: { role: 'x' } })
    expect(parseLoginJson('')).toEqual({ login: {} })
    expect(parseLoginJson(' eyJh.eyJi.c_-d\n')).toEqual({ login: { jwt: 'eyJh.eyJi.c_-d' } })
    for (const text of ['[1]', 'null', '"x"', '{', 'a.b', 'a.b.c.d', 'a.b.c d'])
      expect(parseLoginJson(text)).toHaveProperty('fault')
    expect([
      formatCheckValue(undefined),
      formatCheckValue('a'),
      formatCheckValue(0),
      formatCheckValue([1]),
    ]).toEqual(['', 'a', '0', '[1]'])
  })
})

describe('links from the console page', () => {
  test('links lead only to HTTP pages', () => {
    expect(consolePageUrl('https://auth.example.com/some/path')).toBe('https://auth.example.com/ui/')
    for (const odd of [
      'javascript:alert(1)',
      'data:text/html,x',
      'auth.example.com',
      '',
      'file:///etc/passwd',
    ])
      expect(consolePageUrl(odd), odd).toBeUndefined()
    expect(apiBaseUrl('https://auth.example.com')).toBe('https://auth.example.com/v1/')
  })

  test('links lead only to the configured peer, whatever address a member reports', () => {
    const peer = 'https://east.example.com'
    expect(linkedPageUrl('https://east.example.com/v1', peer)).toBe('https://east.example.com/ui/')
    for (const other of [
      'https://east.example.com.evil.example',
      'https://evil.example/',
      'http://east.example.com',
      '',
    ])
      expect(linkedPageUrl(other, peer), other).toBeUndefined()
    expect(linkedPageUrl('https://evil.example', '')).toBeUndefined()
    expect(linkedPageUrl('', '')).toBeUndefined()
  })

  const EVIL = `'; touch /tmp/never; echo '$(id)\`id\`"\n`

  test('a name is quoted as one shell word in a command', () => {
    expect(execFileSync('sh', ['-c', `printf %s ${quoteForShell(EVIL)}`], { encoding: 'utf8' })).toBe(EVIL)
  })

  test('the shown commands name both clusters, and contain secrets only as variables', () => {
    const texts = buildShellCommands({ own: 'https://w/v1/', other: 'https://e/v1/', name: EVIL }).map(
      ({ text }) => text,
    )
    expect(texts.join('\n')).toContain(
      quoteForShell('https://e/v1/sys/replication/dr/primary/secondary-token'),
    )
    expect(texts.join('\n')).toContain(`--arg id ${quoteForShell(EVIL)}`)
    for (const text of texts) execFileSync('sh', ['-n', '-c', text])
  })
})

describe('the review of a mount', () => {
  const finding = { rule: 'no-server-id', severity: 'high', subject: 'config/client', text: 'x', fix: 'y' }

  test('counts the weaknesses of all rules, and shows the first hundred', () => {
    const rules = [
      { rule: 'no-server-id', severity: 'high', verdict: 'found', findings: 140 },
      { rule: 'by-name', severity: 'low', verdict: 'found', findings: 2, why: 'the deadline is near' },
    ]
    const read = readReviewedMount('cloud', { findings: Array.from({ length: 142 }, () => finding), rules })
    expect(read).toMatchObject({
      sentence: 'The review of cloud found 142 weaknesses. The first 100 are shown.',
      tone: 'bad',
      gaps: ['by-name: the deadline is near'],
    })
    expect(read.findings).toHaveLength(100)
    expect(read.findings[0]).toEqual(['high', 'config/client', 'x', 'y'])
  })

  test('of a mount without weaknesses still names the rules that looked at nothing', () => {
    const rules = [{ rule: 'session-tags', severity: 'high', verdict: 'not asked', findings: 0, why: 'no' }]
    expect(readReviewedMount('cloud', { findings: [], rules })).toEqual({
      sentence: 'The review of cloud found no weakness.',
      tone: 'good',
      findings: [],
      gaps: ['session-tags: no'],
    })
  })
})
