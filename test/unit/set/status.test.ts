import { describe, expect, test } from 'vitest'
import { parseDrStatus } from '../../../shared/set/status.ts'

const read = (data: unknown) => {
  const found = parseDrStatus(data)
  if (!found.ok) throw new Error(found.fault)
  return found.value
}

describe('parsing a status response', () => {
  test('parsing converts the fields of the status', () => {
    const status = read({
      mode: 'secondary',
      state: 'stream-wals',
      cluster_id: 'set-1',
      connection_state: 'ready',
      last_remote_wal: 41,
      known_primary_cluster_addrs: ['https://east'],
      primaries: [
        {
          api_address: 'https://east',
          connection_status: 'connected',
          clock_skew_ms: '-3',
          last_position: 42,
        },
      ],
    })
    expect(status).toMatchObject({ set: 'set-1', connection: 'ready', position: 41, hasPrimary: true })
    expect(status.primary).toMatchObject({ isConnected: true, skew_ms: -3, position: 42 })
  })

  test.each([undefined, null, [], 'text', 7, {}, { mode: 7 }, { mode: null }])(
    'a response without a mode is no status: %j',
    data =>
      expect(parseDrStatus(data)).toEqual({ ok: false, fault: expect.stringContaining('not a status') }),
  )

  test('an unknown mode is kept, without unknown fields', () => {
    expect(read({ mode: 'tertiary', state: 'odd' })).toMatchObject({
      mode: 'tertiary',
      state: '',
      odd: ['mode is unknown'],
    })
  })

  test.each<[string, object, string]>([
    ['missing', {}, 'cluster_id is missing'],
    ['unknown', { cluster_id: 'x', colour: 'red' }, 'colour is unknown'],
    ['of another form', { cluster_id: 7 }, 'cluster_id is odd'],
    ['a word of another version', { cluster_id: 'x', state: 'shutdown' }, 'state is odd'],
    [
      'a list with an odd element',
      { cluster_id: 'x', known_secondaries: ['a', 7] },
      'known_secondaries[1] is odd',
    ],
    [
      'below the first level',
      { cluster_id: 'x', operation: { id: 'o', name: 'promotion' } },
      'operation.step is missing',
    ],
  ])('a field that is %s is omitted and named', (_, fields, oddity) => {
    expect(read({ mode: 'primary', ...fields }).odd).toContain(oddity)
  })

  test('the other fields are kept if one field is malformed', () => {
    const status = read({
      mode: 'primary',
      last_dr_wal: '12',
      last_wal: 13,
      known_secondaries: ['a', 7, 'b'],
    })
    expect(status).toMatchObject({ position: undefined, last: 13, known: ['a', 'b'] })
  })

  test('the list of faults is limited, and names malformed fields before unknown fields', () => {
    const many = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`field-${index}`, 1]))
    const { odd } = read({ mode: 'disabled', ...many, operation: 7 })
    expect(odd).toHaveLength(20)
    expect(odd[0]).toBe('operation is odd')
  })

  test('names such as toString are unknown fields', () => {
    const data = JSON.parse('{"mode":"disabled","__proto__":{"state":"x"},"constructor":1}')
    expect(read(data).odd.toSorted()).toEqual(['__proto__ is unknown', 'constructor is unknown'])
  })
})
