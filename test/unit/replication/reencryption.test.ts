import { describe, expect, test } from 'vitest'
import type { Secondary } from '../../../shared/model/link.ts'
import type { ReencryptionProgress } from '../../../shared/model/reencryption.ts'
import type { KeyringTerm } from '../../../shared/model/term.ts'
import {
  describeTermWaits,
  isDataReencrypted,
  isTermWorkDue,
  listDestroyableTerms,
  listDroppableTerms,
} from '../../../shared/replication/reencryption/decide.ts'
import type { KeyringTermFacts } from '../../../shared/replication/reencryption/facts.ts'
import { beginReencryption } from '../../../shared/replication/reencryption/pass.ts'
import { type Item, key } from '../../../shared/storage/kinds.ts'
import { UNUSED_TERM_KEPT_MS } from '../../../shared/values/bounds.ts'

const NOW = 1_800_000_000_000
const EPOCH = '000001.aaaaaaaaaaaa'

const term = (id: string, more: Partial<KeyringTerm> = {}): Item<'term'> =>
  ({ ...key('term', id), rev: 'r', data: { number: 1, since: 0, probe: '', ...more } }) as Item<'term'>

const follower = (contact?: Partial<NonNullable<Secondary['heartbeat']>>): Secondary =>
  ({
    id: 'west',
    activatedAt: 1,
    ...(contact ? { heartbeat: { epoch: EPOCH, seq: 10, ownTerm: 'new', ...contact } } : {}),
  }) as Secondary

const done: ReencryptionProgress = {
  term: 'new',
  termNumber: 2,
  epoch: EPOCH,
  since: 0,
  until: 0,
  pass: 1,
  seen: 9,
  total: 0,
  written: 3,
  skipped: 0,
  unreadable: { count: 0, names: [] },
  doneAt: 5,
  position: { epoch: EPOCH, seq: 10 },
}

const LONG_AGO = NOW - UNUSED_TERM_KEPT_MS

/** Returns the facts of a primary that may destroy the key term `old`. */
const facts = (more: Partial<KeyringTermFacts> = {}): KeyringTermFacts => ({
  now: NOW,
  record: { mode: 'primary', epoch: EPOCH, treeId: 'l', ownTerm: 'new' } as KeyringTermFacts['record'],
  keyring: {
    activeTerm: 'new',
    termIds: ['old', 'new'],
    since: NOW - 30_000,
    term: 2,
  } as unknown as KeyringTermFacts['keyring'],
  progress: done,
  terms: [term('old', { unusedSince: LONG_AGO }), term('new')],
  secondaries: [follower({})],
  ...more,
})

const record = (more: object) => ({ ...facts().record, ...more })
const keyring = (more: object) => ({ ...facts().keyring, ...more })

describe('destroying a key term', () => {
  test('a term may be destroyed once no text uses the term, all secondaries have re-encrypted, and 35 days have passed', () =>
    expect(listDestroyableTerms(facts()).map(({ sk }) => sk)).toEqual(['old']))

  test.each<[why: string, more: Partial<KeyringTermFacts>]>([
    [
      'it is the newest term',
      { keyring: keyring({ activeTerm: 'old' }), record: record({ ownTerm: 'old' }) },
    ],
    ['it is destroyed already', { terms: [term('old', { unusedSince: LONG_AGO, destroyed: 1 })] }],
    ['35 days have passed but for a millisecond', { terms: [term('old', { unusedSince: LONG_AGO + 1 })] }],
    ['the time since when it is unused is missing', { terms: [term('old')] }],
    ['re-encryption is running', { progress: { ...done, doneAt: undefined } as never }],
    ['re-encryption has not begun', { progress: undefined }],
    ['re-encryption was for another term', { progress: { ...done, term: 'other' } }],
    ['re-encryption was in another journal', { progress: { ...done, epoch: '000000.bbbbbbbbbbbb' } }],
    ['this cluster has not re-encrypted its own keys', { record: record({ ownTerm: 'old' }) }],
    ['a secondary has never sent a heartbeat', { secondaries: [follower()] }],
    ['one of two secondaries is behind', { secondaries: [follower({}), follower({ seq: 9 })] }],
    [
      'a secondary is in another journal',
      { secondaries: [follower({ epoch: '000000.bbbbbbbbbbbb', seq: 99 })] },
    ],
    ['a secondary has not re-encrypted its own keys', { secondaries: [follower({ ownTerm: 'old' })] }],
    [
      'a secondary of an older version does not report its term',
      { secondaries: [follower({ ownTerm: undefined as never })] },
    ],
    ['this cluster is a secondary', { record: record({ mode: 'secondary' }) }],
  ])('a term may not be destroyed if %s', (_, more) => expect(listDestroyableTerms(facts(more))).toEqual([]))

  test('destroying a term does not wait for unused activation tokens', () => {
    const unused = { id: 'later' } as Secondary
    expect(listDestroyableTerms(facts({ secondaries: [unused] }))).toHaveLength(1)
  })

  test('on a cluster without a set destroying a term waits for no secondary', () => {
    const alone = facts({
      record: { mode: 'disabled', ownTerm: 'new' } as KeyringTermFacts['record'],
      progress: { ...done, epoch: '' },
      secondaries: [],
    })
    expect(listDestroyableTerms(alone)).toHaveLength(1)
  })
})

test('the result has one text for each reason to wait', () => {
  const all = facts({
    progress: undefined,
    record: record({ ownTerm: 'old' }),
    secondaries: [follower()],
    terms: [term('old', { unusedSince: NOW })],
  })
  const [old] = all.terms
  expect(old && describeTermWaits(old, all)).toEqual([
    'stored data is being re-encrypted',
    'this cluster has not re-encrypted its own keys',
    'the secondary west has not reported that its data and its own keys are re-encrypted',
    expect.stringMatching(/^the key term is kept until 2027-/),
  ])
})

describe('dropping the key of a term', () => {
  const gone = [term('old', { destroyed: 1 }), term('new')]

  test("a key is dropped if its term is destroyed and another term encrypts the cluster's own keys", () =>
    expect(listDroppableTerms(facts({ terms: gone })).map(({ sk }) => sk)).toEqual(['old']))

  test.each<[why: string, more: Partial<KeyringTermFacts>]>([
    ['its term is not destroyed', { terms: facts().terms }],
    ['it is the newest term here', { terms: [term('new', { destroyed: 1 })] }],
    ['this cluster no longer holds it', { terms: gone, keyring: keyring({ termIds: ['new'] }) }],
    ['it may encrypt this cluster’s own keys', { terms: gone, record: record({ ownTerm: 'old' }) }],
  ])('a key is not dropped if %s', (_, more) => expect(listDroppableTerms(facts(more))).toEqual([]))

  test('a secondary drops the key too', () =>
    expect(listDroppableTerms(facts({ terms: gone, record: record({ mode: 'secondary' }) }))).toHaveLength(1))
})

describe('the re-encryption job', () => {
  const rotated = {
    progress: undefined,
    record: record({ ownTerm: 'old' }),
    terms: [term('old'), term('new')],
  }

  test('the job starts half a minute after a rotation', () => {
    expect(isTermWorkDue(facts(rotated))).toBe(true)
    expect(isTermWorkDue(facts({ ...rotated, keyring: keyring({ since: NOW - 29_999 }) }))).toBe(false)
  })

  test.each<[when: string, due: boolean, more: Partial<KeyringTermFacts>]>([
    ['a term can be destroyed', true, {}],
    [
      'everything is re-encrypted, and the old term is still kept',
      false,
      { terms: [term('old', { unusedSince: NOW })] },
    ],
    [
      'a run is working',
      false,
      { ...rotated, progress: { ...done, doneAt: undefined, until: NOW + 1 } as never },
    ],
    [
      'a run has stopped',
      true,
      { ...rotated, progress: { ...done, doneAt: undefined, until: NOW } as never },
    ],
    ['there is one term', false, { ...rotated, keyring: keyring({ termIds: ['new'] }) }],
    ['the journal has changed', true, { progress: { ...done, epoch: '000000.bbbbbbbbbbbb' } }],
    [
      'a secondary has re-encrypted its own keys',
      false,
      { progress: undefined, record: record({ mode: 'secondary' }) },
    ],
    [
      'a secondary has not re-encrypted its own keys',
      true,
      { progress: undefined, record: record({ mode: 'secondary', ownTerm: 'old' }) },
    ],
  ])('the job is due if %s: %s', (_, due, more) => expect(isTermWorkDue(facts(more))).toBe(due))
})

describe('a pass of re-encryption over all items', () => {
  const from = (progress: ReencryptionProgress | undefined) =>
    beginReencryption({ ...facts({ progress }), items: {} as never })
  const going = { ...done, doneAt: undefined } as unknown as ReencryptionProgress

  test('the pass starts again for another term or journal, with the earlier number of items as total', () => {
    expect(from(undefined)).toMatchObject({
      term: 'new',
      epoch: EPOCH,
      pass: 1,
      seen: 0,
      total: 0,
      written: 0,
    })
    expect(from({ ...done, term: 'old', seen: 70 })).toMatchObject({
      term: 'new',
      pass: 1,
      seen: 0,
      total: 70,
    })
    expect(isDataReencrypted(facts({ progress: from({ ...done, term: 'old' }) }))).toBe(false)
  })

  test('the pass continues where the last run stopped', () => {
    const stopped = { ...going, nextPlace: { segment: 2, from: { pk: 'p', sk: 's' } }, skipped: 1 }
    expect(from(stopped)).toEqual(stopped)
  })

  test('another pass follows if the pass skipped items', () =>
    expect(from({ ...going, skipped: 1 })).toMatchObject({
      pass: 2,
      skipped: 0,
      seen: 0,
      total: 9,
      written: 3,
    }))
})
