import { describe, expect, test } from 'vitest'
import { FORMAT } from '../../../../shared/link/source.ts'
import type { Secondary } from '../../../../shared/model/link.ts'
import { allReadThis } from '../../../../shared/replication/primary/forget-recovery-key.ts'

const EPOCH = '000002.aaaaaaaaaaaa'
const secondary = (format: number | undefined, more: object = {}) =>
  ({ epoch: EPOCH, activatedAt: 1, heartbeat: format === undefined ? {} : { format }, ...more }) as Secondary

describe('a recovery key is given up once every secondary reads what comes instead', () => {
  test.each<[what: string, all: Secondary[], reads: boolean]>([
    ['there is none', [], true],
    ['one of this format', [secondary(FORMAT)], true],
    ['one of a later format', [secondary(FORMAT + 1)], true],
    ['one of an earlier format', [secondary(FORMAT), secondary(FORMAT - 1)], false],
    ['one that told an earlier version, which kept no format', [secondary(undefined)], false],
    ['one that was never heard', [secondary(FORMAT, { heartbeat: undefined })], false],
    ['an earlier one that was revoked', [secondary(1, { revokedAt: 2 })], true],
    ['an earlier one of another epoch', [secondary(1, { epoch: '000001.aaaaaaaaaaaa' })], true],
    ['a token that nobody has used', [secondary(undefined, { activatedAt: undefined })], true],
  ])('%s', (_, all, reads) => expect(allReadThis(all, { epoch: EPOCH })).toBe(reads))
})
